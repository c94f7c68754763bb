//! The top strip: where, who serves, what is connected, and a clock that proves that the screen lives.

use std::collections::BTreeMap;

use kernel::wire::view::Hearing;
use leptos::prelude::*;

use crate::boot::Canvas;
use crate::components::nodes::{node_names, node_panel};
use crate::i18n::Locale;
use crate::live::Link;
use crate::screen::Screen;

/// The strip.
pub(crate) fn header(screen: Screen) -> impl IntoView {
    let counts = move || {
        let plant = screen.store.plant.read();
        screen.locale.get().counts(plant.floors.len(), plant.lifts.len(), plant.vehicles.len())
    };
    let nodes_opened = RwSignal::new(false);
    view! {
        <header class="head">
            <h1>{move || screen.store.plant.read().name.clone()}</h1>
            <p class="counts">{counts}</p>
            {facts(screen, nodes_opened)}
            {server_clock(screen)}
            <button type="button" class="switch" lang=move || screen.locale.get().other().code()
                on:click=move |_| screen.locale.update(|it| *it = it.other())>
                {screen.text(Locale::switch_language)}
            </button>
            <button type="button" class="switch"
                on:click=move |_| screen.canvas.update(|it| *it = it.other())>
                {move || match screen.canvas.get() {
                    Canvas::Day => screen.locale.get().to_night(),
                    Canvas::Night => screen.locale.get().to_day(),
                }}
            </button>
            {node_panel(screen, nodes_opened)}
        </header>
    }
}

/// What the serving node is connected to.
fn facts(screen: Screen, nodes_opened: RwSignal<bool>) -> impl IntoView {
    let node = screen.store.node;
    let broker_ok = move || node.read().broker_connected;
    let ledger_ok = move || node.read().ledger_writable;
    let heard = Memo::new(move |_| gateways_heard(screen));
    let rejected = move || node.read().messages_rejected;
    let last_rejection = move || node.read().last_rejection.clone();
    let word = move |ok: bool, bad: fn(Locale) -> &'static str| {
        let locale = screen.locale.get();
        if ok { locale.ok() } else { bad(locale) }
    };
    view! {
        <dl class="facts">
            <div class="nodes"><dt>{screen.text(Locale::node)}</dt><dd>{node_names(screen, nodes_opened)}</dd></div>
            <div class:bad=move || !ledger_ok()>
                <dt>{screen.text(Locale::ledger)}</dt>
                <dd>{move || word(ledger_ok(), Locale::ledger_closed)}</dd>
            </div>
            <div class:bad=move || !broker_ok()>
                <dt>{screen.text(Locale::broker)}</dt>
                <dd>{move || word(broker_ok(), Locale::down)}</dd>
            </div>
            <div class:bad=move || { let (n, of) = heard.get(); n < of }>
                <dt>{screen.text(Locale::gateways)}</dt>
                <dd>{move || { let (n, of) = heard.get(); format!("{n}/{of}") }}</dd>
            </div>
            <Show when=move || { rejected() > 0 }>
                <div class="bad">
                    <dt>{screen.text(Locale::rejected)}</dt>
                    <dd title=last_rejection>{rejected}</dd>
                </div>
            </Show>
            <div>
                <dt>{screen.text(Locale::sequence)}</dt>
                <dd class="sequence">{move || grouped(screen.store.sequence.get().0)}</dd>
            </div>
        </dl>
    }
}

/// The server's clock. It stands still when frames stop: a running clock would prove nothing.
fn server_clock(screen: Screen) -> impl IntoView {
    let time = move || screen.clock.time_of_day(screen.store.server_time.get());
    let state = move || match screen.link.get() {
        Link::Connecting => screen.locale.get().connecting(),
        Link::Live => screen.locale.get().live(),
        Link::Stale | Link::Lost | Link::Incompatible => screen.locale.get().stopped(),
    };
    view! {
        <p class="clock" class:halted=move || !screen.is_live()>
            <span class="link-state"><span class="link-dot" aria-hidden="true"></span>{state}</span>
            <span class="hidden-label">{screen.text(Locale::server_clock)}</span>
            <time>{time}</time>
            <span class="zone">{move || screen.clock.zone()}</span>
        </p>
    }
}

/// Gateways of lifts that are heard, and how many there are.
fn gateways_heard(screen: Screen) -> (usize, usize) {
    let mut heard = BTreeMap::new();
    for lift in screen.store.lifts.read().values() {
        let lift = lift.read();
        let ok = lift.gateway_hearing == Hearing::Heard;
        heard.entry(lift.gateway.clone()).and_modify(|it| *it &= ok).or_insert(ok);
    }
    (heard.values().filter(|ok| **ok).count(), heard.len())
}

/// Groups of three digits, with a thin space between.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_from_the_right() {
        let rows = [
            (0, "0"),
            (999, "999"),
            (1000, "1\u{2009}000"),
            (418_207, "418\u{2009}207"),
            (1_234_567, "1\u{2009}234\u{2009}567"),
        ];
        for (number, expected) in rows {
            assert_eq!(grouped(number), expected);
        }
    }
}
