//! The strip that says where gateways arbitrate by themselves. It stands as long as one does, and nobody can close it:
//! commands pass there without a lease.

use chrono::{DateTime, Utc};
use kernel::alarm::{AlarmKind, Subject};
use kernel::ids::LiftId;
use kernel::wire::gateway::Arbitration;
use leptos::prelude::*;

use crate::components::icon::priority_mark;
use crate::components::rail::lift_path;
use crate::i18n::Locale;
use crate::screen::Screen;

/// A lift at which leases do not count.
#[derive(Clone, Debug, PartialEq)]
struct OnEdge {
    lift: LiftId,
    arbitration: Arbitration,
    epoch: Option<u32>,
    since: Option<DateTime<Utc>>,
}

/// The strip; hidden while leases count everywhere.
pub(crate) fn edge_strip(screen: Screen) -> impl IntoView {
    let on_edge = Memo::new(move |_| on_edge(screen));
    let lifts = move || on_edge.get().into_iter().map(|it| one_lift(screen, it)).collect_view();
    view! {
        <section class="edge-strip" role="status" aria-label=screen.text(Locale::edge_arbitration)
            hidden=move || on_edge.read().is_empty()>
            {priority_mark(AlarmKind::LiftOnEdge.priority())}
            <strong>{screen.text(Locale::edge_strip)}</strong>
            <span class="edge-lifts">{lifts}</span>
            <span class="edge-meaning">{screen.text(Locale::edge_meaning)}</span>
        </section>
    }
}

fn one_lift(screen: Screen, it: OnEdge) -> impl IntoView {
    let OnEdge { lift, arbitration, epoch, since } = it;
    let rest = move || {
        let locale = screen.locale.get();
        let epoch = epoch.map(|epoch| locale.epoch(epoch));
        let since = since.map(|at| locale.since_when(&screen.clock.time_of_day(at)));
        let returns = (arbitration == Arbitration::Returning).then(|| locale.returning().to_owned());
        [epoch, since, returns].into_iter().flatten().collect::<Vec<_>>().join(" · ")
    };
    view! { <span class="edge-lift"><a href=lift_path(&lift)>{lift.to_string()}</a> " " {rest}</span> }
}

fn on_edge(screen: Screen) -> Vec<OnEdge> {
    let lifts = screen.store.lifts.read();
    let one = |(id, view): (&LiftId, &ArcRwSignal<kernel::wire::view::LiftView>)| {
        let (arbitration, epoch) = view.with(|it| (it.arbitration, it.epoch));
        match arbitration {
            Arbitration::Lease => None,
            Arbitration::Edge | Arbitration::Returning => {
                Some(OnEdge { lift: id.clone(), arbitration, epoch, since: since(screen, id) })
            }
        }
    };
    lifts.iter().filter_map(one).collect()
}

/// Its alarm knows.
fn since(screen: Screen, lift: &LiftId) -> Option<DateTime<Utc>> {
    let alarms = screen.store.alarms.read();
    alarms.values().find_map(|alarm| {
        let alarm = alarm.read();
        let is = alarm.kind == AlarmKind::LiftOnEdge && alarm.subject == Subject::Lift(lift.clone());
        is.then_some(alarm.raised_at)
    })
}
