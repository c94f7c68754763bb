//! The lease store on Redis: its scripts, and what their answers mean.
//!
//! Each step is one script, so it happens as a whole or not at all; the table of one process does the same in Rust.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;

use kernel::ids::{CommandId, LiftId, NodeId};
use kernel::lease::{
    Call, CallAnswer, CallOutcome, CallRequest, FencingToken, LeaseAnswer, LeaseNonce, LeaseRefusal,
    LeaseRequest, LeaseTiming, SettledCall, WAITERS_MAX,
};
use kernel::lift::LiftAction;
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
    open: Script,
    settle: Script,
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
        settled: Option<&SettledCall>,
    ) -> Result<(), LeaseRefusal> {
        let mut call = self.call(&self.inner.scripts.release, lift, holder, nonce);
        call.key(last_key(lift)).arg(token.serial);
        match settled {
            Some(settled) => self.add_settled(&mut call, settled),
            None => drop(call.arg("")),
        }
        if self.inner.link.ask_once(&call).await? { Ok(()) } else { Err(LeaseRefusal::Lost) }
    }

    pub(super) async fn open_call(
        &self,
        holder: &NodeId,
        request: &CallRequest,
    ) -> Result<CallAnswer, LeaseRefusal> {
        let CallRequest { lift, nonce, token, call: what, command, accepted } = request;
        let LeaseTiming { outcome, record, .. } = self.inner.timing;
        let mut call = self.call(&self.inner.scripts.open, lift, holder, *nonce);
        call.key(last_key(lift)).key(record_key(lift, what));
        call.arg(token.serial).arg(token.epoch).arg(command.as_str()).arg(*accepted);
        call.arg(outcome.0).arg(record.0);
        let (how, by, since) = self.inner.link.ask::<(String, String, i64)>(&call).await?;
        if how == "lost" {
            return Err(LeaseRefusal::Lost);
        }
        read_call(&how, &by, since).ok_or_else(|| {
            tracing::error!(%lift, how, by, "the lease store holds what Hoistway did not put there");
            LeaseRefusal::StoreDown
        })
    }

    pub(super) async fn settle_call(&self, lift: &LiftId, settled: &SettledCall) -> Result<(), LeaseRefusal> {
        let mut call = self.inner.scripts.settle.prepare_invoke();
        call.key(last_key(lift));
        self.add_settled(&mut call, settled);
        self.inner.link.ask::<i64>(&call).await.map(drop)
    }

    /// What scripts take that settle a call.
    fn add_settled(&self, call: &mut ScriptInvocation<'_>, settled: &SettledCall) {
        let outcome = match settled.outcome {
            CallOutcome::Acknowledged => "acknowledged",
            CallOutcome::NotRun => "not_run",
            CallOutcome::Unknown => "unknown",
        };
        call.arg(settled.command.as_str()).arg(outcome).arg(self.inner.timing.record.0);
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
        let calls = include_str!("scripts/calls.lua");
        let script = |own: &str| Script::new(&format!("{}\n{own}", include_str!("scripts/common.lua")));
        let with_calls = |own: &str| script(&format!("{calls}\n{own}"));
        Self {
            acquire: script(include_str!("scripts/acquire.lua")),
            renew: script(include_str!("scripts/renew.lua")),
            release: with_calls(include_str!("scripts/release.lua")),
            open: script(include_str!("scripts/open.lua")),
            settle: Script::new(&format!("{calls}\n{}", include_str!("scripts/settle.lua"))),
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

/// Names the record of the lift's last call. The braces make all keys of a lift live on one node of a cluster.
fn last_key(lift: &LiftId) -> String {
    format!("agv:lift:order:{{{lift}}}")
}

/// The key of a call's record.
fn record_key(lift: &LiftId, call: &Call) -> String {
    let action = match call.action {
        LiftAction::GoTo => "goTo",
        LiftAction::OpenDoor => "openDoor",
        LiftAction::CloseDoor => "closeDoor",
    };
    format!("{}:{}:{action}", last_key(lift), call.floor)
}

/// What the script for calls says: its word; by which command, and how long ago.
fn read_call(how: &str, by: &str, since: i64) -> Option<CallAnswer> {
    let (by, since) = (CommandId::try_new(by).ok()?, millis(since));
    match how {
        "opened" => Some(CallAnswer::Opened),
        "joined" => Some(CallAnswer::Joined { by, since }),
        "acknowledged" => Some(CallAnswer::Acknowledged { by }),
        "unknown" => Some(CallAnswer::Unknown { by }),
        _ => None,
    }
}

/// Redis says -1 or -2 of what has no end or is not there.
fn millis(left: i64) -> Millis {
    Millis(u64::try_from(left).unwrap_or(0))
}
