//! Who may speak to the lift: a control node by its lease, the gateway by itself, or nobody right now.

use kernel::wire::gateway::Arbitration;
use kernel::wire::view::{LeaseView, LiftView};
use leptos::prelude::*;

use crate::components::issuer::{edge_mark, issuer_mark};
use crate::components::lift_panel::rank;
use crate::i18n::Locale;
use crate::screen::Screen;

/// The holder.
pub(super) fn holder(screen: Screen, view: &LiftView) -> impl IntoView + use<> {
    let locale = screen.locale.get();
    let who = match (view.arbitration, &view.lease) {
        (Arbitration::Edge, _) => edge(locale, view, locale.edge_decides()).into_any(),
        (Arbitration::Returning, _) => edge(locale, view, locale.returning()).into_any(),
        (Arbitration::Lease, Some(lease)) => held(screen, lease).into_any(),
        (Arbitration::Lease, None) => view! {
            <p class="holder quiet">{locale.free()}</p>
            <p class="quiet">{locale.free_meaning()}</p>
        }
        .into_any(),
    };
    view! { <h3>{locale.control()}</h3> {who} }
}

fn edge(locale: Locale, view: &LiftView, meaning: &'static str) -> impl IntoView + use<> {
    let epoch = view.epoch.map(|epoch| format!(" · {}", locale.epoch(epoch)));
    view! {
        <p class="holder">{edge_mark()} <strong class="alert p2">{locale.edge_arbitration()}</strong> {epoch}</p>
        <p>{meaning}</p>
    }
}

fn held(screen: Screen, lease: &LeaseView) -> impl IntoView + use<> {
    let locale = screen.locale.get();
    let name = lease.holder.to_string();
    let token = format!(" · {} {}", locale.token(), rank(lease.token));
    let since = screen.clock.span_since(lease.since, locale);
    let since = (!since.is_empty()).then(|| locale.held_for(&since));
    let end = match lease.ends_at {
        Some(at) => screen.clock.seconds_until(at).map(|left| locale.ends_in(&locale.span(left))),
        None => Some(locale.end_unknown(&name)),
    };
    let renewed = lease.renewed_at.map(|at| screen.clock.span_since(at, locale));
    let renewed = renewed.filter(|it| !it.is_empty()).map(|it| locale.renewed_before(&it));
    let times = [since, renewed, end].into_iter().flatten().collect::<Vec<_>>().join(" · ");
    view! {
        <p class="holder">{issuer_mark(screen, &lease.holder)} <strong>{name}</strong> {token}</p>
        <p>{times}</p>
        <p class="quiet">{locale.renewal()}</p>
    }
}
