//! The live stream in the browser: one websocket, opened after hydration, opened again by itself for ever. Whichever
//! node answers then, the page says what it holds already, and gets the rest.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use kernel::ids::LedgerSequence;
use kernel::wire::live::{Frame, Hello, LIVE_VERSION, LOST_AFTER, STALE_AFTER};
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{BinaryType, MessageEvent, WebSocket};

use crate::clock::{Clock, steady_ms};
use crate::store::Store;

/// Where the stream is.
const STREAM_PATH: &str = "/api/v1/stream";
/// Remembers for which build this tab has reloaded itself, so that it does so once.
const RELOADED_KEY: &str = "hoistway_reloaded_for";
/// How often silence is measured; well below the limits that it is compared with.
const WATCH_PERIOD: Duration = Duration::from_millis(250);
/// First wait before a new connection.
const RECONNECT_MS_FIRST: f64 = 500.0;
/// Longest wait before a new connection.
const RECONNECT_MS_MAX: f64 = 30_000.0;

/// How far the screen can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// No frame yet: the screen shows what the page came with.
    Connecting,
    /// Frames come.
    Live,
    /// None for [`STALE_AFTER`].
    Stale,
    /// None for [`LOST_AFTER`], or the connection is closed for so long.
    Lost,
    /// The server speaks another version even after a reload.
    Incompatible,
}

/// One attempt; its callbacks live as long as it.
struct Connection {
    socket: WebSocket,
    opened_ms: f64,
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    _on_close: Closure<dyn FnMut()>,
}

struct Client {
    store: Store,
    clock: Clock,
    link: RwSignal<Link>,
    build: String,
    started_ms: f64,
    last_frame_ms: Cell<Option<f64>>,
    /// `site` of the newest `hello`.
    site: RefCell<Option<String>>,
    /// What the store holds came over the stream and is whole up to its sequence, so that the rest can be asked for.
    whole: Cell<bool>,
    connection: RefCell<Option<Connection>>,
    attempt: Cell<u32>,
    reconnecting: Cell<bool>,
}

/// Starts the client; for the browser alone, once, after hydration.
pub(crate) fn start(store: Store, clock: Clock, link: RwSignal<Link>, build: String) {
    let client = Rc::new(Client {
        store,
        clock,
        link,
        build,
        started_ms: steady_ms().unwrap_or_default(),
        last_frame_ms: Cell::new(None),
        site: RefCell::new(None),
        whole: Cell::new(false),
        connection: RefCell::new(None),
        attempt: Cell::new(0),
        reconnecting: Cell::new(false),
    });
    client.open();
    set_interval(move || client.watch(), WATCH_PERIOD);
}

impl Client {
    fn open(self: &Rc<Self>) {
        self.reconnecting.set(false);
        let site = self.site.borrow().clone().filter(|_| self.whole.get());
        let cursor = site.map(|site| stream_query(self.store.sequence.get_untracked(), &site));
        let Some(url) = stream_url(&cursor.unwrap_or_default()) else { return };
        let Ok(socket) = WebSocket::new(&url) else { return self.reconnect() };
        socket.set_binary_type(BinaryType::Arraybuffer);
        let client = Rc::clone(self);
        let on_message =
            Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| client.hear(&event));
        let client = Rc::clone(self);
        // The connection is not dropped here, since this very callback belongs to it: the next one replaces it.
        let on_close = Closure::<dyn FnMut()>::new(move || client.reconnect());
        socket.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        socket.set_onclose(Some(on_close.as_ref().unchecked_ref()));
        let opened_ms = steady_ms().unwrap_or_default();
        self.connection.replace(Some(Connection {
            socket,
            opened_ms,
            _on_message: on_message,
            _on_close: on_close,
        }));
    }

    fn hear(self: &Rc<Self>, event: &MessageEvent) {
        let bytes = js_sys::Uint8Array::new(&event.data()).to_vec();
        match postcard::from_bytes::<Frame>(&bytes) {
            Ok(frame) => self.take(frame),
            // A snapshot over a new connection is the only thing that can be trusted now.
            Err(error) => {
                leptos::logging::warn!(
                    "live stream: a frame of {} bytes cannot be read: {error}",
                    bytes.len()
                );
                self.whole.set(false);
                self.abandon();
                self.reconnect();
            }
        }
    }

    fn take(self: &Rc<Self>, frame: Frame) {
        match frame {
            Frame::Hello(hello) => return self.greet(&hello),
            Frame::Snapshot(snapshot) => {
                self.attempt.set(0);
                self.store.replace(*snapshot);
                self.whole.set(true);
            }
            Frame::Delta(delta) => {
                self.attempt.set(0);
                self.store.apply(delta);
            }
            Frame::Tick(tick) => self.store.tick(tick),
        }
        self.last_frame_ms.set(steady_ms());
        self.clock.hear(self.store.server_time.get_untracked());
        if self.link.get_untracked() != Link::Live {
            self.link.set(Link::Live);
        }
    }

    /// The server of another build brings another page: load it once, and say so when that did not help.
    fn greet(self: &Rc<Self>, hello: &Hello) {
        self.site.replace(hello.site.clone());
        // Until its snapshot is here, what the store holds is of another stream.
        self.whole.set(hello.resumed);
        if hello.version == LIVE_VERSION && hello.build == self.build {
            return;
        }
        if reload_once(&hello.build) || hello.version == LIVE_VERSION {
            return;
        }
        self.abandon();
        self.link.set(Link::Incompatible);
    }

    fn watch(self: &Rc<Self>) {
        if self.link.get_untracked() == Link::Incompatible {
            return;
        }
        let now = steady_ms().unwrap_or_default();
        let silent_ms = now - self.last_frame_ms.get().unwrap_or(self.started_ms);
        let found = judge(self.link.get_untracked(), silent_ms);
        if found != self.link.get_untracked() {
            self.link.set(found);
        }
        let opened_ms = self.connection.borrow().as_ref().map(|it| it.opened_ms);
        let lost = |opened_ms: f64| silent_ms.min(now - opened_ms) >= LOST_AFTER.0 as f64;
        if opened_ms.is_some_and(lost) {
            self.abandon();
            self.reconnect();
        }
    }

    /// Lets go of a connection, so that nothing of it is heard any more.
    fn abandon(&self) {
        if let Some(connection) = self.connection.borrow().as_ref() {
            connection.socket.set_onmessage(None);
            connection.socket.set_onclose(None);
            if connection.socket.close().is_err() {
                leptos::logging::warn!("live stream: a lost connection did not close");
            }
        }
    }

    fn reconnect(self: &Rc<Self>) {
        if self.reconnecting.replace(true) || self.link.get_untracked() == Link::Incompatible {
            return;
        }
        let wait = reconnect_wait(self.attempt.get(), js_sys::Math::random());
        self.attempt.set(self.attempt.get().saturating_add(1));
        let client = Rc::clone(self);
        set_timeout(move || client.open(), wait);
    }
}

/// What silence says about the link.
fn judge(link: Link, silent_ms: f64) -> Link {
    if silent_ms >= LOST_AFTER.0 as f64 {
        Link::Lost
    } else if silent_ms >= STALE_AFTER.0 as f64 {
        Link::Stale
    } else {
        link
    }
}

/// Doubles from half a second to half a minute; `random` from 0 to 1 takes off up to a half, so that the browsers of
/// a control room do not come back in step.
fn reconnect_wait(attempt: u32, random: f64) -> Duration {
    let whole = (RECONNECT_MS_FIRST * 2_f64.powi(attempt.min(16) as i32)).min(RECONNECT_MS_MAX);
    Duration::from_millis((whole * (1.0 - random / 2.0)) as u64)
}

/// Asks for what came after a sequence. Names of sites need no escaping in an address.
fn stream_query(after: LedgerSequence, site: &str) -> String {
    format!("?after={}&site={site}", after.0)
}

fn stream_url(query: &str) -> Option<String> {
    let location = web_sys::window()?.location();
    let scheme = if location.protocol().ok()? == "https:" { "wss" } else { "ws" };
    Some(format!("{scheme}://{}{STREAM_PATH}{query}", location.host().ok()?))
}

/// Loads the page again unless this tab did so for this build already; true when the page is about to go.
fn reload_once(build: &str) -> bool {
    let Some(window) = web_sys::window() else { return false };
    let Ok(Some(storage)) = window.session_storage() else { return false };
    let done = storage.get_item(RELOADED_KEY).ok().flatten().as_deref() == Some(build);
    !done && storage.set_item(RELOADED_KEY, build).is_ok() && window.location().reload().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_makes_a_link_stale_then_lost() {
        let rows = [
            (Link::Live, 2_999.0, Link::Live),
            (Link::Live, 3_000.0, Link::Stale),
            (Link::Stale, 9_999.0, Link::Stale),
            (Link::Stale, 10_000.0, Link::Lost),
            (Link::Connecting, 100.0, Link::Connecting),
            (Link::Connecting, 3_500.0, Link::Stale),
        ];
        for (link, silent_ms, expected) in rows {
            assert_eq!(judge(link, silent_ms), expected, "{link:?} after {silent_ms}");
        }
    }

    #[test]
    fn waits_double_to_half_a_minute_and_are_spread() {
        let ms = |attempt, random| reconnect_wait(attempt, random).as_millis();
        assert_eq!(
            [ms(0, 0.0), ms(1, 0.0), ms(5, 0.0), ms(6, 0.0), ms(999, 0.0)],
            [500, 1000, 16_000, 30_000, 30_000]
        );
        assert_eq!([ms(0, 1.0), ms(6, 1.0)], [250, 15_000]);
    }
}
