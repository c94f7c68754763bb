//! The selected lift: who may talk to it, whose ride it is, who waits, and what was asked of it lately.

use kernel::ids::LiftId;
use kernel::lease::FencingToken;
use kernel::wire::gateway::{Arbitration, Verdict};
use kernel::wire::view::{LiftCommandView, LiftView, SessionView};
use leptos::prelude::*;

use crate::components::lift_sign::summary;
use crate::components::rail::lift_path;
use crate::i18n::Locale;
use crate::reading::Trust;
use crate::screen::Screen;

/// The panel.
pub(crate) fn lift_panel(screen: Screen) -> impl IntoView {
    let lifts = move || screen.store.lifts.read().keys().cloned().collect::<Vec<_>>();
    let shown = Memo::new(move |_| screen.shown_lift());
    let details = move || match shown.get() {
        Some(id) => lift_details(screen, id).into_any(),
        None => view! { <p class="hint">{screen.text(Locale::no_lifts)}</p> }.into_any(),
    };
    view! {
        <aside class="panel" aria-label=screen.text(Locale::lifts)>
            <div class="tabs" role="group" aria-label=screen.text(Locale::lifts)>
                <For each=lifts key=Clone::clone children=move |id| lift_tab(screen, shown, id)/>
            </div>
            {details}
        </aside>
    }
}

fn lift_tab(screen: Screen, shown: Memo<Option<LiftId>>, id: LiftId) -> impl IntoView {
    let name = id.to_string();
    let pressed = {
        let id = id.clone();
        move || (shown.get().as_ref() == Some(&id)).to_string()
    };
    view! {
        <button type="button" aria-pressed=pressed on:click=move |_| screen.selected.set(Some(id.clone()))>
            <span class="hidden-label">{screen.text(Locale::lift)} " "</span>
            {name}
        </button>
    }
}

fn lift_details(screen: Screen, id: LiftId) -> impl IntoView {
    let signal = screen.store.lifts.get_untracked().get(&id).cloned();
    let view = Memo::new(move |_| signal.as_ref().map(|it| it.get()));
    let facts = move || view.get().map(|view| facts(screen, &view));
    let waiting = move || view.read().as_ref().map(|view| waiting(screen, &view.waiting));
    // Compared, so that a new reading five times a second does not draw the same commands again.
    let commands =
        Memo::new(move |_| view.read().as_ref().map(|view| view.commands.clone()).unwrap_or_default());
    view! {
        <h2><a href=lift_path(&id)><span>{screen.text(Locale::lift)}</span> " " {id.to_string()}</a></h2>
        <dl class="details">{facts}</dl>
        <h3>{screen.text(Locale::waiting)}</h3>
        {waiting}
        <h3>{screen.text(Locale::commands)}</h3>
        {move || commands_table(screen, &commands.read())}
    }
}

fn facts(screen: Screen, view: &LiftView) -> impl IntoView + use<> {
    let locale = screen.locale.get();
    let trust = Trust::of(view, view.read_at.and_then(|at| screen.clock.ms_since(at)));
    let state_class = match trust {
        Trust::Verifying => "alert p2",
        Trust::Unreachable | Trust::Stale => "alert p3",
        Trust::NeverRead | Trust::Fresh => "",
    };
    let age = view.read_at.map(|at| screen.clock.span_since(at, locale)).filter(|age| !age.is_empty());
    let lease = view.lease.as_ref().map(|lease| {
        let token = format!("{} {}", locale.token(), rank(lease.token));
        let since = screen.clock.span_since(lease.since, locale);
        (lease.holder.to_string(), [token, since].join(" · "))
    });
    let occupied =
        view.status.as_ref().map(|it| if it.occupied { locale.car_occupied() } else { locale.car_empty() });
    let mode = view.status.as_ref().map(|status| {
        let fault = if status.fault == 0 { String::new() } else { format!(" · #{}", status.fault) };
        format!("{}{fault}", locale.lift_mode(status.mode))
    });
    view! {
        <dt>{locale.state()}</dt>
        <dd><span class=state_class>{summary(screen, view, Some(trust))}</span></dd>
        <dt>{locale.read()}</dt>
        <dd>{age.map_or_else(String::new, |age| locale.age(&age))}</dd>
        <dt>{locale.control()}</dt>
        <dd>{match (view.arbitration, lease) {
            (Arbitration::Edge | Arbitration::Returning, _) => {
                let epoch = view.epoch.unwrap_or_default();
                let text = format!("{} · {epoch}", locale.edge_arbitration());
                view! { <span class="alert p2">{text}</span> }.into_any()
            }
            (Arbitration::Lease, Some((holder, rest))) => view! { <strong>{holder}</strong> " · " {rest} }.into_any(),
            (Arbitration::Lease, None) => view! { <span class="quiet">{locale.free()}</span> }.into_any(),
        }}</dd>
        <dt>{locale.session()}</dt>
        <dd>{match &view.session {
            Some(session) => ride(screen, session).into_any(),
            None => view! { <span class="quiet">{locale.no_session()}</span> }.into_any(),
        }}</dd>
        <dt>{locale.car()}</dt>
        <dd>{occupied}</dd>
        <dt>{locale.mode()}</dt>
        <dd>{mode}</dd>
        <dt>{locale.plc()}</dt>
        <dd>{locale.connection(view.connection)} " · " {locale.gateway()} " " {view.gateway.to_string()}
            {(view.connections_lost > 0).then(|| format!(" · {} {}", locale.connections_lost(), view.connections_lost))}</dd>
    }
}

fn ride(screen: Screen, session: &SessionView) -> impl IntoView + use<> {
    let locale = screen.locale.get();
    let since = screen.clock.span_since(session.since, locale);
    let limit = locale.held_at_most(&locale.span(session.hold_limit_ms.0 / 1000));
    view! {
        <strong>{session.vehicle.to_string()}</strong>
        {format!(" · {} → {} · ", session.from, session.to)}
        {locale.phase_of_session(session.phase)}
        {format!(" {since} · {limit}")}
    }
}

fn waiting(screen: Screen, sessions: &[SessionView]) -> AnyView {
    let locale = screen.locale.get();
    if sessions.is_empty() {
        return view! { <p class="quiet pad">{locale.nobody_waits()}</p> }.into_any();
    }
    let row = |(idx, session): (usize, &SessionView)| {
        view! {
            <tr>
                <td>{idx + 1}</td>
                <td><strong>{session.vehicle.to_string()}</strong></td>
                <td>{format!("{} → {}", session.from, session.to)}</td>
                <td>{locale.phase_of_session(session.phase)}</td>
                <td class="figure">{screen.clock.span_since(session.since, locale)}</td>
            </tr>
        }
    };
    view! {
        <table class="small">
            <thead><tr>
                <th scope="col">"#"</th>
                <th scope="col">{locale.vehicle()}</th>
                <th scope="col">{locale.trip()}</th>
                <th scope="col">{locale.phase()}</th>
                <th scope="col" class="figure">{locale.waits()}</th>
            </tr></thead>
            <tbody>{sessions.iter().enumerate().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn commands_table(screen: Screen, commands: &[LiftCommandView]) -> AnyView {
    let locale = screen.locale.get();
    if commands.is_empty() {
        return view! { <p class="quiet pad">{locale.no_commands()}</p> }.into_any();
    }
    let row = |command: &LiftCommandView| {
        view! {
            <tr>
                <td class="figure-left">{screen.clock.exact_time_of_day(command.at)}</td>
                <td>
                    <strong>{command.issuer.to_string()}</strong>
                    {format!(" {}", command.token.map_or_else(|| locale.edge_arbitration().to_owned(), rank))}
                </td>
                <td>{format!("{} · {}", locale.lift_action(command.action), command.floor)}</td>
                <td>{answer(locale, command)}</td>
            </tr>
        }
    };
    view! {
        <table class="small commands">
            <thead><tr>
                <th scope="col">{locale.at()}</th>
                <th scope="col">{locale.issuer()}</th>
                <th scope="col">{locale.command()}</th>
                <th scope="col">{locale.answer()}</th>
            </tr></thead>
            <tbody>{commands.iter().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

/// A token as people compare it. A lease store that counts its runs in the upper half of the serial would make
/// ten digits of it.
pub(crate) fn rank(token: FencingToken) -> String {
    match (token.serial >> 32, token.serial & u64::from(u32::MAX)) {
        (0, serial) => format!("{}·{serial}", token.epoch),
        (run, serial) => format!("{}·{run}.{serial}", token.epoch),
    }
}

pub(crate) fn answer(locale: Locale, command: &LiftCommandView) -> impl IntoView + use<> {
    if command.joined.is_some() {
        return view! { <span class="quiet">{locale.joined()}</span> }.into_any();
    }
    let Some(verdict) = &command.verdict else {
        return view! { <span class="quiet">{locale.no_answer_yet()}</span> }.into_any();
    };
    let class = match verdict {
        Verdict::Accepted | Verdict::Forwarded | Verdict::Ran => "",
        Verdict::Refused { .. } | Verdict::Expired | Verdict::NotSent => "strong",
        Verdict::Unknown => "alert p2",
    };
    let after = command.answered_after_ms.map(|span| format!(" {span}")).unwrap_or_default();
    view! { <span class=class>{locale.verdict(verdict)}</span> <span class="quiet">{after}</span> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_short_enough_to_compare() {
        let rows = [((7, 418), "7·418"), ((1, (1 << 32) + 4), "1·1.4"), ((1, 3 << 32), "1·3.0")];
        for ((epoch, serial), expected) in rows {
            assert_eq!(rank(FencingToken { epoch, serial }), expected);
        }
    }
}
