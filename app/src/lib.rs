//! The browser side of Hoistway: rendered on the server, then brought to life in the browser by the live stream.
//!
//! Knows the kernel's wire types and the DOM. Must not know any device, database or second API: REST up, websocket
//! down. Reading order: `boot` (what the server hands over), `state` and `store` (what is known), `live` (how it
//! stays so), `layout` and `reading` (what is drawn), `page` and `components` (how).

// The parts of a page are types within types, deeper than the compiler follows by itself.
#![recursion_limit = "256"]

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

pub use boot::{Boot, Canvas, Page};
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
    leptos::mount::hydrate_body(move || page::body(boot));
    Ok(())
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::{Boot, Page, page, sample};
    use kernel::ids::LiftId;
    use kernel::wire::gateway::Arbitration;
    use kernel::wire::ledger::SessionPhase;
    use kernel::wire::live::Snapshot;
    use kernel::wire::view::{Hearing, LiftWait};

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

    fn lift_page(snapshot: Snapshot, language: &str) -> serde_json::Result<String> {
        let lift = snapshot.plant.lifts.keys().next().cloned().map(Page::Lift).unwrap_or_default();
        page(Boot::for_request(snapshot, "b1", None, Some(language)).at(lift))
    }

    /// What the page says in a state, in both languages.
    type Row = (&'static str, fn(&mut Snapshot), &'static [&'static str], &'static [&'static str]);

    const STATES: [Row; 7] = [
        (
            "in doubt, with nothing said and nobody waiting",
            |_| (),
            &["L1 · Test · Hoistway", "A-1-7", "Reads fail; settled 1 s", "Nobody waits", "No commands yet"],
            &["结果未知", "首次读到后 1 秒查实", "无人等候", "尚无指令"],
        ),
        (
            "a lease of the serving node",
            |it| it.lifts[0].lease = Some(sample::lease("A", true)),
            &["i0", "token 7·418", "Renewed each 5 s; a command takes 6 s"],
            &["令牌 7·418", "每 5 秒续期"],
        ),
        (
            "a lease of another node",
            |it| it.lifts[0].lease = Some(sample::lease("B", false)),
            &["i1", "its end is known to B alone"],
            &["到期时间仅 B 知道"],
        ),
        (
            "a ride, and a line with reasons",
            |it| {
                let turn = LiftWait::Turn { after: it.vehicles[0].id.clone() };
                it.lifts[0].session = Some(sample::session("V1", SessionPhase::Boarding, LiftWait::Word));
                it.lifts[0].waiting = vec![sample::session("V2", SessionPhase::Queued, turn)];
            },
            &["the sensor shows it", "its turn, after V1"],
            &["小车报告(传感器已确认)", "排在 V1 之后"],
        ),
        (
            "contradictory commands, and a joined call",
            |it| {
                let mut joined = sample::command("3", "A", None);
                joined.joined = Some(sample::command("1", "B", None).id);
                let newer = sample::command("2", "A", Some("1"));
                it.lifts[0].commands = vec![joined, newer, sample::command("1", "B", None)];
            },
            &["contradicts B", "bracket top", "bracket bottom", "joined the call of B", "i1"],
            &["与 B 的指令矛盾", "并入 B 的呼梯"],
        ),
        (
            "edge arbitration",
            |it| {
                it.lifts[0].arbitration = Arbitration::Edge;
                let mut command = sample::command("1", "A", None);
                command.token = None;
                it.lifts[0].commands = vec![command];
            },
            &["Lift under edge arbitration", "issuer edge", "the gateway decides by itself"],
            &["由网关自行裁决"],
        ),
        (
            "a gateway that is silent",
            |it| it.lifts[0].gateway_hearing = Hearing::Silent,
            &["Gateway G1 is silent", "unreachable"],
            &["网关 G1 失联"],
        ),
    ];

    #[test]
    fn the_page_of_a_lift_says_each_state_in_both_languages() {
        for (what, change, en, zh) in STATES {
            let mut snapshot = sample::snapshot();
            snapshot.nodes = sample::nodes();
            change(&mut snapshot);
            for (language, texts) in [("en", en), ("zh-CN", zh)] {
                let html = lift_page(snapshot.clone(), language).unwrap();
                for text in texts {
                    assert!(html.contains(text), "{what}, {language}: {text} is missing in {html}");
                }
            }
        }
    }

    #[test]
    fn a_lift_of_which_nothing_was_heard_yet_says_so() {
        let mut snapshot = sample::snapshot();
        snapshot.lifts.clear();
        let html = lift_page(snapshot, "en").unwrap();
        assert!(html.contains("Nothing has been heard of this lift"), "{html}");
    }

    #[test]
    fn a_lift_that_the_site_does_not_have_has_a_page_with_a_way_back() {
        let boot = Boot::for_request(sample::snapshot(), "b1", None, Some("en"));
        let html = page(boot.at(Page::NoSuchLift("<b>".to_owned()))).unwrap();
        for text in ["This site has no lift &lt;b&gt;", "href=\"/\"", "href=\"/lifts/L1\"", "404 · Test"] {
            assert!(html.contains(text), "{text} is missing in {html}");
        }
    }

    /// The strip stands on every page as long as a gateway arbitrates, and nothing on it closes it.
    #[test]
    fn edge_arbitration_is_told_on_every_page_and_cannot_be_dismissed() {
        let lift = LiftId::try_new("L1").unwrap();
        let rows = [(Arbitration::Lease, false), (Arbitration::Edge, true), (Arbitration::Returning, true)];
        for (arbitration, shown) in rows {
            for at in [Page::Overview, Page::Lift(lift.clone()), Page::NoSuchLift("L9".to_owned())] {
                let mut snapshot = sample::snapshot();
                snapshot.lifts[0].arbitration = arbitration;
                let boot = Boot::for_request(snapshot, "b1", None, Some("en")).at(at.clone());
                let html = page(boot).unwrap();
                let strip = html.split("<section").find(|it| it.contains("\"edge-strip\"")).unwrap();
                let (head, body) = strip.split("</section>").next().unwrap().split_once('>').unwrap();
                assert_eq!(!head.contains("hidden"), shown, "{arbitration:?}, {at:?}");
                assert!(!body.contains("<button"), "{body}");
                assert_eq!(body.contains("href=\"/lifts/L1\""), shown, "{body}");
            }
        }
    }
}
