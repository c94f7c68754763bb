//! The live stream: one websocket at `/api/v1/stream`, browser reads only.
//!
//! `hello`, then `snapshot`, then deltas, and a tick each second even when idle. Postcard in binary frames, or JSON
//! in text frames with `?codec=json`. Deltas of one entity are conflated: the newest wins.
//!
//! Its sequence is the ledger's, which all nodes share, so whoever lost a stream goes on with it on any node:
//! `?after=SEQUENCE&site=SITE` with the sequence of the last frame that was applied and the `site` of its `hello`. Where
//! `hello` says `resumed`, a delta follows in place of the snapshot: the newest state of each entity that changed in
//! the ledger after that sequence, what is gone included. What a node hears and the ledger does not know has no
//! sequence and comes whole: vehicles, lifts, tasks under way, the serving node, and how the nodes stand. A node that
//! is behind the sequence waits for its ledger, at most [`RESUME_WAIT_MAX`]. When it cannot tell what changed, the
//! snapshot comes, and replaces all.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::ids::{AlarmId, LedgerSequence, NodeId, TaskId};
use crate::plant::Plant;
use crate::time::Millis;
use crate::wire::drill::DrillView;
use crate::wire::view::{AlarmView, LiftView, NodeView, OrderView, PeerView, TaskView, VehicleView};

/// Version of the stream. Postcard is positional, so any change of a type raises it, and a browser of another
/// version reloads itself.
pub const LIVE_VERSION: u16 = 5;

/// A tick comes this often.
pub const TICK_PERIOD: Millis = Millis::seconds(1);
/// Without any frame for so long the browser calls its data stale.
pub const STALE_AFTER: Millis = Millis::seconds(3);
/// Without any frame for so long the browser calls the connection lost and opens another.
pub const LOST_AFTER: Millis = Millis::seconds(10);
/// A node whose ledger is behind the sequence that a browser knows waits so long for it before `hello`: well below
/// [`STALE_AFTER`], and many times the quarter of a second in which a node looks for entries of others.
pub const RESUME_WAIT_MAX: Millis = Millis::seconds(2);

/// One frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Frame {
    /// The first.
    Hello(Hello),
    /// The second, unless the stream was resumed: everything.
    Snapshot(Box<Snapshot>),
    /// What changed. The second, when the stream was resumed.
    Delta(Delta),
    /// The server lives.
    Tick(Tick),
}

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// [`LIVE_VERSION`].
    pub version: u16,
    /// The node that serves this stream.
    pub node: NodeId,
    /// Names the site, its plant and its ledger, for a resumption: of others nothing can be taken over. None as long as
    /// the node knows no entry of its ledger.
    pub site: Option<String>,
    /// The browser keeps what it knows, and a delta brings what it lacks. Otherwise a snapshot comes and replaces all.
    pub resumed: bool,
    /// Changes with each build of the server.
    pub build: String,
    /// By the server's wall clock.
    pub server_time: DateTime<Utc>,
}

/// Everything that a browser shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// It holds everything up to here.
    pub sequence: LedgerSequence,
    /// By the server's wall clock.
    pub server_time: DateTime<Utc>,
    /// Floors, points, lifts.
    pub plant: Plant,
    /// The node that serves.
    pub node: NodeView,
    /// All.
    pub vehicles: Vec<VehicleView>,
    /// All.
    pub lifts: Vec<LiftView>,
    /// The open ones and the [`ENDED_TASKS_SHOWN`] that ended last, newest first.
    pub tasks: Vec<TaskView>,
    /// The standing ones, most urgent first.
    pub alarms: Vec<AlarmView>,
    /// Those that stand and those that ended last, the oldest first. Empty outside a drill run.
    pub drills: Vec<DrillView>,
    /// All control nodes that ever took part, by name.
    pub nodes: Vec<PeerView>,
}

/// Ended tasks in a snapshot.
pub const ENDED_TASKS_SHOWN: usize = 50;

/// What changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delta {
    /// With it the browser holds everything of the ledger up to here. Positions and ages change without the ledger.
    pub sequence: LedgerSequence,
    /// By the server's wall clock.
    pub server_time: DateTime<Utc>,
    /// The newest state of each entity that changed.
    pub changes: Vec<Change>,
}

/// The newest state of one entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// A node.
    Node(NodeView),
    /// A vehicle.
    Vehicle(VehicleView),
    /// A lift.
    Lift(LiftView),
    /// An order: REST shows it, browsers do not get it.
    Order(OrderView),
    /// A task.
    Task(TaskView),
    /// A task too old to be shown.
    TaskForgotten(TaskId),
    /// An alarm stands.
    Alarm(AlarmView),
    /// An alarm is gone.
    AlarmGone(AlarmId),
    /// All drills that are shown.
    Drills(Vec<DrillView>),
    /// All control nodes that ever took part, by name.
    Nodes(Vec<PeerView>),
}

/// The server lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tick {
    /// The browser holds everything of the ledger up to here.
    pub sequence: LedgerSequence,
    /// By the server's wall clock.
    pub server_time: DateTime<Utc>,
}
