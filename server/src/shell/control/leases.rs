//! What the machine asks of the lease store: each question on a task of its own, its answer back as an event.

use kernel::control::Event;
use kernel::ids::LiftId;
use kernel::lease::{CallRequest, FencingToken, LeaseNonce, SettledCall};

use super::Running;

impl Running {
    pub(super) fn acquire_lease(&self, lift: LiftId, nonce: LeaseNonce, epoch: u32, floor: u64) {
        let (leases, node, events) = (self.leases.clone(), self.node.clone(), self.events.clone());
        self.tasks.spawn(async move {
            let answer = leases.acquire(&lift, &node, nonce, epoch, floor).await;
            let event = match answer {
                Ok(lease) => Event::LeaseGranted { nonce, lease },
                Err(reason) => Event::LeaseRefused { nonce, lift, reason },
            };
            // The loop has ended: the lease ends by itself.
            let _ = events.send(event).await;
        });
    }

    pub(super) fn open_call(&self, request: CallRequest) {
        let (leases, node, events) = (self.leases.clone(), self.node.clone(), self.events.clone());
        self.tasks.spawn(async move {
            let answer = leases.open_call(&node, &request).await;
            let CallRequest { lift, command, .. } = request;
            // The loop has ended: nothing is sent.
            let _ = events.send(Event::CallAnswered { lift, command, answer }).await;
        });
    }

    pub(super) fn settle_call(&self, lift: LiftId, settled: SettledCall) {
        let leases = self.leases.clone();
        self.tasks.spawn(async move {
            // Whoever wants the same finds out by itself then.
            if let Err(refusal) = leases.settle_call(&lift, &settled).await {
                tracing::debug!(%lift, "a call was not settled: {refusal}");
            }
        });
    }

    pub(super) fn release_lease(
        &self,
        lift: LiftId,
        nonce: LeaseNonce,
        token: FencingToken,
        settled: Option<SettledCall>,
    ) {
        let (leases, node) = (self.leases.clone(), self.node.clone());
        self.tasks.spawn(async move {
            // It ends by itself then, and the next request of this node does not wait for that.
            if let Err(refusal) = leases.release(&lift, &node, nonce, token, settled.as_ref()).await {
                tracing::debug!(%lift, "a lease was not given back: {refusal}");
            }
        });
    }
}
