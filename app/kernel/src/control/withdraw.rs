//! Orders that are taken back.
//!
//! At once as long as its load stands where it stood: a vehicle that is on its way to it finishes what it was told and is
//! free then, and its place before a lift goes to the next. During a ride, which needs a living task to its end, the
//! wish alone is recorded: whoever has the task withdraws it when the vehicle is out, before anything else. A
//! ride that the vehicle refused or never acknowledged it has not entered, if it stands away from the lift; else a person
//! decides. Not any more once a command has left that ends in taking the load up: a vehicle cannot be called back, so where the load is
//! would be unknown.

use crate::ids::{OrderId, TaskId};
use crate::safeguard::Safeguard;
use crate::task::{SuspendCause, TaskEvent, TaskState};
use crate::time::{Millis, Mono, Now};
use crate::timing::FOLLOW_POLL;
use crate::wire::ledger::{Record, SessionPhase};
use crate::wire::rest::WithdrawalRefusal;
use crate::wire::vehicle::{Instruction, Operation, VehicleCommand};

use super::book::TaskBook;
use super::nodes::Leaving;
use super::{Control, Effect, Lock, RequestId, TakenBack};

/// A withdrawal is tried so long, past what is in flight about its task: less than a request waits.
const WITHDRAWAL_MAX: Millis = Millis::seconds(5);
/// What another node accepted is known here by then: the poll of the ledger, and again.
const FOLLOWED_BY: Millis = FOLLOW_POLL.times(4);
/// What the ledger and the screen say of it.
const REASON: &str = "taken back by who placed it";

/// One that waits for the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Withdrawal {
    request: RequestId,
    order: OrderId,
    since: Mono,
}

/// How a task stands to being withdrawn.
enum Stands {
    Withdrawn,
    Withdrawable,
    /// Its vehicle is in a lift, or was told to enter; the load is not aboard.
    Rides,
    /// So it was when its withdrawal was asked for.
    Asked,
}

impl Control {
    pub(super) fn withdraw_requested(&mut self, request: RequestId, order: &OrderId, now: Now) {
        self.withdrawals.push(Withdrawal { request, order: order.clone(), since: now.mono });
    }

    /// Proposes each until the ledger has it, it is refused, or its time is over.
    pub(super) fn drive_withdrawals(&mut self, now: Now) {
        for withdrawal in std::mem::take(&mut self.withdrawals) {
            match self.drive_withdrawal(&withdrawal, now) {
                Some(answer) => {
                    let request = withdrawal.request;
                    self.effects.push_back(Effect::AnswerWithdrawal { request, answer });
                }
                None => self.withdrawals.push(withdrawal),
            }
        }
    }

    /// The answer, if it is known.
    fn drive_withdrawal(
        &mut self,
        withdrawal: &Withdrawal,
        now: Now,
    ) -> Option<Result<TakenBack, WithdrawalRefusal>> {
        let waited = now.mono.since(withdrawal.since);
        let Some((id, task)) = self.book.tasks.iter().find(|(_, it)| it.order.id == withdrawal.order) else {
            // Another node may have accepted it a moment ago.
            let unknown = WithdrawalRefusal::Unknown(withdrawal.order.clone());
            return (waited >= FOLLOWED_BY).then_some(Err(unknown));
        };
        let id = id.clone();
        let records = match self.stands(task, now) {
            Err(refusal) => return Some(Err(refusal)),
            Ok(Stands::Withdrawn) => return Some(Ok(TakenBack::Withdrawn(id))),
            Ok(Stands::Asked) => return Some(Ok(TakenBack::Asked(id))),
            Ok(Stands::Withdrawable) => self.withdrawal_records(&id, task),
            Ok(Stands::Rides) => vec![Record::WithdrawalAsked { task: id.clone() }],
        };
        let lock = Lock::Task(id);
        // While a commit about it is under way nobody can say that it is not stored. A node that leaves waits for it too.
        if self.is_locked(&lock) {
            return None;
        }
        let unavailable = |text: &str| Some(Err(WithdrawalRefusal::LedgerUnavailable(text.to_owned())));
        if self.leaving != Leaving::No || self.run == 0 {
            return unavailable("this node is starting or stopping; ask again, or another one");
        }
        if waited >= WITHDRAWAL_MAX {
            return unavailable("it did not take the withdrawal; try again");
        }
        self.propose(now, vec![lock], records);
        None
    }

    /// The claim rises with it, so that whatever its node proposes of the task from now on is refused; and it rests on
    /// every command and every place in a line of the task, so that it is refused itself if there is one that this node has
    /// not heard of.
    pub(super) fn withdrawal_records(&self, id: &TaskId, task: &TaskBook) -> Vec<Record> {
        let mut records = vec![Record::TaskClaimed { task: id.clone(), generation: task.claim.next() }];
        let leaves = self.safeguards.holds(Safeguard::LivingTask);
        let queued = self.book.session_for(id).filter(|it| leaves && !it.holds_lift());
        records.extend(queued.map(|it| Record::SessionChanged {
            session: it.id.clone(),
            phase: SessionPhase::Released,
            generation: it.generation,
            lift: it.lift.clone(),
        }));
        let event = TaskEvent::Withdrawn { reason: REASON.to_owned() };
        records.push(Record::TaskChanged { task: id.clone(), event });
        records
    }

    fn stands(&self, task: &TaskBook, now: Now) -> Result<Stands, WithdrawalRefusal> {
        match &task.state {
            TaskState::Withdrawn { .. } => Ok(Stands::Withdrawn),
            TaskState::Completed | TaskState::Failed { .. } => {
                Err(WithdrawalRefusal::Over { order: task.order.id.clone(), state: task.state.name() })
            }
            TaskState::Created
            | TaskState::Issued { .. }
            | TaskState::Acknowledged { .. }
            | TaskState::Executing { .. }
            | TaskState::Suspended { .. } => self.stands_open(task, now),
        }
    }

    fn stands_open(&self, task: &TaskBook, now: Now) -> Result<Stands, WithdrawalRefusal> {
        let order = || task.order.id.clone();
        match task.under_way() {
            _ if task.picked => Err(WithdrawalRefusal::LoadOnItsWay(order())),
            Some(it) if takes_up(&it.instruction) => Err(WithdrawalRefusal::LoadOnItsWay(order())),
            Some(it) if self.never_boarded(task, it, now) => Ok(Stands::Withdrawable),
            _ if task.withdrawal_asked => Ok(Stands::Asked),
            Some(it) => match &it.instruction {
                Instruction::Ride { .. } if is_given_up(task) => Err(WithdrawalRefusal::NeedsPerson(order())),
                Instruction::Ride { .. } => Ok(Stands::Rides),
                Instruction::Drive { .. } | Instruction::OpenLink => Ok(Stands::Withdrawable),
            },
            None => Ok(Stands::Withdrawable),
        }
    }

    /// It was asked for, and its vehicle is out of the lift, or has never entered it.
    pub(super) fn wish_is_due(&self, task: &TaskBook, now: Now) -> bool {
        task.withdrawal_asked
            && self.safeguards.holds(Safeguard::AskedWithdrawal)
            && task.under_way().is_none_or(|it| self.never_boarded(task, it, now))
    }

    /// A ride that is given up, of which its vehicle knows nothing, and which it will not begin: it gives a repeat of what it
    /// refused the same answer, and what it never acknowledged is older than a command is valid.
    fn never_boarded(&self, task: &TaskBook, ride: &VehicleCommand, now: Now) -> bool {
        let Instruction::Ride { lift, from, .. } = &ride.instruction else { return false };
        let ear = self.vehicles.get(&ride.vehicle);
        let knows = ear
            .and_then(|it| it.steady(now))
            .is_none_or(|it| it.command.as_ref() == Some(&ride.id) || it.completions.contains(&ride.id));
        is_given_up(task) && !knows && self.is_away(&ride.vehicle, lift, from, now)
    }
}

/// It was refused, or not acknowledged so often that nobody sends it again.
fn is_given_up(task: &TaskBook) -> bool {
    matches!(task.state, TaskState::Suspended { cause: SuspendCause::Fault | SuspendCause::Person, .. })
}

fn takes_up(instruction: &Instruction) -> bool {
    match instruction {
        Instruction::Drive { then: Operation::Pick { .. }, .. } => true,
        Instruction::Drive { then: Operation::Stand | Operation::Drop { .. }, .. }
        | Instruction::Ride { .. }
        | Instruction::OpenLink => false,
    }
}
