//! What the machine asks of the lease store: each question on a task of its own, its answer back as an event.

use kernel::control::Event;
use kernel::ids::LiftId;
use kernel::lease::{
    CallRequest, FencingToken, HeldLease, LeaseNonce, LeaseRefusal, LeaseRequest, SettledCall,
};

use super::Running;
use crate::lease::LeaseStore;

impl Running {
    pub(super) fn acquire_lease(&self, request: LeaseRequest) {
        let (lift, nonce) = (request.lift.clone(), request.nonce);
        let answer = self.ask_store(request, |leases, request| async move { leases.acquire(&request).await });
        let events = self.events.clone();
        self.tasks.spawn(async move {
            let event = match answer.await {
                Ok(lease) => Event::LeaseGranted { nonce, lease },
                Err(reason) => Event::LeaseRefused { nonce, lift, reason },
            };
            // The loop has ended: the lease ends by itself.
            let _ = events.send(event).await;
        });
    }

    pub(super) fn renew_lease(&self, lease: HeldLease) {
        let (lift, nonce) = (lease.lift().clone(), lease.nonce());
        let asked = (lease, self.node.clone());
        let answer =
            self.ask_store(asked, |leases, (lease, node)| async move { leases.renew(&lease, &node).await });
        let events = self.events.clone();
        self.tasks.spawn(async move {
            let event = match answer.await {
                Ok(lease) => Event::LeaseRenewed(lease),
                Err(reason) => {
                    tracing::debug!(%lift, "a lease was not renewed: {reason}");
                    Event::RenewalRefused { lift, nonce, reason }
                }
            };
            // The loop has ended: the lease ends by itself.
            let _ = events.send(event).await;
        });
    }

    pub(super) fn open_call(&self, request: CallRequest) {
        let asked = (request.clone(), self.node.clone());
        let answer = self.ask_store(asked, |leases, (request, node)| async move {
            leases.open_call(&node, &request).await
        });
        let events = self.events.clone();
        self.tasks.spawn(async move {
            let answer = answer.await;
            let CallRequest { lift, command, .. } = request;
            // The loop has ended: nothing is sent.
            let _ = events.send(Event::CallAnswered { lift, command, answer }).await;
        });
    }

    pub(super) fn settle_call(&self, lift: LiftId, settled: SettledCall) {
        let asked = (lift.clone(), settled);
        let answer = self.ask_store(asked, |leases, (lift, settled)| async move {
            leases.settle_call(&lift, &settled).await
        });
        self.tasks.spawn(async move {
            // Whoever wants the same finds out by itself then.
            if let Err(refusal) = answer.await {
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
        let asked = (lift.clone(), self.node.clone(), settled);
        let answer = self.ask_store(asked, move |leases, (lift, node, settled)| async move {
            leases.release(&lift, &node, nonce, token, settled.as_ref()).await
        });
        self.tasks.spawn(async move {
            // It ends by itself then, and the next request of this node does not wait for that.
            if let Err(refusal) = answer.await {
                tracing::debug!(%lift, "a lease was not given back: {refusal}");
            }
        });
    }

    /// In a drill run the way there may suffer.
    fn ask_store<A, T, F>(
        &self,
        asked: A,
        question: impl Fn(LeaseStore, A) -> F + Send + Sync + 'static,
    ) -> impl Future<Output = Result<T, LeaseRefusal>> + Send + 'static
    where
        A: Clone + Send + Sync + 'static,
        T: Send + 'static,
        F: Future<Output = Result<T, LeaseRefusal>> + Send + 'static,
    {
        let leases = self.leases.clone();
        let roads = self.levers.as_ref().map(|it| it.roads.clone());
        async move {
            match roads {
                Some(roads) => roads.ask_store(|| question(leases.clone(), asked.clone())).await,
                None => question(leases, asked).await,
            }
        }
    }
}
