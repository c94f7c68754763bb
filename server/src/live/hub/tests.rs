//! The bounds of the hub.

use std::collections::BTreeMap;

use kernel::alarm::{AlarmKind, Subject};
use kernel::ids::{AlarmId, Generation, NodeId, SiteId, StationId};
use kernel::task::TaskState;
use kernel::time::Millis;
use kernel::timing::LinkBudget;
use kernel::wire::rest::TransportOrder;
use kernel::wire::view::{Activity, Knowledge};

use super::super::follower::{Due, Update};
use super::super::shown::GONE_KEPT;
use super::*;

pub(in crate::live) fn at(second: usize) -> DateTime<Utc> {
    DateTime::from_timestamp(1_796_020_000 + i64::try_from(second).unwrap(), 0).unwrap()
}

pub(in crate::live) fn hub() -> Hub {
    hub_of("A")
}

pub(in crate::live) fn hub_of(node: &str) -> Hub {
    let plant = Plant {
        site: SiteId::try_new("test").unwrap(),
        name: String::new(),
        time_zone: "UTC".to_owned(),
        shift_starts_min: vec![],
        floors: vec![],
        points: BTreeMap::new(),
        edges: vec![],
        stations: BTreeMap::new(),
        lifts: BTreeMap::new(),
        zones: vec![],
        vehicles: BTreeMap::new(),
        gateways: vec![],
        link_budget: LinkBudget::REPORTED,
    };
    let id = NodeId::try_new(node).unwrap();
    let node = NodeView {
        id,
        broker_connected: true,
        ledger_writable: true,
        messages_rejected: 0,
        last_rejection: None,
        drill: false,
    };
    Hub::new(Arc::new(plant), node)
}

pub(in crate::live) fn alarm(n: usize) -> AlarmView {
    AlarmView {
        id: AlarmId::try_new(&format!("M{n}")).unwrap(),
        kind: AlarmKind::LiftFrozen,
        subject: Subject::Site,
        priority: 2,
        detail: String::new(),
        raised_at: at(n),
    }
}

fn order_id(n: usize) -> OrderId {
    OrderId::try_new(&format!("A-{n}")).unwrap()
}

fn order(n: usize, ended: bool) -> Change {
    let station = |name| StationId::try_new(name).unwrap();
    Change::Order(OrderView {
        order: TransportOrder {
            id: order_id(n),
            from: station("A"),
            to: station("B"),
            priority: 5,
            deadline: None,
            reference: None,
        },
        task: task_id(n),
        state: if ended { TaskState::Completed } else { TaskState::Created },
        withdrawal_asked: false,
        placed_at: at(n),
        ended_at: ended.then(|| at(n)),
    })
}

pub(in crate::live) fn task_id(n: usize) -> TaskId {
    TaskId::try_new(&format!("T-{n}")).unwrap()
}

fn task(n: usize, state: TaskState) -> Change {
    Change::Task(task_view(n, state))
}

pub(in crate::live) fn task_view(n: usize, state: TaskState) -> TaskView {
    let station = |name| StationId::try_new(name).unwrap();
    TaskView {
        id: task_id(n),
        order: order_id(n),
        from: station("A"),
        to: station("B"),
        priority: 5,
        state,
        withdrawal_asked: false,
        knowledge: Knowledge::Confirmed,
        activity: Activity::Ended,
        vehicle: None,
        claimed_by: None,
        claim: Generation(1),
        since: at(n),
        ack_budget_ms: Millis(28_000),
        next_delivery_at: None,
    }
}

#[test]
fn a_browser_that_missed_too_much_gets_everything_afresh() {
    for (n_gone, afresh) in [(GONE_KEPT, false), (GONE_KEPT + 1, true)] {
        let hub = hub();
        let mut follower = hub.follow().unwrap();
        for n in 0..n_gone {
            hub.show(Change::Alarm(alarm(n)));
        }
        follower.snapshot(at(0));
        for n in 0..n_gone {
            hub.show(Change::AlarmGone(alarm(n).id));
        }
        match follower.take(Due::All, at(0)) {
            Some(Update::Snapshot(snapshot)) => {
                assert!(afresh, "{n_gone}");
                assert_eq!(snapshot.alarms, vec![]);
            }
            Some(Update::Delta(delta)) => {
                assert!(!afresh, "{n_gone}");
                assert_eq!(delta.changes.len(), n_gone);
            }
            None => panic!("{n_gone}: nothing came"),
        }
        assert_eq!(follower.take(Due::All, at(0)), None, "{n_gone}");
    }
}

#[test]
fn what_did_not_change_is_not_sent_again() {
    let hub = hub();
    let mut follower = hub.follow().unwrap();
    follower.snapshot(at(0));
    hub.show(Change::Alarm(alarm(1)));
    assert!(follower.take(Due::AtOnce, at(0)).is_some());
    hub.show(Change::Alarm(alarm(1)));
    hub.show(Change::AlarmGone(alarm(2).id));
    assert_eq!(follower.take(Due::All, at(0)), None);
}

#[test]
fn an_alarm_that_came_and_went_unseen_is_only_said_to_be_gone() {
    let hub = hub();
    let mut follower = hub.follow().unwrap();
    follower.snapshot(at(0));
    hub.show(Change::Alarm(alarm(1)));
    hub.show(Change::AlarmGone(alarm(1).id));
    let Some(Update::Delta(delta)) = follower.take(Due::AtOnce, at(0)) else { panic!("nothing came") };
    assert_eq!(delta.changes, vec![Change::AlarmGone(alarm(1).id)]);
    hub.show(Change::Alarm(alarm(1)));
    let Some(Update::Delta(delta)) = follower.take(Due::AtOnce, at(0)) else { panic!("nothing came") };
    assert_eq!(delta.changes, vec![Change::Alarm(alarm(1))]);
}

#[test]
fn browsers_see_all_open_tasks_and_the_last_that_ended() {
    let hub = hub();
    let n_ended = ENDED_TASKS_SHOWN + 30;
    let mut follower = hub.follow().unwrap();
    follower.snapshot(at(0));
    for n in 0..n_ended {
        hub.show(task(n, TaskState::Created));
        hub.show(task(n, TaskState::Completed));
    }
    for n in 0..5 {
        hub.show(task(1000 + n, TaskState::Created));
    }
    let Some(Update::Delta(delta)) = follower.take(Due::AtOnce, at(0)) else { panic!("nothing came") };
    let forgotten = delta.changes.iter().filter(|it| matches!(it, Change::TaskForgotten(_))).count();
    assert_eq!((delta.changes.len(), forgotten), (n_ended + 5, 30));

    let shown: Vec<TaskId> = hub.snapshot(at(0)).tasks.into_iter().map(|view| view.id).collect();
    let newest_first = (1000..1005).rev().chain((30..n_ended).rev()).map(task_id);
    assert_eq!(shown, newest_first.collect::<Vec<_>>());
    // REST keeps them.
    assert!(hub.task(&task_id(0)).is_some());
}

#[test]
fn only_so_many_ended_orders_are_kept_and_all_open_ones() {
    let hub = hub();
    hub.show(order(0, false));
    for n in 1..=ENDED_ORDERS_KEPT + 5 {
        hub.show(order(n, false));
        hub.show(order(n, true));
    }
    let kept = hub.orders(None, usize::MAX, |_| true).items;
    assert_eq!(kept.len(), ENDED_ORDERS_KEPT + 1);
    assert!(hub.order(&order_id(0)).is_some(), "an open one is never dropped");
    assert!(hub.order(&order_id(5)).is_none(), "the one that ended first is");
    assert!(hub.order(&order_id(6)).is_some());
}

#[tokio::test]
async fn a_change_between_the_look_and_the_wait_is_not_missed() {
    let hub = hub();
    let mut follower = hub.follow().unwrap();
    follower.snapshot(at(0));
    let waits = tokio::spawn(async move {
        follower.changed(Due::AtOnce).await;
        follower.take(Due::AtOnce, at(0)).is_some()
    });
    tokio::task::yield_now().await;
    hub.show(Change::Alarm(alarm(1)));
    assert!(tokio::time::timeout(Duration::from_secs(60), waits).await.unwrap().unwrap());
}

#[test]
fn a_shift_follows_the_site_into_summer_time() {
    let shifts = Shifts::new(Tz::Europe__Berlin, &[150, 1320]);
    let moment = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
    // On 29 March 2026 the clocks skip the hour from 2 to 3; on 25 October that hour comes twice.
    let rows = [
        ("2026-03-28T12:00:00Z", "2026-03-28T01:30:00Z", "2026-03-28T21:00:00Z"),
        ("2026-03-29T01:00:00Z", "2026-03-28T21:00:00Z", "2026-03-29T01:30:00Z"),
        ("2026-03-29T12:00:00Z", "2026-03-29T01:30:00Z", "2026-03-29T20:00:00Z"),
        ("2026-10-25T00:45:00Z", "2026-10-25T00:30:00Z", "2026-10-25T21:00:00Z"),
        ("2026-10-25T01:45:00Z", "2026-10-25T00:30:00Z", "2026-10-25T21:00:00Z"),
    ];
    for (at, starts_at, ends_at) in rows {
        let shift = shifts.of(moment(at));
        assert_eq!((shift.starts_at, shift.ends_at), (moment(starts_at), moment(ends_at)), "{at}");
    }
}
