//! Who lets drills begin and end. It outlives the control nodes that record them, which may themselves be drilled: one
//! of those that live is told, and the ledger takes the end of a drill once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kernel::drill::{DRILL_MIN, Drill, DrillEnd, DrillFault, DrillPlace};
use kernel::ids::{DrillId, FloorId, NodeId};
use kernel::plant::Plant;
use kernel::time::Millis;
use kernel::wire::drill::{DrillList, DrillOffer, DrillView, StartDrill};
use thiserror::Error;
use tokio::sync::watch;

use super::Hands;
use crate::live::hub::Hub;
use crate::shell::{CONTROL_ANSWER_DEADLINE, ControlHandle, DrillNote};

/// Drills at once. People cannot follow so many; a test of a site may want some.
pub const RUNNING_MAX: usize = 16;
/// What a name begins with; a number follows.
const NAME_STEM: &str = "D-";
/// Between two tries to have an end recorded.
const REPORT_PERIOD: Duration = Duration::from_secs(2);
/// At a stop the ends of what stands are waited for so long.
const FINISH_BOUND: Duration = Duration::from_secs(3);

/// Why a drill is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DrillRefusal {
    /// The fault is injected elsewhere.
    #[error("{fault:?} is not injected at {at:?}")]
    UnknownPlace {
        /// What was asked for.
        fault: DrillFault,
        /// Where.
        at: DrillPlace,
    },
    /// Shorter than [`DRILL_MIN`], longer than [`DrillFault::longest`], missing, or given for what happens at once.
    #[error("{fault:?} does not last {for_ms:?}")]
    Duration {
        /// What was asked for.
        fault: DrillFault,
        /// For how long.
        for_ms: Option<Millis>,
    },
    /// One that turns the same switch stands.
    #[error("drill {0} stands there")]
    Collides(DrillId),
    /// [`RUNNING_MAX`] stand.
    #[error("{RUNNING_MAX} drills stand")]
    TooMany,
    /// It is over.
    #[error("drill {0} is over")]
    Over(DrillId),
    /// There is none of this name.
    #[error("there is no such drill")]
    Unknown,
    /// The ledger does not have it: nothing was injected, or its end is recorded later.
    #[error("it is not recorded")]
    NotRecorded,
}

/// A control node that records and shows drills.
#[derive(Clone, Debug)]
pub struct Stage {
    /// What it shows.
    pub hub: Hub,
    /// The way to its loop.
    pub control: ControlHandle,
}

/// Conducts the drills of one demonstration. Clones are the same.
#[derive(Clone, Debug)]
pub struct Conductor {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    plant: Arc<Plant>,
    hands: Hands,
    stages: watch::Sender<Stages>,
    state: Mutex<State>,
    /// How many stand.
    standing: watch::Sender<usize>,
}

/// The control nodes that live, in the order in which they came.
#[derive(Debug, Default)]
struct Stages {
    nodes: Vec<(NodeId, Stage)>,
    /// Those that a drill lets stand still, or keeps from the ledger.
    still: BTreeSet<NodeId>,
}

impl Stages {
    /// The one that is told: the oldest that can record.
    fn scribe(&self) -> Option<&Stage> {
        self.nodes.iter().find(|(node, _)| !self.still.contains(node)).map(|(_, stage)| stage)
    }
}

#[derive(Debug, Default)]
struct State {
    /// A node was told that nothing stands of what an earlier demonstration left in the ledger.
    is_tidied: bool,
    last_number: u64,
    running: BTreeMap<DrillId, Running>,
}

#[derive(Debug)]
struct Running {
    drill: Drill,
    wish: watch::Sender<Option<DrillEnd>>,
}

impl Conductor {
    /// Nothing stands yet, and nobody records.
    pub fn new(plant: Arc<Plant>, hands: Hands) -> Self {
        let (stages, standing) = (watch::Sender::default(), watch::Sender::new(0));
        Self { inner: Arc::new(Inner { plant, hands, stages, state: Mutex::default(), standing }) }
    }

    /// The hands with which faults are injected.
    pub fn hands(&self) -> &Hands {
        &self.inner.hands
    }

    /// A control node may record from now on. The first ends in the ledger what an earlier demonstration has left there:
    /// later ones would end what has begun meanwhile.
    pub fn attach(&self, node: &NodeId, stage: Stage) {
        let is_first = !std::mem::replace(&mut self.state().is_tidied, true);
        if is_first && let Err(error) = stage.control.note_drill(DrillNote::Standing(vec![])) {
            tracing::warn!("old drills are not ended in the ledger: {error}");
        }
        self.inner.stages.send_modify(|it| it.nodes.push((node.clone(), stage)));
    }

    /// A control node is about to end.
    pub fn detach(&self, node: &NodeId) {
        self.inner.stages.send_modify(|it| it.nodes.retain(|(name, _)| name != node));
    }

    fn scribe(&self) -> Option<Stage> {
        self.inner.stages.borrow().scribe().cloned()
    }

    /// What can be injected, what stands and what ended last.
    pub fn list(&self) -> DrillList {
        let offer = |fault: DrillFault| DrillOffer {
            fault,
            group: fault.group(),
            lasts: fault.lasts(),
            longest_ms: fault.lasts().then(|| fault.longest()),
            places: fault.places(&self.inner.plant),
        };
        let (mut ended, running): (Vec<_>, Vec<_>) =
            self.shown().into_iter().partition(|it| it.end.is_some());
        ended.reverse();
        DrillList { offers: DrillFault::ALL.into_iter().map(offer).collect(), running, ended }
    }

    /// A drill that stands or ended lately.
    pub fn read(&self, id: &DrillId) -> Option<DrillView> {
        self.shown().into_iter().find(|it| it.id == *id)
    }

    /// The plant, for those who explain a refusal.
    pub fn plant(&self) -> &Plant {
        &self.inner.plant
    }

    /// Lets a drill begin: it is recorded, then injected.
    ///
    /// # Errors
    /// Why not; nothing was injected.
    pub async fn start(&self, asked: StartDrill) -> Result<DrillView, DrillRefusal> {
        self.check(&asked)?;
        let stage = self.scribe().ok_or(DrillRefusal::NotRecorded)?;
        let (drill, wished) = self.take_place(asked, &stage.hub)?;
        let told = stage.control.note_drill(DrillNote::Began(drill.clone()));
        let shown = match told {
            Ok(()) => stage.hub.drill_shown(&drill.id, CONTROL_ANSWER_DEADLINE, |_| true).await,
            Err(_) => None,
        };
        let unsure = shown.is_none().then_some(stage.control);
        tokio::spawn(self.clone().conduct(drill, wished, unsure));
        shown.ok_or(DrillRefusal::NotRecorded)
    }

    /// Ends a drill before its time.
    ///
    /// # Errors
    /// There is none, or it is over.
    pub async fn end(&self, id: &DrillId) -> Result<DrillView, DrillRefusal> {
        let wished = self.state().running.get(id).map(|it| it.wish.send_replace(Some(DrillEnd::ByHand)));
        let stage = self.scribe().ok_or(DrillRefusal::NotRecorded)?;
        if wished.is_none() {
            let over = stage.hub.drills().into_iter().any(|it| it.id == *id);
            return Err(if over { DrillRefusal::Over(id.clone()) } else { DrillRefusal::Unknown });
        }
        let ended = stage.hub.drill_shown(id, CONTROL_ANSWER_DEADLINE, |it| it.end.is_some());
        let shown = ended.await.ok_or(DrillRefusal::NotRecorded)?;
        // Its place is free when it is answered, whichever node recorded its end.
        let freed = async {
            let mut standing = self.inner.standing.subscribe();
            while self.state().running.contains_key(id) && standing.changed().await.is_ok() {}
        };
        _ = tokio::time::timeout(CONTROL_ANSWER_DEADLINE, freed).await;
        Ok(shown)
    }

    /// The demonstration stops: what stands is ended and recorded, within `FINISH_BOUND`.
    pub async fn finish(&self) {
        for running in self.state().running.values() {
            running.wish.send_replace(Some(DrillEnd::Interrupted));
        }
        let mut standing = self.inner.standing.subscribe();
        if tokio::time::timeout(FINISH_BOUND, standing.wait_for(|n| *n == 0)).await.is_err() {
            tracing::warn!("some drills still stand; their end is recorded at the next start");
        }
    }

    fn shown(&self) -> Vec<DrillView> {
        self.scribe().map(|it| it.hub.drills()).unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, asked: &StartDrill) -> Result<(), DrillRefusal> {
        if !asked.fault.places(&self.inner.plant).contains(&asked.at) {
            return Err(DrillRefusal::UnknownPlace { fault: asked.fault, at: asked.at.clone() });
        }
        let fits = match asked.for_ms {
            Some(for_ms) => asked.fault.lasts() && (DRILL_MIN..=asked.fault.longest()).contains(&for_ms),
            None => !asked.fault.lasts(),
        };
        if fits { Ok(()) } else { Err(DrillRefusal::Duration { fault: asked.fault, for_ms: asked.for_ms }) }
    }

    /// Gives it a name and keeps its place, so that no second one takes it while it is recorded.
    fn take_place(
        &self,
        asked: StartDrill,
        hub: &Hub,
    ) -> Result<(Drill, watch::Receiver<Option<DrillEnd>>), DrillRefusal> {
        let mut state = self.state();
        let collides = |it: &&Running| it.drill.at == asked.at && it.drill.fault.excludes(asked.fault);
        if let Some(standing) = state.running.values().find(collides) {
            return Err(DrillRefusal::Collides(standing.drill.id.clone()));
        }
        if state.running.len() >= RUNNING_MAX {
            return Err(DrillRefusal::TooMany);
        }
        let number = |it: &DrillView| -> Option<u64> { it.id.as_str().strip_prefix(NAME_STEM)?.parse().ok() };
        let last = hub.drills().iter().filter_map(number).max().unwrap_or_default();
        state.last_number = last.max(state.last_number) + 1;
        let name = format!("{NAME_STEM}{}", state.last_number);
        let id = DrillId::try_new(&name).map_err(|_| DrillRefusal::NotRecorded)?;
        let drill = Drill { id: id.clone(), fault: asked.fault, at: asked.at, for_ms: asked.for_ms };
        let (wish, wished) = watch::channel(None);
        state.running.insert(id, Running { drill: drill.clone(), wish });
        self.inner.standing.send_replace(state.running.len());
        Ok((drill, wished))
    }

    /// `unsure` is who was told of its beginning and may not have recorded it.
    async fn conduct(
        self,
        drill: Drill,
        wished: watch::Receiver<Option<DrillEnd>>,
        unsure: Option<ControlHandle>,
    ) {
        let end = if unsure.is_none() { self.play(&drill, wished).await } else { DrillEnd::Interrupted };
        tracing::warn!(drill_id = %drill.id, ?end, "the drill is over");
        self.have_end_recorded(&drill.id, end, unsure).await;
        let mut state = self.state();
        state.running.remove(&drill.id);
        self.inner.standing.send_replace(state.running.len());
    }

    async fn play(&self, drill: &Drill, mut wished: watch::Receiver<Option<DrillEnd>>) -> DrillEnd {
        tracing::warn!(drill_id = %drill.id, fault = ?drill.fault, at = ?drill.at, for_ms = ?drill.for_ms,
            "a drill begins");
        let (hands, plant) = (&self.inner.hands, &self.inner.plant);
        let still = still(drill);
        self.inner.stages.send_modify(|it| it.still.extend(still.cloned()));
        let standing = match hands.inject(drill, plant, self.car_of(drill).as_ref()).await {
            Ok(standing) => standing,
            Err(error) => {
                tracing::error!(drill_id = %drill.id, "the fault could not be injected: {error:#}");
                self.inner.stages.send_modify(|it| it.still.retain(|node| Some(node) != still));
                return DrillEnd::Interrupted;
            }
        };
        let lasts = Duration::from_millis(drill.for_ms.unwrap_or_default().0);
        let end = tokio::select! {
            () = tokio::time::sleep(lasts) => DrillEnd::RanOut,
            wish = wished.wait_for(Option::is_some) => {
                wish.ok().and_then(|it| *it).unwrap_or(DrillEnd::Interrupted)
            }
        };
        if let Err(error) = hands.mend(drill, plant, standing).await {
            tracing::error!(drill_id = %drill.id, "the fault could not be taken back: {error:#}");
        }
        self.inner.stages.send_modify(|it| it.still.retain(|node| Some(node) != still));
        end
    }

    /// Where the car of the drill's lift was seen last.
    fn car_of(&self, drill: &Drill) -> Option<FloorId> {
        let DrillPlace::Lift(lift) = &drill.at else { return None };
        let stage = self.scribe()?;
        stage.hub.lift(lift)?.status.map(|it| it.floor)
    }

    /// Tells it to whoever records, until one has it in its ledger. When its beginning was told to a node that has ended
    /// since, and nobody has it in the ledger, there is nothing to end.
    async fn have_end_recorded(&self, id: &DrillId, end: DrillEnd, unsure: Option<ControlHandle>) {
        let mut stages = self.inner.stages.subscribe();
        loop {
            let scribe = stages.wait_for(|it| it.scribe().is_some()).await.map(|it| it.scribe().cloned());
            let Ok(scribe) = scribe else { return };
            let Some(Stage { hub, control }) = scribe else { continue };
            let never_began = unsure.as_ref().is_some_and(ControlHandle::is_stopped);
            let told = control.note_drill(DrillNote::Over { drill: id.clone(), end });
            if told.is_ok() && hub.drill_shown(id, REPORT_PERIOD, |it| it.end.is_some()).await.is_some() {
                return;
            }
            if told.is_ok() && never_began && !hub.drills().iter().any(|it| it.id == *id) {
                return;
            }
            tokio::time::sleep(REPORT_PERIOD).await;
        }
    }
}

/// Which node records nothing while the drill stands: its loop stands still, or it does not reach the ledger.
fn still(drill: &Drill) -> Option<&NodeId> {
    match &drill.at {
        DrillPlace::Node(node)
            if matches!(drill.fault, DrillFault::NodePaused | DrillFault::LedgerCutOff) =>
        {
            Some(node)
        }
        DrillPlace::Site
        | DrillPlace::Lift(_)
        | DrillPlace::Vehicle(_)
        | DrillPlace::Floor(_)
        | DrillPlace::Gateway(_)
        | DrillPlace::Node(_)
        | DrillPlace::Road(_) => None,
    }
}
