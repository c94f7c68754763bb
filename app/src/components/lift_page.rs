//! The page of one lift: what it does, who may speak to it, who waits and why, and what was said to it lately.

mod brackets;
mod commands;
mod holder;
mod line;

use kernel::ids::LiftId;
use kernel::wire::view::{Hearing, LiftView};
use leptos::prelude::*;

use self::commands::commands;
use self::holder::holder;
use self::line::{line, ride};
use crate::components::lift_sign::summary;
use crate::components::rail::lift_path;
use crate::components::section::{Drawing, building};
use crate::components::veil::veil;
use crate::i18n::Locale;
use crate::layout::Layout;
use crate::reading::Trust;
use crate::screen::Screen;

/// The page.
pub(crate) fn lift_page(screen: Screen, id: LiftId) -> impl IntoView {
    let view = {
        let id = id.clone();
        // Until its lifts are heard of, a node that has just started knows none.
        Memo::new(move |_| screen.store.lifts.read().get(&id).map(|it| it.get()))
    };
    let state = move || match view.get() {
        Some(view) => facts(screen, &view).into_any(),
        None => view! { <p class="hint">{screen.text(Locale::lift_not_heard)}</p> }.into_any(),
    };
    let control = move || view.read().as_ref().map(|view| holder(screen, view));
    let session = move || view.read().as_ref().map(|view| ride(screen, view));
    // Compared, so that a new reading five times a second does not draw the same rows again.
    let waiting = Memo::new(move |_| view.read().as_ref().map(|it| it.waiting.clone()).unwrap_or_default());
    let said = Memo::new(move |_| view.read().as_ref().map(|it| it.commands.clone()).unwrap_or_default());
    view! {
        <main class="main one-lift" id="lift" tabindex="-1">
            {shaft(screen, id.clone()).into_any()}
            <div class="lift-words" tabindex="0" role="region" aria-label=screen.text(Locale::lift)>
                <header class="lift-head">
                    <h2><span>{screen.text(Locale::lift)}</span> " " {id.to_string()}</h2>
                    {others(screen, id).into_any()}
                </header>
                <div class="lift-facts">
                    <section aria-label=screen.text(Locale::state)>{state}</section>
                    <section aria-label=screen.text(Locale::control)>{control}</section>
                    <section aria-label=screen.text(Locale::session)>{session}</section>
                </div>
                <section class="lift-line" aria-label=screen.text(Locale::waiting)>
                    <h3>{screen.text(Locale::waiting)}</h3>
                    {move || line(screen, &waiting.read())}
                </section>
                <section class="lift-said" aria-label=screen.text(Locale::commands)>
                    <h3>{screen.text(Locale::commands)}</h3>
                    {move || commands(screen, &said.read())}
                </section>
            </div>
            {veil(screen).into_any()}
        </main>
    }
}

/// Where a lift was looked for that the site does not have.
pub(crate) fn no_such_lift(screen: Screen, name: String) -> impl IntoView {
    let lifts = move || {
        let link = |id: &LiftId| view! { <a class="way" href=lift_path(id)>{id.to_string()}</a> };
        screen.store.plant.read().lifts.keys().map(link).collect_view()
    };
    view! {
        <main class="main no-lift" id="lift" tabindex="-1">
            <div class="no-lift-card">
                <h2>{move || screen.locale.get().no_such_lift(&name)}</h2>
                <p>{screen.text(Locale::no_such_lift_hint)}</p>
                <p class="ways"><a class="way" href="/">{screen.text(Locale::overview)}</a> {lifts}</p>
            </div>
            {veil(screen).into_any()}
        </main>
    }
}

/// The shaft with its landings: where the car is, who is in it, who stands before it on which floor.
fn shaft(screen: Screen, id: LiftId) -> impl IntoView {
    let layout = {
        let id = id.clone();
        Memo::new(move |_| Layout::of_lift(&screen.store.plant.read(), &id))
    };
    let drawing = Drawing::new(screen, layout, false);
    let known = move || screen.store.lifts.read().contains_key(&id).then(|| id.clone()).into_iter().collect();
    view! {
        <section class="section lift-shaft" aria-label=screen.text(Locale::shaft)>
            {building(screen, drawing, Locale::shaft, known).into_any()}
        </section>
    }
}

/// The way to the other lifts.
fn others(screen: Screen, shown: LiftId) -> impl IntoView {
    let links = move || {
        let lifts = screen.store.plant.read();
        let link = |id: &LiftId| {
            let current = (*id == shown).then_some("page");
            view! { <a class="way" href=lift_path(id) aria-current=current>{id.to_string()}</a> }
        };
        (lifts.lifts.len() > 1).then(|| lifts.lifts.keys().map(link).collect_view())
    };
    view! { <nav class="ways" aria-label=screen.text(Locale::lifts)>{links}</nav> }
}

/// What the lift does, how far that can be believed, and what settles a doubt.
fn facts(screen: Screen, view: &LiftView) -> impl IntoView + use<> {
    let locale = screen.locale.get();
    let trust = Trust::of(view, view.read_at.and_then(|at| screen.clock.ms_since(at)));
    let state_class = match trust {
        Trust::Verifying => "alert p2",
        Trust::Unreachable | Trust::Stale => "alert p3",
        Trust::NeverRead | Trust::Fresh => "",
    };
    let age = view.read_at.map(|at| screen.clock.span_since(at, locale)).filter(|age| !age.is_empty());
    let history = history(locale, view, trust);
    let doubt = view.verifying.as_ref().map(|command| {
        let step = view.settling.map(|it| locale.settling(it, |at| screen.clock.time_of_day(at)));
        [Some(locale.in_doubt(command.as_str())), step].into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    let car = view.status.as_ref().map(|status| {
        let inside = if status.occupied { locale.car_occupied() } else { locale.car_empty() };
        let fault = if status.fault == 0 { String::new() } else { format!(" · #{}", status.fault) };
        format!("{inside} · {}{fault}", locale.lift_mode(status.mode))
    });
    let breaks = (view.connections_lost > 0)
        .then(|| format!(" · {} {}", locale.connections_lost(), view.connections_lost));
    view! {
        <p class="lift-state"><span class=state_class>{summary(screen, view, Some(trust))}</span></p>
        {doubt.map(|text| view! { <p class="lift-note">{text}</p> })}
        {history.map(|text| view! { <p class="lift-note">{text}</p> })}
        <dl class="details">
            <dt>{locale.read()}</dt>
            <dd>{age.map_or_else(|| locale.not_read_yet().to_owned(), |age| locale.age(&age))}</dd>
            <dt>{locale.car()}</dt>
            <dd>{car}</dd>
            <dt>{locale.plc()}</dt>
            <dd>{locale.connection(view.connection)} " · " {locale.gateway()} " " {view.gateway.to_string()} {breaks}</dd>
        </dl>
    }
}

/// What is shown is history: why.
fn history(locale: Locale, view: &LiftView, trust: Trust) -> Option<String> {
    match (view.gateway_hearing, trust) {
        (Hearing::Silent, _) => Some(locale.gateway_is_silent(view.gateway.as_str())),
        (Hearing::Never, _) => Some(locale.gateway_never_heard(view.gateway.as_str())),
        (Hearing::Heard, Trust::Unreachable | Trust::Stale) => Some(locale.last_known().to_owned()),
        (Hearing::Heard, Trust::NeverRead | Trust::Verifying | Trust::Fresh) => None,
    }
}
