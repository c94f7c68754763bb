//! Whose ride it is and who waits, each with the reason why it does not go on.

use kernel::wire::view::{LiftView, SessionView};
use leptos::prelude::*;

use crate::screen::Screen;

/// The ride that holds the lift.
pub(super) fn ride(screen: Screen, view: &LiftView) -> impl IntoView + use<> {
    let locale = screen.locale.get();
    let body = match &view.session {
        None => view! { <p class="holder quiet">{locale.no_session()}</p> }.into_any(),
        Some(session) => {
            let since = screen.clock.span_since(session.since, locale);
            let limit = locale.held_at_most(&locale.span(session.hold_limit_ms.0 / 1000));
            view! {
                <p class="holder">
                    <strong>{session.vehicle.to_string()}</strong>
                    {format!(" {} → {} · ", session.from, session.to)}
                    {locale.phase_of_session(session.phase)} " " {since}
                </p>
                <p><span class="quiet">{locale.waits_for()}</span> " " {locale.lift_wait(&session.waits)}</p>
                <p class="quiet">{session.task.to_string()} " · " {limit}</p>
            }
            .into_any()
        }
    };
    view! { <h3>{locale.session()}</h3> {body} }
}

/// Those who wait.
pub(super) fn line(screen: Screen, sessions: &[SessionView]) -> AnyView {
    let locale = screen.locale.get();
    if sessions.is_empty() {
        return view! { <p class="quiet pad">{locale.nobody_waits()}</p> }.into_any();
    }
    let row = |(idx, session): (usize, &SessionView)| {
        view! {
            <tr data-waits=session.vehicle.to_string()>
                <td>{idx + 1}</td>
                <th scope="row">{session.vehicle.to_string()}</th>
                <td>{format!("{} → {}", session.from, session.to)}</td>
                <td class="why">{locale.lift_wait(&session.waits)}</td>
                <td>{session.task.to_string()}</td>
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
                <th scope="col">{locale.waits_for()}</th>
                <th scope="col">{locale.task()}</th>
                <th scope="col" class="figure">{locale.waits()}</th>
            </tr></thead>
            <tbody>{sessions.iter().enumerate().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}
