//! A page loses its node and goes on with another one that follows the same ledger.

use kernel::alarm::AlarmKind;
use kernel::ids::{AlarmId, LedgerSequence, NodeId, SiteId};
use kernel::task::TaskState;
use kernel::wire::ledger::{Entry, Record};
use kernel::wire::live::{Change, Delta, Frame, Hello, Snapshot};
use kernel::wire::view::{Hearing, Knowledge, NodeStanding};

use super::Browser;
use crate::web::{Control, Web, alarm, at, lift, nth_task, peer, vehicle};

/// What a page shows, and how it goes on after its connection is lost.
pub(crate) struct Page {
    pub(crate) shown: Snapshot,
    site: String,
}

impl Page {
    async fn open(web: &Web) -> (Self, Browser) {
        Self::begin(Browser::open(web, "").await).await
    }

    /// Shows what comes first.
    pub(crate) async fn begin(mut browser: Browser) -> (Self, Browser) {
        match (browser.frame().await, browser.frame().await) {
            (Some(Frame::Hello(hello)), Some(Frame::Snapshot(shown))) => {
                (Self { shown: *shown, site: hello.site.unwrap() }, browser)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Goes on at another address with what it has. Tells what came, and whether it replaced all.
    async fn resume(&mut self, web: &Web) -> (Hello, Vec<Change>, Browser) {
        let query = format!("?after={}&site={}", self.shown.sequence.0, self.site);
        let mut browser = Browser::open(web, &query).await;
        match (browser.frame().await, browser.frame().await) {
            (Some(Frame::Hello(hello)), Some(Frame::Delta(delta))) if hello.resumed => {
                self.apply(&delta);
                (hello, delta.changes, browser)
            }
            (Some(Frame::Hello(hello)), Some(Frame::Snapshot(shown))) if !hello.resumed => {
                self.shown = *shown;
                (hello, Vec::new(), browser)
            }
            other => panic!("{other:?}"),
        }
    }

    fn apply(&mut self, delta: &Delta) {
        fn put<V: Clone>(list: &mut Vec<V>, view: &V, same: impl Fn(&V) -> bool) {
            list.retain(|it| !same(it));
            list.push(view.clone());
        }
        let shown = &mut self.shown;
        shown.sequence = delta.sequence;
        for change in &delta.changes {
            match change {
                Change::Node(view) => shown.node = view.clone(),
                Change::Vehicle(view) => put(&mut shown.vehicles, view, |it| it.id == view.id),
                Change::Lift(view) => put(&mut shown.lifts, view, |it| it.id == view.id),
                Change::Task(view) => put(&mut shown.tasks, view, |it| it.id == view.id),
                Change::TaskForgotten(id) => shown.tasks.retain(|it| it.id != *id),
                Change::Alarm(view) => put(&mut shown.alarms, view, |it| it.id == view.id),
                Change::AlarmGone(id) => shown.alarms.retain(|it| it.id != *id),
                Change::Drills(drills) => shown.drills = drills.clone(),
                Change::Nodes(nodes) => shown.nodes = nodes.clone(),
                Change::Order(_) => panic!("browsers get no orders"),
            }
        }
    }

    /// Takes frames until the page holds the ledger up to `sequence`.
    async fn until(&mut self, browser: &mut Browser, sequence: u64) {
        while self.shown.sequence < LedgerSequence(sequence) {
            self.step(browser).await;
        }
    }

    /// Takes one frame.
    pub(crate) async fn step(&mut self, browser: &mut Browser) {
        match browser.frame().await.expect("the stream goes on") {
            Frame::Delta(delta) => self.apply(&delta),
            Frame::Tick(tick) => self.shown.sequence = tick.sequence,
            other @ (Frame::Hello(_) | Frame::Snapshot(_)) => panic!("{other:?}"),
        }
    }

    /// In an order that does not hang on how it came about, and without the time of day.
    fn settled(mut shown: Snapshot) -> Snapshot {
        shown.server_time = at(0);
        shown.tasks.sort_by(|a, b| a.id.cmp(&b.id));
        shown.alarms.sort_by(|a, b| a.id.cmp(&b.id));
        shown
    }
}

/// A node that knows which ledger it follows.
async fn node_of_the_site(name: &str) -> Web {
    let web = Web::start_node(name, Control::Accepts).await;
    let record = Record::NodeStarted { run: 1, site: SiteId::try_new("test").unwrap() };
    let (sequence, node) = (LedgerSequence(1), NodeId::try_new("A").unwrap());
    web.hub.know_ledger(&[Entry { sequence, at: at(0), node, record, drill: false }]);
    web
}

/// The ledger of a small shift, entry by entry: the same on each node, apart from the last of each row, which is heard.
fn shift(n: u64, node: &str) -> Vec<Change> {
    let nth = |n: u64| usize::try_from(n).unwrap();
    let mut under_way = nth_task(2, TaskState::Created);
    under_way.vehicle = Some(vehicle(1).id);
    under_way.knowledge = if node == "A" { Knowledge::Confirmed } else { Knowledge::Unknown };
    let claimed = |tasks| {
        Change::Nodes(vec![peer("A", NodeStanding::Running, tasks), peer("B", NodeStanding::Running, 0)])
    };
    let heard = Change::Vehicle(vehicle(if node == "A" { 80 } else { 79 }));
    match n {
        1 => vec![claimed(0), heard],
        2..=5 => vec![Change::Task(nth_task(nth(n), TaskState::Created)), claimed(1)],
        6 => vec![Change::Task(under_way), heard],
        7 => vec![Change::Alarm(alarm("M1", AlarmKind::LiftFrozen))],
        8 => vec![Change::Alarm(alarm("M2", AlarmKind::VehicleSilent)), heard],
        9 => vec![Change::AlarmGone(AlarmId::try_new("M1").unwrap())],
        10 => vec![Change::Task(nth_task(3, TaskState::Completed))],
        11 => vec![Change::TaskForgotten(nth_task(3, TaskState::Completed).id)],
        12 => vec![Change::Lift(lift(Hearing::Silent))],
        _ => vec![],
    }
}

fn live_through(web: &Web, entries: impl Iterator<Item = u64>) {
    let name = web.hub.node().id.to_string();
    for n in entries {
        web.hub.show_at(LedgerSequence(n), shift(n, &name));
    }
}

#[tokio::test]
async fn a_browser_that_moves_to_another_node_misses_nothing_and_gets_nothing_twice() {
    let rows: &[(u64, u64, &[&str])] = &[
        (8, 8, &["T-2"]),
        (8, 9, &["T-2", "M1"]),
        (6, 12, &["T-2", "M2", "M1", "T-3"]),
        (9, 12, &["T-2", "T-3"]),
        (12, 12, &["T-2"]),
    ];
    for (left, stands, expected) in rows {
        let (a, b) = (node_of_the_site("A").await, node_of_the_site("B").await);
        live_through(&a, 1..=*left);
        live_through(&b, 1..=*stands);
        let (mut page, browser) = Page::open(&a).await;
        assert_eq!(page.shown.node.id.as_str(), "A");
        drop(browser);

        let (hello, changes, mut browser) = page.resume(&b).await;
        assert!(hello.resumed, "{left} to {stands}");
        assert_eq!(hello.node.as_str(), "B");
        let named: Vec<_> = changes.iter().filter_map(named).collect();
        assert_eq!(
            named, *expected,
            "{left} to {stands}: what the ledger tells, and the task that B hears of itself"
        );
        assert_eq!(
            Page::settled(page.shown.clone()),
            Page::settled(b.hub.snapshot(at(0))),
            "{left} to {stands}"
        );

        live_through(&b, stands + 1..=13);
        page.until(&mut browser, 13).await;
        // Lifts are paced: the newest may come a moment after the ledger's own changes.
        while page.shown.lifts != b.hub.lifts() {
            match browser.frame().await.unwrap() {
                Frame::Delta(delta) => page.apply(&delta),
                Frame::Tick(_) => {}
                other @ (Frame::Hello(_) | Frame::Snapshot(_)) => panic!("{other:?}"),
            }
        }
        assert_eq!(
            Page::settled(page.shown),
            Page::settled(b.hub.snapshot(at(0))),
            "{left} to {stands}, later"
        );
    }
}

fn named(change: &Change) -> Option<&str> {
    match change {
        Change::Task(view) => Some(view.id.as_str()),
        Change::TaskForgotten(id) => Some(id.as_str()),
        Change::Alarm(view) => Some(view.id.as_str()),
        Change::AlarmGone(id) => Some(id.as_str()),
        Change::Node(_)
        | Change::Vehicle(_)
        | Change::Lift(_)
        | Change::Order(_)
        | Change::Drills(_)
        | Change::Nodes(_) => None,
    }
}

#[tokio::test]
async fn a_node_that_is_behind_a_browser_catches_up_or_sends_everything() {
    let (a, b) = (node_of_the_site("A").await, node_of_the_site("B").await);
    live_through(&a, 1..=10);
    live_through(&b, 1..=7);
    let (mut page, _) = Page::open(&a).await;
    let later = async {
        tokio::task::yield_now().await;
        live_through(&b, 8..=10);
    };
    let ((hello, ..), ()) = tokio::join!(page.resume(&b), later);
    assert!(hello.resumed, "it waited for its ledger");
    assert_eq!(Page::settled(page.shown), Page::settled(b.hub.snapshot(at(0))));

    let c = node_of_the_site("C").await;
    live_through(&c, 1..=7);
    let (mut page, _) = Page::open(&a).await;
    let (hello, ..) = page.resume(&c).await;
    assert!(!hello.resumed, "it cannot tell what the browser lacks");
    assert_eq!(Page::settled(page.shown), Page::settled(c.hub.snapshot(at(0))));
}
