//! What a task promises (C1, C7), as short as it can be said: of its newest command only the farthest word counts, and
//! a suspension forgets all words but that the command left.

use kernel::ids::CommandId;
use kernel::task::{ResumePoint, SuspendCause, TaskState};

use crate::fixture;

/// How far a command is known to be. A later word implies the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Word {
    Sent,
    Acknowledged,
    Started,
    Done,
}

/// What a command is for. The drop is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Stand,
    Pick,
    Drop,
}

/// One task of the model.
#[derive(Clone, Debug)]
pub(super) struct Task {
    nth: usize,
    /// What its commands were for, the newest last.
    pub(super) works: Vec<Work>,
    /// Of the newest command.
    word: Word,
    attempt: u8,
    suspended: Option<SuspendCause>,
    ended: Option<TaskState>,
    pub(super) steps: u32,
    pub(super) picked: bool,
}

pub(super) const REASON: &str = "fork jammed";

impl Task {
    pub(super) fn new(nth: usize) -> Self {
        Self {
            nth,
            works: Vec::new(),
            word: Word::Done,
            attempt: 1,
            suspended: None,
            ended: None,
            steps: 0,
            picked: false,
        }
    }

    /// Name of one of its commands, from 0.
    pub(super) fn command(&self, nth: usize) -> CommandId {
        fixture::command_id(&format!("T-{}.{nth}", self.nth))
    }

    fn newest(&self) -> Option<usize> {
        self.works.len().checked_sub(1)
    }

    /// The command that left and is not done.
    fn under_way(&self) -> Option<usize> {
        self.newest().filter(|_| self.word < Word::Done && self.ended.is_none())
    }

    /// Whether a new command may leave; none leaves while one is under way.
    pub(super) fn issue(&mut self, work: Work) -> bool {
        if self.ended.is_some() || self.under_way().is_some() {
            return false;
        }
        self.works.push(work);
        (self.word, self.attempt, self.suspended) = (Word::Sent, 1, None);
        true
    }

    /// It is delivered again only while nothing is known of it but that it left.
    pub(super) fn redeliver(&mut self, command: &CommandId, attempt: u8) -> bool {
        let ours = self.under_way().is_some_and(|nth| self.command(nth) == *command);
        if !ours || self.word != Word::Sent {
            return false;
        }
        (self.attempt, self.suspended) = (attempt, None);
        true
    }

    /// A word about the command under way that goes farther than what is known; any other changes nothing.
    pub(super) fn report(&mut self, command: &CommandId, word: Word) -> bool {
        let Some(nth) = self.under_way().filter(|nth| self.command(*nth) == *command && word > self.word)
        else {
            return false;
        };
        (self.word, self.suspended) = (word, None);
        if word == Word::Done {
            self.steps += 1;
            self.picked |= self.works.get(nth) == Some(&Work::Pick);
            self.ended = (self.works.get(nth) == Some(&Work::Drop)).then_some(TaskState::Completed);
        }
        true
    }

    /// The resume point stays what it was, whatever the cause.
    pub(super) fn suspend(&mut self, cause: SuspendCause) -> bool {
        if self.ended.is_some() {
            return false;
        }
        if self.under_way().is_some() && self.word > Word::Sent {
            (self.word, self.attempt) = (Word::Sent, 1);
        }
        self.suspended = Some(cause);
        true
    }

    pub(super) fn fail(&mut self) -> bool {
        let may = self.ended.is_none() && !self.is_created();
        if may {
            self.ended = Some(TaskState::Failed { reason: REASON.to_owned() });
        }
        may
    }

    pub(super) fn withdraw(&mut self) -> bool {
        let may = self.ended.is_none();
        if may {
            self.ended = Some(TaskState::Withdrawn { reason: REASON.to_owned() });
        }
        may
    }

    fn is_created(&self) -> bool {
        self.works.is_empty() && self.suspended.is_none() && self.ended.is_none()
    }

    /// The one thing that the ledger would take and control never does: the next command while one is being executed.
    pub(super) fn is_executing(&self) -> bool {
        self.under_way().is_some() && self.word == Word::Started && self.suspended.is_none()
    }

    /// From where it would go on.
    pub(super) fn resume_point(&self) -> ResumePoint {
        let attempt = if self.word == Word::Sent { self.attempt } else { 1 };
        self.under_way().map_or(ResumePoint::NextCommand, |nth| ResumePoint::Command {
            command: self.command(nth),
            attempt,
        })
    }

    pub(super) fn state(&self) -> TaskState {
        if let Some(ended) = &self.ended {
            return ended.clone();
        }
        if let Some(cause) = &self.suspended {
            return TaskState::Suspended { cause: cause.clone(), resume: self.resume_point() };
        }
        let Some(newest) = self.newest() else { return TaskState::Created };
        let command = self.command(newest);
        match self.word {
            Word::Sent => TaskState::Issued { command, attempt: self.attempt },
            Word::Acknowledged => TaskState::Acknowledged { command },
            Word::Started | Word::Done => TaskState::Executing { command },
        }
    }
}
