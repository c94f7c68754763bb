//! The shell around the machines: it performs effects and turns replies into events.
//!
//! Whoever wants something of the control node asks through a [`ControlHandle`]: a bounded mailbox and an answer
//! that comes within a bound.

pub mod control;
pub mod gateway;

use std::time::Duration;

use kernel::control::{Accepted, Event, TakenBack};
use kernel::drill::{Drill, DrillEnd};
use kernel::ids::{DrillId, OrderId};
use kernel::wire::rest::{OrderRefusal, PlaceOrder, WithdrawalRefusal};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

/// Requests that wait for the control loop. An order is decided in well under a millisecond and stored with its
/// neighbors, so a full mailbox means that the loop or the disk hangs; more waiting would only hide it.
pub const CONTROL_MAILBOX_MAX: usize = 256;

/// So long a request waits for its answer. A group commit on a slow disk takes tens of milliseconds; a ledger that
/// hangs says so after ten seconds, and its answer is worth more than none.
pub const CONTROL_ANSWER_DEADLINE: Duration = Duration::from_secs(12);

/// What the control loop is asked.
#[derive(Debug)]
pub enum ControlRequest {
    /// A WMS places an order.
    PlaceOrder {
        /// What is asked.
        order: PlaceOrder,
        /// From the request's header.
        idempotency_key: String,
        /// SHA-256 of the canonical body, in hexadecimal.
        fingerprint: String,
        /// Answered once the order is durable, or refused. Nobody may listen any more.
        reply: oneshot::Sender<Result<Accepted, OrderRefusal>>,
    },
    /// Somebody takes an order back.
    WithdrawOrder {
        /// Which.
        order: OrderId,
        /// Answered once the withdrawal, or the wish for it, is durable, or refused. Nobody may listen any more.
        reply: oneshot::Sender<Result<TakenBack, WithdrawalRefusal>>,
    },
    /// Something is to be recorded of drills. What came of it is shown.
    Drill(DrillNote),
}

/// What a control node is told of drills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrillNote {
    /// One is about to begin.
    Began(Drill),
    /// One is over.
    Over {
        /// Which.
        drill: DrillId,
        /// Why.
        end: DrillEnd,
    },
    /// These stand, and no other.
    Standing(Vec<DrillId>),
}

impl DrillNote {
    /// As the machine takes it.
    pub fn into_event(self) -> Event {
        match self {
            Self::Began(drill) => Event::DrillBegan(drill),
            Self::Over { drill, end } => Event::DrillOver { drill, end },
            Self::Standing(drills) => Event::DrillsStand(drills),
        }
    }
}

/// Why the control loop did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ControlUnavailable {
    /// The mailbox is full; the request was not taken.
    #[error("{CONTROL_MAILBOX_MAX} requests wait already")]
    Busy,
    /// The loop has ended; the request was not taken.
    #[error("the control loop has ended")]
    Stopped,
    /// The request was taken and not answered, in time or at all: it may still be carried out.
    #[error("no answer came within {} s", CONTROL_ANSWER_DEADLINE.as_secs())]
    NoAnswer,
}

/// The way to the control loop. Clones share one mailbox.
#[derive(Clone, Debug)]
pub struct ControlHandle {
    mailbox: mpsc::Sender<ControlRequest>,
}

impl ControlHandle {
    /// A handle, and the mailbox for the loop: [`CONTROL_MAILBOX_MAX`] requests, more are turned away.
    pub fn new() -> (Self, mpsc::Receiver<ControlRequest>) {
        let (mailbox, requests) = mpsc::channel(CONTROL_MAILBOX_MAX);
        (Self { mailbox }, requests)
    }

    /// Places an order and waits until it is durable or refused.
    ///
    /// # Errors
    /// The loop is busy, has ended, or gave no answer within [`CONTROL_ANSWER_DEADLINE`].
    pub async fn place_order(
        &self,
        order: PlaceOrder,
        idempotency_key: String,
        fingerprint: String,
    ) -> Result<Result<Accepted, OrderRefusal>, ControlUnavailable> {
        let (reply, answer) = oneshot::channel();
        let request = ControlRequest::PlaceOrder { order, idempotency_key, fingerprint, reply };
        self.send(request)?;
        match tokio::time::timeout(CONTROL_ANSWER_DEADLINE, answer).await {
            Ok(Ok(decided)) => Ok(decided),
            Ok(Err(_)) | Err(_) => Err(ControlUnavailable::NoAnswer),
        }
    }

    /// Takes an order back and waits until that is durable or refused.
    ///
    /// # Errors
    /// As for [`ControlHandle::place_order`].
    pub async fn withdraw_order(
        &self,
        order: OrderId,
    ) -> Result<Result<TakenBack, WithdrawalRefusal>, ControlUnavailable> {
        let (reply, answer) = oneshot::channel();
        self.send(ControlRequest::WithdrawOrder { order, reply })?;
        match tokio::time::timeout(CONTROL_ANSWER_DEADLINE, answer).await {
            Ok(Ok(decided)) => Ok(decided),
            Ok(Err(_)) | Err(_) => Err(ControlUnavailable::NoAnswer),
        }
    }

    /// Tells something of drills. It may be told again.
    ///
    /// # Errors
    /// The loop is busy or has ended: it was not told.
    pub fn note_drill(&self, note: DrillNote) -> Result<(), ControlUnavailable> {
        self.send(ControlRequest::Drill(note))
    }

    fn send(&self, request: ControlRequest) -> Result<(), ControlUnavailable> {
        self.mailbox.try_send(request).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => ControlUnavailable::Busy,
            mpsc::error::TrySendError::Closed(_) => ControlUnavailable::Stopped,
        })
    }

    /// The loop has ended, so that every request would be turned away.
    pub fn is_stopped(&self) -> bool {
        self.mailbox.is_closed()
    }
}
