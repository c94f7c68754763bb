//! The browser side of Hoistway: rendered on the server, then brought to life in the browser by the live stream.
//!
//! Knows the kernel's wire types and the DOM. Must not know any device, database or second API: REST up, websocket
//! down. Reading order: `boot` (what the server hands over), `state` and `store` (what is known), `live` (how it
//! stays so), `layout` and `reading` (what is drawn), `page` and `components` (how).

pub mod boot;

mod clock;
mod components;
#[cfg(feature = "ssr")]
mod document;
mod i18n;
mod layout;
mod live;
mod page;
mod reading;
mod rest;
#[cfg(test)]
mod sample;
mod screen;
mod state;
mod store;

pub use boot::{Boot, Canvas};
pub use i18n::Locale;

/// The whole HTML document for one request. Holds no inline script: `script-src 'self' 'wasm-unsafe-eval'` is
/// enough for it, and the data stand in a JSON element.
///
/// # Errors
/// When the boot data cannot be written as JSON.
#[cfg(feature = "ssr")]
pub fn page(boot: Boot) -> serde_json::Result<String> {
    use leptos::prelude::*;
    let boot_json = boot.to_script_json()?;
    Ok(Owner::new().with(|| document::document(boot, boot_json).to_html()))
}

/// Brings the page to life; `start.js` calls it. Throws when the page holds no boot data that this build reads.
///
/// # Errors
/// What is wrong with the boot data.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() -> Result<(), wasm_bindgen::JsError> {
    use leptos::prelude::*;
    console_error_panic_hook::set_once();
    let text = document().get_element_by_id(page::BOOT_ID).and_then(|element| element.text_content());
    let text = text.ok_or_else(|| wasm_bindgen::JsError::new("the page holds no boot data"))?;
    let boot: Boot = serde_json::from_str(&text)
        .map_err(|error| wasm_bindgen::JsError::new(&format!("the boot data cannot be read: {error}")))?;
    leptos::mount::hydrate_body(move || page::overview(boot));
    Ok(())
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::{Boot, page, sample};

    #[test]
    fn the_first_paint_holds_the_site_and_no_inline_script() {
        let boot = Boot::for_request(sample::snapshot(), "b1", None, Some("en"));
        let html = page(boot).unwrap();
        for text in
            ["<html lang=\"en\"", "T-1", "L1", "V1", "Lift verifying", "A2 → B1", "no echo for command 7"]
        {
            assert!(html.contains(text), "{text} is missing in {html}");
        }
        for script in html.split("<script").skip(1) {
            let head = script.split('>').next().unwrap_or_default();
            assert!(head.contains("application/json") || head.contains(" src="), "inline script: {head}");
        }
    }

    #[test]
    fn several_control_nodes_are_told_apart_and_one_makes_no_noise() {
        type Texts = &'static [&'static str];
        let mut snapshot = sample::snapshot();
        snapshot.tasks[0].claimed_by = Some(snapshot.node.id.clone());
        let rows: [(_, _, Texts, Texts); 3] = [
            (
                sample::nodes(),
                Some("en"),
                &[
                    "node-list",
                    "this page",
                    "silent",
                    "lost",
                    "2 tasks",
                    "taken for dead",
                    "claimed by",
                    "does not hear the broker",
                ],
                &["B stopped"],
            ),
            (sample::nodes(), None, &["本页", "失联", "已失效", "2 项任务", "与消息代理断开"], &[]),
            (sample::nodes()[..1].to_vec(), Some("en"), &["control"], &["node-list", "this page"]),
        ];
        for (nodes, language, present, absent) in rows {
            let n_nodes = nodes.len();
            snapshot.nodes = nodes;
            let html = page(Boot::for_request(snapshot.clone(), "b1", None, language)).unwrap();
            for text in present {
                assert!(html.contains(text), "{n_nodes} nodes, {language:?}: {text} is missing in {html}");
            }
            for text in absent {
                assert!(!html.contains(text), "{n_nodes} nodes, {language:?}: {text} in {html}");
            }
        }
    }

    #[test]
    fn an_empty_site_says_so_in_chinese_too() {
        let mut snapshot = sample::snapshot();
        snapshot.plant = sample::bare_plant();
        snapshot.lifts.clear();
        snapshot.tasks.clear();
        snapshot.alarms.clear();
        let html = page(Boot::for_request(snapshot, "b1", None, None)).unwrap();
        for text in ["<html lang=\"zh-CN\"", "暂无任务", "无报警", "本场地没有电梯"] {
            assert!(html.contains(text), "{text} is missing in {html}");
        }
    }
}
