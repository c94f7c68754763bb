//! Streams that go on where another ended: on the same node, and on another one.

use std::collections::BTreeMap;

use kernel::ids::{AlarmId, Generation, NodeId, SiteId, TaskId, VehicleId};
use kernel::task::TaskState;
use kernel::wire::ledger::{Entry, Record};
use kernel::wire::vehicle::{Place, WorkState};
use kernel::wire::view::{AlarmView, Hearing, Knowledge, NodeView, TaskView, VehicleView};

use super::super::hub::tests::{alarm, at, hub_of, task_view};
use super::super::shown::GONE_KEPT;
use super::*;

const ENTRIES: u64 = 120;

/// What a browser shows.
#[derive(Clone, Debug, PartialEq)]
struct Screen {
    sequence: LedgerSequence,
    node: NodeView,
    tasks: BTreeMap<TaskId, TaskView>,
    alarms: BTreeMap<AlarmId, AlarmView>,
    vehicles: BTreeMap<VehicleId, VehicleView>,
}

impl Screen {
    fn of(snapshot: Snapshot) -> Self {
        Self {
            sequence: snapshot.sequence,
            node: snapshot.node,
            tasks: snapshot.tasks.into_iter().map(|it| (it.id.clone(), it)).collect(),
            alarms: snapshot.alarms.into_iter().map(|it| (it.id.clone(), it)).collect(),
            vehicles: snapshot.vehicles.into_iter().map(|it| (it.id.clone(), it)).collect(),
        }
    }

    fn apply(&mut self, delta: Delta) {
        self.sequence = delta.sequence;
        for change in delta.changes {
            match change {
                Change::Node(view) => self.node = view,
                Change::Vehicle(view) => drop(self.vehicles.insert(view.id.clone(), view)),
                Change::Task(view) => drop(self.tasks.insert(view.id.clone(), view)),
                Change::TaskForgotten(id) => drop(self.tasks.remove(&id)),
                Change::Alarm(view) => drop(self.alarms.insert(view.id.clone(), view)),
                Change::AlarmGone(id) => drop(self.alarms.remove(&id)),
                Change::Lift(_) | Change::Order(_) | Change::Drills(_) | Change::Nodes(_) => {}
            }
        }
    }
}

/// The same beginning of a ledger on each node.
fn first_entry(run: u64) -> Entry {
    let node = NodeId::try_new("A").unwrap();
    let site = SiteId::try_new("test").unwrap();
    let record = Record::NodeStarted { run, site };
    Entry { sequence: LedgerSequence(1), at: at(0), node, record, drill: false }
}

fn node(name: &str) -> Hub {
    let hub = hub_of(name);
    hub.know_ledger(&[first_entry(1)]);
    hub
}

fn cursor(hub: &Hub, after: u64) -> Cursor {
    Cursor { site: hub.site_id().unwrap(), after: LedgerSequence(after) }
}

/// What entry `n` of the ledger does to the screen: tasks are placed, given to a vehicle and ended, alarms come and go.
fn entry(n: u64, node: &str) -> Vec<Change> {
    let idx = usize::try_from(n).unwrap();
    // Each node hears the vehicle of a task under way for itself.
    let under_way = |nth: usize| {
        let mut view = task_view(nth, TaskState::Created);
        view.vehicle = Some(VehicleId::try_new("V1").unwrap());
        view.knowledge = if node == "A" { Knowledge::Confirmed } else { Knowledge::Unknown };
        view
    };
    match n % 6 {
        0 => vec![Change::Task(task_view(idx, TaskState::Created))],
        1 => vec![Change::Task(under_way(idx - 1)), Change::Alarm(alarm(idx))],
        2 => vec![Change::Alarm(alarm(idx))],
        3 if idx >= 9 => vec![Change::Task(task_view(idx - 9, TaskState::Completed))],
        4 => vec![Change::AlarmGone(alarm(idx - 2).id)],
        _ => vec![],
    }
}

fn vehicle(node: &str) -> Change {
    Change::Vehicle(VehicleView {
        id: VehicleId::try_new("V1").unwrap(),
        place: Place::Unknown,
        placed_at: None,
        hearing: if node == "A" { Hearing::Heard } else { Hearing::Never },
        heard_at: None,
        work: WorkState::Idle,
        load: None,
        task: None,
        battery_pct: None,
        rssi_dbm: None,
        link: Generation(0),
        link_open: false,
    })
}

fn feed(hub: &Hub, entries: impl Iterator<Item = u64>) {
    let name = hub.node().id.to_string();
    hub.show_at(hub.sequence(), vec![vehicle(&name)]);
    for n in entries {
        hub.show_at(LedgerSequence(n), entry(n, &name));
    }
}

/// Whom a change is about, and whether the ledger knows all of it.
fn subject(change: &Change) -> Option<String> {
    match change {
        Change::Task(view) if view.vehicle.is_some() => None,
        Change::Task(view) => Some(view.id.to_string()),
        Change::TaskForgotten(id) => Some(id.to_string()),
        Change::Alarm(view) => Some(view.id.to_string()),
        Change::AlarmGone(id) => Some(id.to_string()),
        Change::Node(_)
        | Change::Vehicle(_)
        | Change::Lift(_)
        | Change::Order(_)
        | Change::Drills(_)
        | Change::Nodes(_) => None,
    }
}

fn changed_in(entries: impl Iterator<Item = u64>) -> Vec<String> {
    entries.flat_map(|n| entry(n, "B")).filter_map(|it| subject(&it)).collect()
}

#[tokio::test]
async fn wherever_a_browser_leaves_one_node_it_goes_on_with_another() {
    for (left, ahead) in [0, 1, 5, 30, 60].into_iter().flat_map(|ahead| (1..60).map(move |it| (it, ahead))) {
        let (a, b) = (node("A"), node("B"));
        feed(&a, 1..=left);
        feed(&b, 1..=left + ahead);
        let mut screen = Screen::of(a.follow().unwrap().snapshot(at(0)));

        let mut follower = b.follow().unwrap();
        let delta = follower.resume(&cursor(&a, screen.sequence.0), || at(0)).await.unwrap();
        let wanted = changed_in(left + 1..=left + ahead);
        for change in &delta.changes {
            let unchanged = subject(change).filter(|it| !wanted.contains(it));
            assert_eq!(unchanged, None, "{left} + {ahead}: sent again");
        }
        screen.apply(delta);
        assert_eq!(screen, Screen::of(b.snapshot(at(0))), "{left} + {ahead}");

        feed(&b, left + ahead + 1..=ENTRIES);
        match follower.take(Due::All, at(0)) {
            Some(Update::Delta(delta)) => screen.apply(delta),
            other => panic!("{other:?}"),
        }
        assert_eq!(screen, Screen::of(b.snapshot(at(0))), "{left} + {ahead}, later");
    }
}

#[tokio::test]
async fn only_what_changed_since_is_sent_and_what_has_no_sequence() {
    let hub = node("B");
    feed(&hub, 1..=10);
    // Task 6 is under way, so what this node hears of it comes each time; what has no sequence is left out here.
    let rows: &[(u64, &[&str])] = &[
        (10, &["task T-6"]),
        (9, &["task T-6", "gone M8"]),
        (8, &["task T-6", "task T-0", "gone M8"]),
        (7, &["task T-6", "task T-0", "gone M8"]),
        (6, &["task T-6", "alarm M7", "task T-0", "gone M8"]),
        (3, &["gone M2", "task T-6", "alarm M7", "task T-0", "gone M8"]),
        (1, &["gone M2", "task T-6", "alarm M7", "task T-0", "gone M8"]),
        (0, &["alarm M1", "gone M2", "task T-6", "alarm M7", "task T-0", "gone M8"]),
    ];
    for (after, expected) in rows {
        let delta = hub.follow().unwrap().resume(&cursor(&hub, *after), || at(0)).await.unwrap();
        let mut n_whole = 0;
        let named = delta.changes.iter().filter_map(|it| match it {
            Change::Task(view) => Some(format!("task {}", view.id)),
            Change::Alarm(view) => Some(format!("alarm {}", view.id)),
            Change::TaskForgotten(id) => Some(format!("gone {id}")),
            Change::AlarmGone(id) => Some(format!("gone {id}")),
            Change::Node(_) | Change::Nodes(_) | Change::Vehicle(_) => {
                n_whole += 1;
                None
            }
            Change::Lift(_) | Change::Order(_) | Change::Drills(_) => panic!("{it:?}"),
        });
        assert_eq!(named.collect::<Vec<_>>(), *expected, "after {after}");
        assert_eq!(n_whole, 3, "after {after}");
    }
}

#[tokio::test]
async fn who_cannot_be_told_what_changed_gets_everything() {
    let behind = node("B");
    feed(&behind, 1..=20);
    let late = node("B");
    late.show_at(LedgerSequence(20), entry(13, "B"));
    let forgetful = node("B");
    feed(&forgetful, 1..=20);
    for n in 0..=GONE_KEPT {
        forgetful.show_at(LedgerSequence(21), vec![Change::Alarm(alarm(n))]);
        forgetful.show_at(LedgerSequence(22), vec![Change::AlarmGone(alarm(n).id)]);
    }
    let young = hub_of("B");
    young.show_at(LedgerSequence(20), vec![]);
    let other = hub_of("B");
    other.know_ledger(&[first_entry(2)]);
    feed(&other, 1..=20);
    let rows = [
        ("level with it", &behind, 20, true),
        ("behind it", &behind, 21, false),
        ("begun there", &late, 20, true),
        ("begun after it", &late, 19, false),
        ("with all that is gone since", &forgetful, 22, true),
        ("without some that is gone", &forgetful, 21, false),
        ("without a ledger", &young, 20, false),
        ("with another ledger", &other, 20, false),
    ];
    let site = node("A").site_id().unwrap();
    for (what, hub, after, resumes) in rows {
        let mut follower = hub.follow().unwrap();
        let cursor = Cursor { site: site.clone(), after: LedgerSequence(after) };
        assert_eq!(follower.resume(&cursor, || at(0)).await.is_some(), resumes, "a node {what}");
    }
}

#[tokio::test]
async fn a_node_that_is_behind_waits_for_its_ledger() {
    let hub = node("B");
    feed(&hub, 1..=20);
    let mut follower = hub.follow().unwrap();
    let wanted = cursor(&hub, 22);
    let resumes = tokio::spawn(async move { follower.resume(&wanted, || at(0)).await });
    tokio::task::yield_now().await;
    feed(&hub, 21..=21);
    tokio::task::yield_now().await;
    assert!(!resumes.is_finished(), "its state is older than the browser's");
    feed(&hub, 22..=23);
    let delta = resumes.await.unwrap().unwrap();
    assert!(delta.sequence >= LedgerSequence(22), "{delta:?}");
}

#[test]
fn what_was_not_taken_does_not_count_as_served() {
    let hub = node("A");
    feed(&hub, 1..=5);
    let mut follower = hub.follow().unwrap();
    follower.snapshot(at(0));
    assert_eq!(follower.served(), LedgerSequence(5));
    // Entries that change nothing on a screen are served by themselves, and vehicles have no sequence.
    hub.show_at(LedgerSequence(6), vec![]);
    hub.show_at(LedgerSequence(7), vec![vehicle("B")]);
    assert_eq!(follower.served(), LedgerSequence(7));
    hub.show_at(LedgerSequence(8), vec![Change::Alarm(alarm(8))]);
    hub.show_at(LedgerSequence(9), vec![]);
    assert_eq!(follower.served(), LedgerSequence(7), "an alarm is on its way");
    assert!(follower.take(Due::AtOnce, at(0)).is_some());
    assert_eq!(follower.served(), LedgerSequence(9));
}

#[test]
fn a_site_is_named_alike_on_all_its_nodes_and_by_its_ledger() {
    assert_eq!(node("A").site_id(), node("B").site_id());
    let other = hub_of("A");
    assert_eq!(other.site_id(), None);
    other.know_ledger(&[first_entry(2)]);
    assert_ne!(other.site_id(), node("A").site_id());
    let known = other.site_id();
    other.know_ledger(&[Entry { sequence: LedgerSequence(2), ..first_entry(1) }]);
    assert_eq!(other.site_id(), known, "only the first entry names it");
}
