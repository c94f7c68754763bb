//! What a gateway must still know after a restart. Persisted whole, before whatever rests on it.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::ids::{CommandId, FloorId, Generation, LiftId, NodeId, TaskId};
use crate::lease::{FencingToken, LeaseNonce};
use crate::lift::{Expectation, LiftAction};
use crate::timing::EPOCH_FIRST;
use crate::wire::gateway::{Arbitration, Authority, LiftCommand, Verdict};

/// Tasks whose highest claim is kept. A task lasts minutes, so the newest ones are those that can still be commanded;
/// an older one would also fail at the vehicle, which keeps its own last claims.
pub const CLAIMS_MAX: usize = 500;
/// Outcomes kept per lift. A repeated command arrives within its validity of seconds; this covers minutes.
pub const OUTCOMES_MAX: usize = 64;

/// What a gateway must still know after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Marks {
    /// Starts of the gateway so far.
    pub boot: u64,
    /// Of each of its lifts.
    pub lifts: BTreeMap<LiftId, LiftMarks>,
    /// The highest claim of each task, the longest unused first, at most [`CLAIMS_MAX`].
    pub claims: VecDeque<(TaskId, Generation)>,
}

/// What must be known of one lift.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiftMarks {
    /// Who decides between nodes; leases, in marks that are older than edge arbitration.
    #[serde(default)]
    pub arbitration: Arbitration,
    /// Tokens of other epochs are void. Rises with each switch.
    pub epoch: u32,
    /// The highest that was admitted.
    pub token: FencingToken,
    /// Who brought it: equal tokens of another request are refused.
    pub holder: Option<(NodeId, LeaseNonce)>,
    /// The last PLC number that was given; 0 before the first.
    pub number: u16,
    /// The number of the last command that the lift was seen to take.
    #[serde(default)]
    pub shown: u16,
    /// The highest session generation.
    pub session: Generation,
    /// The command whose fate is not known yet.
    pub in_flight: Option<InFlight>,
    /// Commands that were admitted and wait, the longest waiting first; the queue bounds them. After a restart nothing
    /// is left of them but these ids: they were not sent, and are told so.
    #[serde(default)]
    pub queued: VecDeque<CommandId>,
    /// What became of the last commands, oldest first, at most [`OUTCOMES_MAX`].
    pub outcomes: VecDeque<(CommandId, Verdict)>,
}

/// A command that was, or was about to be, written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InFlight {
    /// Which.
    pub command: CommandId,
    /// Its PLC number.
    pub number: u16,
    /// Boot counter of the PLC before the write: another one makes the echo worthless.
    pub plc_boot: u16,
    /// What the PLC showed before the write.
    pub expects: Expectation,
    /// What was asked; none in marks that are older than PLCs without echo.
    #[serde(default)]
    pub aim: Option<Aim>,
    /// The PLC has confirmed the write. Kept for one without echo alone: there it says that the command may be in force
    /// although nothing shows, as when a door is stuck.
    #[serde(default)]
    pub confirmed: bool,
}

/// What was asked of a lift.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Aim {
    /// What to do.
    pub action: LiftAction,
    /// Where.
    pub floor: FloorId,
}

impl Default for LiftMarks {
    fn default() -> Self {
        Self {
            arbitration: Arbitration::Lease,
            epoch: EPOCH_FIRST,
            token: FencingToken::default(),
            holder: None,
            number: 0,
            shown: 0,
            session: Generation::default(),
            in_flight: None,
            queued: VecDeque::new(),
            outcomes: VecDeque::new(),
        }
    }
}

impl LiftMarks {
    /// What became of a command, if it is remembered.
    pub fn outcome(&self, id: &CommandId) -> Option<Verdict> {
        self.outcomes.iter().find(|(known, _)| known == id).map(|(_, verdict)| verdict.clone())
    }

    pub(super) fn remember(&mut self, id: &CommandId, verdict: &Verdict) {
        self.outcomes.push_back((id.clone(), verdict.clone()));
        while self.outcomes.len() > OUTCOMES_MAX {
            self.outcomes.pop_front();
        }
    }

    /// A command does not wait any more. True when it did.
    pub(super) fn unqueue(&mut self, id: &CommandId) -> bool {
        let waits = self.queued.iter().position(|it| it == id);
        waits.and_then(|idx| self.queued.remove(idx)).is_some()
    }

    /// Under another arbitration from now on, or under the same one begun anew.
    pub(super) fn switch(&mut self, arbitration: Arbitration) {
        self.arbitration = arbitration;
        self.epoch = self.epoch.saturating_add(1);
    }

    /// Raises the marks to those of an admitted command; one that brings no rank is given the next.
    pub(super) fn adopt(&mut self, command: &LiftCommand) {
        match command.authority {
            Authority::Lease { token, nonce } => {
                self.token = self.token.max(token);
                self.holder = Some((command.holder.clone(), nonce));
            }
            Authority::Edge { epoch } => {
                let first = self.token.max(FencingToken { epoch, serial: 0 });
                self.token = FencingToken { serial: first.serial + 1, ..first };
                self.holder = None;
            }
        }
        self.session = self.session.max(command.session.generation);
    }
}

impl Marks {
    /// At a start: what waited was not sent, and never will be. A command is replayed by nobody: what it was decided on
    /// is gone.
    pub(super) fn give_up_queued(&mut self) -> Vec<(LiftId, CommandId)> {
        let mut given_up = Vec::new();
        for (lift, kept) in &mut self.lifts {
            for id in std::mem::take(&mut kept.queued) {
                kept.remember(&id, &Verdict::NotSent);
                given_up.push((lift.clone(), id));
            }
        }
        given_up
    }

    /// The highest claim that was seen of a task.
    pub fn claim_of(&self, task: &TaskId) -> Option<Generation> {
        highest_claim(&self.claims, task)
    }

    /// Keeps a claim; true when it was not known or is higher.
    pub(super) fn adopt_claim(&mut self, task: &TaskId, claim: Generation) -> bool {
        let known = self.claims.iter().position(|(id, _)| id == task).and_then(|idx| self.claims.remove(idx));
        let before = known.map(|(_, generation)| generation);
        self.claims.push_back((task.clone(), before.map_or(claim, |it| it.max(claim))));
        while self.claims.len() > CLAIMS_MAX {
            self.claims.pop_front();
        }
        before.is_none_or(|it| claim > it)
    }
}

pub(super) fn highest_claim(claims: &VecDeque<(TaskId, Generation)>, task: &TaskId) -> Option<Generation> {
    claims.iter().rev().find(|(id, _)| id == task).map(|(_, generation)| *generation)
}
