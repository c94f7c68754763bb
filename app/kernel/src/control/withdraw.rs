//! Orders that are taken back.
//!
//! At once as long as its load stands where it stood: a vehicle that is on its way to it finishes what it was told and is
//! free then, and its place before a lift goes to the next. During a ride, which needs a living task to its end, the
//! wish alone is recorded: whoever has the task withdraws it when the vehicle is out, before anything else. Not any
//! more once a command has left that ends in taking the load up: a vehicle cannot be called back, so where the load is
//! would be unknown.

use crate::ids::{OrderId, TaskId};
use crate::safeguard::Safeguard;
use crate::task::{TaskEvent, TaskState};
use crate::time::{Millis, Mono, Now};
use crate::timing::FOLLOW_POLL;
use crate::wire::ledger::{Record, SessionPhase};
use crate::wire::rest::WithdrawalRefusal;
use crate::wire::vehicle::{Instruction, Operation};

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
        let records = match stands(task) {
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
}

fn stands(task: &TaskBook) -> Result<Stands, WithdrawalRefusal> {
    let takes_up = |instruction: &Instruction| match instruction {
        Instruction::Drive { then: Operation::Pick { .. }, .. } => true,
        Instruction::Drive { then: Operation::Stand | Operation::Drop { .. }, .. }
        | Instruction::Ride { .. }
        | Instruction::OpenLink => false,
    };
    match &task.state {
        TaskState::Withdrawn { .. } => Ok(Stands::Withdrawn),
        TaskState::Completed | TaskState::Failed { .. } => {
            Err(WithdrawalRefusal::Over { order: task.order.id.clone(), state: task.state.name() })
        }
        TaskState::Created
        | TaskState::Issued { .. }
        | TaskState::Acknowledged { .. }
        | TaskState::Executing { .. }
        | TaskState::Suspended { .. } => {
            let order = || task.order.id.clone();
            match task.under_way().map(|it| &it.instruction) {
                _ if task.picked => Err(WithdrawalRefusal::LoadOnItsWay(order())),
                Some(it) if takes_up(it) => Err(WithdrawalRefusal::LoadOnItsWay(order())),
                _ if task.withdrawal_asked => Ok(Stands::Asked),
                Some(Instruction::Ride { .. }) => Ok(Stands::Rides),
                Some(Instruction::Drive { .. } | Instruction::OpenLink) | None => Ok(Stands::Withdrawable),
            }
        }
    }
}
