//! Messages that are lost, doubled or late: a tap between a client of the broker and whoever reads from it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kernel::drill::{DrillFault, DrillRoad};
use kernel::ids::SiteId;
use kernel::lease::LeaseRefusal;
use sim::rng::Rng;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::lease::ANSWER_MAX;
use crate::messaging::Incoming;
use crate::messaging::topics::{GatewayRoad, Topic, VehicleRoad};

/// A doubled message comes again after so long.
const DOUBLED_AFTER: Duration = Duration::from_secs(1);
/// A late message comes so late.
const LATE_BY: Duration = Duration::from_secs(3);
/// Messages that a tap holds back: three seconds of a fleet of fifty. Beyond it they come in time.
const HELD_MAX: usize = 1024;
/// Messages that wait behind the tap; the client's own bound stands before it.
const PASSED_MAX: usize = 64;

/// What the roads suffer now. Clones share it.
#[derive(Clone, Debug)]
pub struct Roads {
    standing: Arc<Mutex<BTreeMap<DrillRoad, DrillFault>>>,
    /// For the roads that have no tap.
    dice: Arc<Mutex<Rng>>,
}

impl Default for Roads {
    fn default() -> Self {
        Self { standing: Arc::default(), dice: Arc::new(Mutex::new(Rng::new(1, "roads"))) }
    }
}

/// Who reads what comes out of a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A control node.
    Control,
    /// A gateway.
    Gateway,
    /// A vehicle.
    Vehicle,
}

/// What becomes of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Passes,
    Lost,
    Doubled,
    Late,
}

impl Fate {
    /// Half of a road's messages suffer, as the faults say.
    fn of(fault: Option<DrillFault>, dice: &mut Rng) -> Self {
        match fault.filter(|_| dice.within(0..=1) == 0) {
            Some(DrillFault::MessagesDropped) => Self::Lost,
            Some(DrillFault::MessagesDoubled) => Self::Doubled,
            Some(DrillFault::MessagesDelayed) => Self::Late,
            Some(_) | None => Self::Passes,
        }
    }
}

impl Roads {
    /// Lets a road suffer from now on; none lets it be sound again.
    pub fn set(&self, road: DrillRoad, fault: Option<DrillFault>) {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        match fault {
            Some(fault) => _ = standing.insert(road, fault),
            None => _ = standing.remove(&road),
        }
    }

    /// Puts a tap behind a client, which `reader` reads. `name` parts the chance of one tap from another's.
    pub fn tap(
        &self,
        site: &SiteId,
        (reader, name): (Reader, &str),
        arriving: mpsc::Receiver<Incoming>,
    ) -> mpsc::Receiver<Incoming> {
        let (passed, behind) = mpsc::channel(PASSED_MAX);
        let tap = Tap {
            roads: self.clone(),
            reader,
            site: site.clone(),
            dice: Rng::new(1, name),
            held: VecDeque::new(),
            passed,
        };
        tokio::spawn(tap.run(arriving));
        behind
    }

    fn fate(&self, reader: Reader, site: &SiteId, message: &Incoming, dice: &mut Rng) -> Fate {
        let Incoming::Message { topic, .. } = message else { return Fate::Passes };
        let road = Topic::parse(site, topic).ok().and_then(|it| road_of(reader, &it));
        Fate::of(road.and_then(|it| self.standing(it)), dice)
    }

    fn standing(&self, road: DrillRoad) -> Option<DrillFault> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).get(&road).copied()
    }

    fn fate_on(&self, road: DrillRoad) -> Fate {
        let fault = self.standing(road);
        Fate::of(fault, &mut self.dice.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Of a question that is lost or whose answer is.
    fn answer_is_lost(&self) -> bool {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner).within(0..=1) == 0
    }

    /// Waits as long as the road lets a proposal to the ledger be late.
    pub async fn wait_before_ledger(&self) {
        match self.fate_on(DrillRoad::Ledger) {
            Fate::Late => tokio::time::sleep(LATE_BY).await,
            Fate::Passes | Fate::Lost | Fate::Doubled => {}
        }
    }

    /// Asks the lease store on its road: at once, late, twice or never. What is lost may as well be the answer. Who has
    /// none in time does not wait for it.
    ///
    /// # Errors
    /// What the store answers, or that it gave no answer.
    pub async fn ask_store<T, F>(&self, question: impl Fn() -> F) -> Result<T, LeaseRefusal>
    where
        F: Future<Output = Result<T, LeaseRefusal>> + Send + 'static,
        T: Send + 'static,
    {
        let asked_after = |wait: Duration, question: F| {
            // Nobody waits for what it answers.
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                question.await.map(drop)
            });
        };
        match self.fate_on(DrillRoad::Store) {
            Fate::Passes => return question().await,
            Fate::Doubled => {
                asked_after(DOUBLED_AFTER, question());
                return question().await;
            }
            Fate::Late => asked_after(LATE_BY, question()),
            Fate::Lost if self.answer_is_lost() => asked_after(Duration::ZERO, question()),
            Fate::Lost => {}
        }
        tokio::time::sleep(Duration::from_millis(ANSWER_MAX.0)).await;
        Err(LeaseRefusal::Unknown)
    }
}

/// The road of a topic; presence is on none, because the broker itself says it.
fn road_of(reader: Reader, topic: &Topic) -> Option<DrillRoad> {
    match topic {
        Topic::Gateway(_, GatewayRoad::Command) => Some(DrillRoad::Command),
        Topic::Gateway(_, GatewayRoad::Outcome) => Some(DrillRoad::Outcome),
        Topic::Gateway(_, GatewayRoad::Status) => Some(DrillRoad::Status),
        Topic::Vehicle(_, VehicleRoad::Command) => Some(DrillRoad::VehicleCommand),
        Topic::Vehicle(_, VehicleRoad::Ack | VehicleRoad::Result) => Some(DrillRoad::VehicleAnswer),
        Topic::Vehicle(_, VehicleRoad::Heartbeat | VehicleRoad::Telemetry) => Some(DrillRoad::VehicleState),
        Topic::Vehicle(_, VehicleRoad::Presence) => None,
        Topic::ControlBeat(_) => Some(match reader {
            Reader::Gateway => DrillRoad::GatewayBeat,
            Reader::Vehicle | Reader::Control => DrillRoad::Beat,
        }),
    }
}

struct Tap {
    roads: Roads,
    reader: Reader,
    site: SiteId,
    dice: Rng,
    held: VecDeque<(Instant, Incoming)>,
    passed: mpsc::Sender<Incoming>,
}

impl Tap {
    /// Ends with its client or with its reader.
    async fn run(mut self, mut arriving: mpsc::Receiver<Incoming>) {
        loop {
            let due = self.held.iter().map(|(due, _)| *due).min();
            let goes_on = tokio::select! {
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.let_go().await,
                message = arriving.recv() => match message {
                    Some(message) => self.take(message).await,
                    None => false,
                },
                () = self.passed.closed() => false,
            };
            if !goes_on {
                return;
            }
        }
    }

    async fn take(&mut self, message: Incoming) -> bool {
        let fate = self.roads.fate(self.reader, &self.site, &message, &mut self.dice);
        let has_room = self.held.len() < HELD_MAX;
        match fate {
            Fate::Lost => true,
            Fate::Late if has_room => {
                self.held.push_back((Instant::now() + LATE_BY, message));
                true
            }
            Fate::Doubled if has_room => {
                self.held.push_back((Instant::now() + DOUBLED_AFTER, message.clone()));
                self.passed.send(message).await.is_ok()
            }
            Fate::Passes | Fate::Late | Fate::Doubled => self.passed.send(message).await.is_ok(),
        }
    }

    async fn let_go(&mut self) -> bool {
        let now = Instant::now();
        let held = std::mem::take(&mut self.held);
        let (due, held): (VecDeque<_>, VecDeque<_>) = held.into_iter().partition(|(due, _)| *due <= now);
        self.held = held;
        for (_, message) in due {
            if self.passed.send(message).await.is_err() {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn beat(n: u8) -> Incoming {
        let topic = "hoistway/v1/demo/control/A/beat".to_owned();
        Incoming::Message { topic, payload: Bytes::from(vec![n]) }
    }

    /// The first `n` messages that come out of a tap into which all beats go at once.
    async fn through(fault: Option<DrillFault>, n: usize) -> Vec<u8> {
        let roads = Roads::default();
        roads.set(DrillRoad::Beat, fault);
        let (tx, rx) = mpsc::channel(256);
        let mut behind = roads.tap(&SiteId::try_new("demo").unwrap(), (Reader::Vehicle, "V1"), rx);
        for n in 0..100 {
            tx.send(beat(n)).await.unwrap();
        }
        let mut seen = Vec::new();
        while seen.len() < n {
            let Some(Incoming::Message { payload, .. }) = behind.recv().await else { panic!("it ended") };
            seen.push(payload[0]);
        }
        seen
    }

    #[tokio::test(start_paused = true)]
    async fn half_of_a_road_suffers_as_the_fault_says_and_a_sound_one_does_not() {
        let all: Vec<u8> = (0..100).collect();
        let mut dice = Rng::new(1, "V1");
        let (hit, spared): (Vec<u8>, Vec<u8>) = all.iter().partition(|_| dice.within(0..=1) == 0);
        assert!((30..=70).contains(&hit.len()));
        let rows = [
            (None, all.clone()),
            (Some(DrillFault::MessagesDropped), spared.clone()),
            (Some(DrillFault::MessagesDoubled), [all.clone(), hit.clone()].concat()),
            (Some(DrillFault::MessagesDelayed), [spared, hit].concat()),
        ];
        for (fault, expected) in rows {
            assert_eq!(through(fault, expected.len()).await, expected, "{fault:?}");
        }
    }

    /// How often the store is asked, and how many answers come, of a hundred questions.
    async fn asked(fault: Option<DrillFault>) -> (usize, usize) {
        let roads = Roads::default();
        roads.set(DrillRoad::Store, fault);
        let n_asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let mut n_answered = 0;
        for _ in 0..100 {
            let answer = roads.ask_store(|| {
                let n_asked = n_asked.clone();
                async move {
                    n_asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    Ok(())
                }
            });
            n_answered += usize::from(answer.await.is_ok());
        }
        // The clock stands still and goes on when nothing else is to be done.
        tokio::time::sleep(LATE_BY * 2).await;
        (n_asked.load(std::sync::atomic::Ordering::Relaxed), n_answered)
    }

    #[tokio::test(start_paused = true)]
    async fn half_of_the_questions_to_the_lease_store_suffer() {
        let mut dice = Rng::new(1, "roads");
        let n_spared = (0..100).filter(|_| dice.within(0..=1) != 0).count();
        let mut dice = Rng::new(1, "roads");
        let (mut n_taken, mut n_answered) = (0, 0);
        for _ in 0..100 {
            let is_hit = dice.within(0..=1) == 0;
            n_answered += usize::from(!is_hit);
            n_taken += usize::from(!is_hit || dice.within(0..=1) == 0);
        }
        assert!(n_answered < n_taken && n_taken < 100, "some questions are lost, and some answers");
        let rows = [
            (None, (100, 100)),
            (Some(DrillFault::MessagesDropped), (n_taken, n_answered)),
            (Some(DrillFault::MessagesDoubled), (200 - n_spared, 100)),
            (Some(DrillFault::MessagesDelayed), (100, n_spared)),
        ];
        for (fault, expected) in rows {
            assert_eq!(asked(fault).await, expected, "{fault:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn half_of_the_proposals_to_the_ledger_are_late() {
        let roads = Roads::default();
        for (fault, are_late) in [(None, false), (Some(DrillFault::MessagesDelayed), true)] {
            roads.set(DrillRoad::Ledger, fault);
            let mut waits = Vec::new();
            for _ in 0..20 {
                let begun = Instant::now();
                roads.wait_before_ledger().await;
                waits.push(begun.elapsed());
            }
            assert_eq!(waits.iter().any(|it| *it >= LATE_BY), are_late, "{fault:?}");
            assert!(waits.contains(&Duration::ZERO), "{fault:?}");
        }
    }

    #[test]
    fn a_beat_is_on_the_road_of_who_hears_it() {
        let topic = Topic::ControlBeat(kernel::ids::NodeId::try_new("A").unwrap());
        let rows = [(Reader::Vehicle, DrillRoad::Beat), (Reader::Gateway, DrillRoad::GatewayBeat)];
        for (reader, expected) in rows {
            assert_eq!(road_of(reader, &topic), Some(expected));
        }
    }

    #[tokio::test]
    async fn a_tap_ends_with_its_client() {
        let (tx, rx) = mpsc::channel(1);
        let mut behind = Roads::default().tap(&SiteId::try_new("demo").unwrap(), (Reader::Vehicle, "V1"), rx);
        drop(tx);
        assert_eq!(behind.recv().await, None);
    }
}
