//! The lease store on Redis: its scripts, and what their answers mean.
//!
//! Each step is one script, so it happens as a whole or not at all; the table of one process does the same in Rust.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;

use kernel::ids::{LiftId, NodeId};
use kernel::lease::{
    FencingToken, LeaseAnswer, LeaseNonce, LeaseRefusal, LeaseRequest, LeaseTiming, WAITERS_MAX,
};
use kernel::time::Millis;
use redis::{Script, ScriptInvocation};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::link::Link;
use super::url::RedisUrl;
use super::wakes::{Ear, Wakes, lease_key, name_of};

/// Leases that several nodes share. Clones are the same client.
#[derive(Clone)]
pub struct Redis {
    inner: Arc<Inner>,
}

struct Inner {
    link: Arc<Link>,
    timing: LeaseTiming,
    scripts: Scripts,
    wakes: Wakes,
    /// Where wake-ups for this process are published.
    channel: String,
    _ends: DropGuard,
}

struct Scripts {
    acquire: Script,
    renew: Script,
    release: Script,
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redis({})", self.inner.link.shown())
    }
}

impl Redis {
    pub(super) fn new(url: &RedisUrl, timing: LeaseTiming, answer_max: Millis) -> anyhow::Result<Self> {
        let link = Arc::new(Link::new(url.client()?, answer_max));
        let wakes = Wakes::default();
        let ends = CancellationToken::new();
        // A number that no other process has: the standard library keys its tables by chance.
        let channel = format!("agv:lift:control:granted:{:016x}", RandomState::new().build_hasher().finish());
        tokio::spawn(ends.clone().run_until_cancelled_owned(Arc::clone(&link).watch()));
        let hear = Arc::clone(&link).hear(channel.clone(), wakes.clone());
        tokio::spawn(ends.clone().run_until_cancelled_owned(hear));
        let inner = Inner { link, timing, scripts: Scripts::new(), wakes, channel, _ends: ends.drop_guard() };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub(super) fn timing(&self) -> LeaseTiming {
        self.inner.timing
    }

    pub(super) fn listen(&self, request: &LeaseRequest) -> Ear {
        self.inner.wakes.listen(name_of(&request.lift, &request.holder, request.nonce))
    }

    pub(super) fn is_away(&self) -> bool {
        !self.inner.link.is_reached()
    }

    pub(super) async fn ask(&self, request: &LeaseRequest, stays: bool) -> Result<LeaseAnswer, LeaseRefusal> {
        let LeaseRequest { lift, holder, nonce, epoch, floor } = request;
        let mut call = self.call(&self.inner.scripts.acquire, lift, holder, *nonce);
        call.arg(*epoch).arg(*floor).arg(&self.inner.channel).arg(WAITERS_MAX).arg(u8::from(stays));
        let (how, who, number, left) = self.inner.link.ask::<(String, String, u64, i64)>(&call).await?;
        read_answer(&how, &who, number, left).ok_or_else(|| {
            tracing::error!(%lift, how, who, number, "the lease store holds what Hoistway did not put there");
            LeaseRefusal::StoreDown
        })
    }

    pub(super) async fn renew(
        &self,
        lift: &LiftId,
        (holder, nonce): (&NodeId, LeaseNonce),
        token: FencingToken,
    ) -> Result<Millis, LeaseRefusal> {
        let mut call = self.call(&self.inner.scripts.renew, lift, holder, nonce);
        call.arg(token.serial);
        let (how, left) = self.inner.link.ask::<(String, i64)>(&call).await?;
        match how.as_str() {
            "renewed" => Ok(millis(left)),
            "too_long" => Err(LeaseRefusal::HeldTooLong),
            _ => Err(LeaseRefusal::Lost),
        }
    }

    pub(super) async fn release(
        &self,
        lift: &LiftId,
        (holder, nonce): (&NodeId, LeaseNonce),
        token: FencingToken,
    ) -> Result<(), LeaseRefusal> {
        let mut call = self.call(&self.inner.scripts.release, lift, holder, nonce);
        call.arg(token.serial);
        if self.inner.link.ask_once(&call).await? { Ok(()) } else { Err(LeaseRefusal::Lost) }
    }

    /// A call with what every script takes.
    fn call<'a>(
        &self,
        script: &'a Script,
        lift: &LiftId,
        holder: &NodeId,
        nonce: LeaseNonce,
    ) -> ScriptInvocation<'a> {
        let key = lease_key(lift.as_str());
        let mut call = script.prepare_invoke();
        for suffix in ["", ":line", ":wants", ":serial", ":tickets"] {
            call.key(format!("{key}{suffix}"));
        }
        call.arg(holder.as_str()).arg(nonce.0);
        let LeaseTiming { ttl, hold_max, claim, ticket, .. } = self.inner.timing;
        for span in [ttl, hold_max, claim, self.inner.timing.alive(), ticket] {
            call.arg(span.0);
        }
        call
    }
}

impl Scripts {
    fn new() -> Self {
        let script = |own: &str| Script::new(&format!("{}\n{own}", include_str!("scripts/common.lua")));
        Self {
            acquire: script(include_str!("scripts/acquire.lua")),
            renew: script(include_str!("scripts/renew.lua")),
            release: script(include_str!("scripts/release.lua")),
        }
    }
}

/// What the script for acquiring says: its word; the epoch or the holder; the serial or the place; the time left.
fn read_answer(how: &str, who: &str, number: u64, left: i64) -> Option<LeaseAnswer> {
    let left = millis(left);
    if how == "granted" {
        let token = FencingToken { epoch: who.parse().ok()?, serial: number };
        return Some(LeaseAnswer::Granted { token, left });
    }
    let (holder, position) = (NodeId::try_new(who).ok()?, u32::try_from(number).ok()?);
    match how {
        "waits" => Some(LeaseAnswer::Waits { holder, position, left }),
        "refused" => Some(LeaseAnswer::Refused { holder, position }),
        _ => None,
    }
}

/// Redis says -1 or -2 of what has no end or is not there.
fn millis(left: i64) -> Millis {
    Millis(u64::try_from(left).unwrap_or(0))
}
