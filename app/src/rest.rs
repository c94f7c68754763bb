//! What the browser asks for over REST: changes go up here, everything else comes down the stream.

use js_sys::{Function, Object, Reflect};
use kernel::wire::rest::Problem;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};

/// Why a request came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The server refused it, and says why.
    Refused {
        /// For programs.
        code: String,
        /// For people, in English.
        detail: String,
    },
    /// No answer came, or none that can be understood.
    NoAnswer,
}

/// Sends a request and tells what came of it. `body` is JSON.
pub(crate) fn send(
    method: &str,
    path: &str,
    body: Option<&str>,
    done: impl Fn(Result<(), Failure>) + Clone + 'static,
) {
    let lost = done.clone();
    let heard = move |response: JsValue| hear(&response, done);
    if fetch(method, path, body).and_then(|answer| then(&answer, heard, lost.clone())).is_none() {
        lost(Err(Failure::NoAnswer));
    }
}

fn fetch(method: &str, path: &str, body: Option<&str>) -> Option<JsValue> {
    let (init, headers) = (Object::new(), Object::new());
    let set = |object: &Object, key: &str, value: &JsValue| Reflect::set(object, &key.into(), value).ok();
    set(&init, "method", &method.into())?;
    if let Some(body) = body {
        set(&headers, "content-type", &"application/json".into())?;
        set(&init, "headers", &headers)?;
        set(&init, "body", &body.into())?;
    }
    let window: JsValue = web_sys::window()?.into();
    let fetch: Function = Reflect::get(&window, &"fetch".into()).ok()?.dyn_into().ok()?;
    fetch.call2(&window, &path.into(), &init).ok()
}

fn hear(response: &JsValue, done: impl Fn(Result<(), Failure>) + Clone + 'static) {
    let ok = Reflect::get(response, &"ok".into()).is_ok_and(|it| it.is_truthy());
    if ok {
        return done(Ok(()));
    }
    let text = Reflect::get(response, &"text".into()).ok().and_then(|it| it.dyn_into::<Function>().ok());
    let body = text.and_then(|it| it.call0(response).ok());
    let (told, lost) = (done.clone(), done.clone());
    let understood = move |body: JsValue| {
        let problem = body.as_string().and_then(|it| serde_json::from_str::<Problem>(&it).ok());
        let refused = |it: Problem| Failure::Refused { code: it.code, detail: it.detail };
        told(Err(problem.map_or(Failure::NoAnswer, refused)));
    };
    if body.and_then(|body| then(&body, understood, lost)).is_none() {
        done(Err(Failure::NoAnswer));
    }
}

/// Goes on when a promise is kept, or says that it was broken.
fn then(
    promise: &JsValue,
    kept: impl FnOnce(JsValue) + 'static,
    broken: impl Fn(Result<(), Failure>) + 'static,
) -> Option<JsValue> {
    let then: Function = Reflect::get(promise, &"then".into()).ok()?.dyn_into().ok()?;
    let kept = Closure::once_into_js(kept);
    let broken = Closure::once_into_js(move |_: JsValue| broken(Err(Failure::NoAnswer)));
    then.call2(promise, &kept, &broken).ok()
}
