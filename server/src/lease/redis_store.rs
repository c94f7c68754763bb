//! The lease store on Redis: its scripts, and what their answers mean.
//!
//! Each step is one script, so it happens as a whole or not at all; the table of one process does the same in Rust.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use kernel::ids::{CommandId, LiftId, NodeId};
use kernel::lease::{
    Call, CallAnswer, CallOutcome, CallRequest, FencingToken, LeaseAnswer, LeaseNonce, LeaseRefusal,
    LeaseRequest, LeaseTiming, SettledCall, StoreLife, WAITERS_MAX,
};
use kernel::lift::LiftAction;
use kernel::time::Millis;
use redis::Script;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::link::{Answer, Link, Step};
use super::url::RedisUrl;
use super::wakes::{Ear, Wakes, lease_key, name_of};

/// The record of a lift's last call moves with each call, and who opens one holds the lift: two tries do.
const RECORD_TRIES: u32 = 4;

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
    /// The key of the record of each lift's last call, as far as it was heard of here.
    records: Mutex<BTreeMap<LiftId, String>>,
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
        let link = Arc::new(Link::new(url.address()?, answer_max));
        let wakes = Wakes::default();
        let ends = CancellationToken::new();
        let channel = format!("agv:lift:control:granted:{:016x}", super::by_chance());
        tokio::spawn(ends.clone().run_until_cancelled_owned(Arc::clone(&link).watch()));
        let hear = Arc::clone(&link).hear(channel.clone(), wakes.clone());
        tokio::spawn(ends.clone().run_until_cancelled_owned(hear));
        let (scripts, records) = (Scripts::new(), Mutex::default());
        let inner = Inner { link, timing, scripts, wakes, channel, records, _ends: ends.drop_guard() };
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

    /// A grant that came with a wake-up counts as it is: no replica has to confirm it.
    pub(super) fn grants_by_wake_up(&self) -> bool {
        !self.inner.link.is_confirmed()
    }

    pub(super) async fn ask(&self, request: &LeaseRequest, stays: bool) -> Result<LeaseAnswer, LeaseRefusal> {
        let LeaseRequest { lift, holder, nonce, epoch, floor, life, priority } = request;
        let mut step = self.step(&self.inner.scripts.acquire, lift, holder, *nonce);
        step.arg(epoch).arg(floor).arg(&self.inner.channel).arg(WAITERS_MAX).arg(u8::from(stays)).arg(life);
        step.arg(priority.level());
        step.confirmed();
        let Answer { told: (how, who, number, left), is_confirmed } =
            self.inner.link.ask::<(String, String, u64, i64)>(&step).await?;
        let answer = read_answer(&how, &who, number, left).ok_or_else(|| foreign(lift, &how, &who))?;
        match &answer {
            LeaseAnswer::Granted { token, .. } if !is_confirmed => {
                // A change of masters now would forget it and grant the lift again.
                _ = self.release(lift, (holder, *nonce), *token, None).await;
                Err(LeaseRefusal::NotReplicated)
            }
            LeaseAnswer::Granted { .. }
            | LeaseAnswer::Waits { .. }
            | LeaseAnswer::Refused { .. }
            | LeaseAnswer::Changed { .. } => Ok(answer),
        }
    }

    pub(super) async fn renew(
        &self,
        lift: &LiftId,
        (holder, nonce): (&NodeId, LeaseNonce),
        token: FencingToken,
    ) -> Result<Millis, LeaseRefusal> {
        let mut step = self.step(&self.inner.scripts.renew, lift, holder, nonce);
        step.arg(token.serial).confirmed();
        let Answer { told: (how, left), is_confirmed } = self.inner.link.ask::<(String, i64)>(&step).await?;
        match how.as_str() {
            "renewed" if is_confirmed => Ok(millis(left)),
            "renewed" => Err(LeaseRefusal::NotReplicated),
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
        for nth in 0..=RECORD_TRIES {
            // What cannot be noted keeps nobody from the lift.
            let settled = settled.filter(|_| nth < RECORD_TRIES);
            let mut step = self.step(&self.inner.scripts.release, lift, holder, nonce);
            step.key(last_key(lift)).key(self.record(lift)).arg(token.serial);
            match settled {
                Some(settled) => self.add_settled(&mut step, settled),
                None => drop(step.arg("")),
            }
            let (how, record) = self.inner.link.ask_once::<(String, String)>(&step).await?.told;
            match how.as_str() {
                "released" => return Ok(()),
                "elsewhere" => self.note_record(lift, record)?,
                _ => return Err(LeaseRefusal::Lost),
            }
        }
        Err(LeaseRefusal::Unknown)
    }

    pub(super) async fn open_call(
        &self,
        holder: &NodeId,
        request: &CallRequest,
    ) -> Result<CallAnswer, LeaseRefusal> {
        let CallRequest { lift, nonce, token, call: what, command, accepted } = request;
        let LeaseTiming { outcome, record, .. } = self.inner.timing;
        for _ in 0..RECORD_TRIES {
            let mut step = self.step(&self.inner.scripts.open, lift, holder, *nonce);
            step.key(last_key(lift)).key(record_key(lift, what)).key(self.record(lift));
            step.arg(token.serial).arg(token.epoch).arg(command).arg(accepted).arg(outcome.0).arg(record.0);
            let (how, by, since) = self.inner.link.ask::<(String, String, i64)>(&step).await?.told;
            match how.as_str() {
                "lost" => return Err(LeaseRefusal::Lost),
                "elsewhere" => self.note_record(lift, by)?,
                _ => {
                    self.note_record(lift, record_key(lift, what))?;
                    return read_call(&how, &by, since).ok_or_else(|| foreign(lift, &how, &by));
                }
            }
        }
        Err(LeaseRefusal::Unknown)
    }

    pub(super) async fn settle_call(&self, lift: &LiftId, settled: &SettledCall) -> Result<(), LeaseRefusal> {
        for _ in 0..RECORD_TRIES {
            let mut step = Step::new(&self.inner.scripts.settle);
            step.key(last_key(lift)).key(self.record(lift));
            self.add_settled(&mut step, settled);
            let record = self.inner.link.ask::<String>(&step).await?.told;
            if record.is_empty() {
                return Ok(());
            }
            self.note_record(lift, record)?;
        }
        Err(LeaseRefusal::Unknown)
    }

    /// Where the record of the lift's last call is, by what was heard last. Scripts touch what is declared to them alone,
    /// and one that finds it elsewhere says where.
    fn record(&self, lift: &LiftId) -> String {
        let records = self.inner.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.get(lift).cloned().unwrap_or_else(|| last_key(lift))
    }

    fn note_record(&self, lift: &LiftId, record: String) -> Result<(), LeaseRefusal> {
        // Another key might be on another server, and of somebody else.
        if !record.starts_with(&last_key(lift)) {
            return Err(foreign(lift, "elsewhere", &record));
        }
        let mut records = self.inner.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.insert(lift.clone(), record);
        Ok(())
    }

    /// What scripts take that settle a call.
    fn add_settled(&self, step: &mut Step<'_>, settled: &SettledCall) {
        let outcome = match settled.outcome {
            CallOutcome::Acknowledged => "acknowledged",
            CallOutcome::NotRun => "not_run",
            CallOutcome::Unknown => "unknown",
        };
        step.arg(&settled.command).arg(outcome).arg(self.inner.timing.record.0);
    }

    /// A step with what every script takes.
    fn step<'a>(&self, script: &'a Script, lift: &LiftId, holder: &NodeId, nonce: LeaseNonce) -> Step<'a> {
        let key = lease_key(lift.as_str());
        let mut step = Step::new(script);
        for suffix in ["", ":line", ":wants", ":serial", ":tickets", ":life"] {
            step.key(format!("{key}{suffix}"));
        }
        step.arg(holder).arg(nonce.0);
        let LeaseTiming { ttl, hold_max, claim, ticket, .. } = self.inner.timing;
        for span in [ttl, hold_max, claim, self.inner.timing.alive(), ticket] {
            step.arg(span.0);
        }
        step
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
    if how == "changed" {
        return Some(LeaseAnswer::Changed { life: StoreLife::try_new(who).ok()? });
    }
    let (holder, position) = (NodeId::try_new(who).ok()?, u32::try_from(number).ok()?);
    match how {
        "waits" => Some(LeaseAnswer::Waits { holder, position, left }),
        "refused" => Some(LeaseAnswer::Refused { holder, position }),
        _ => None,
    }
}

/// What is there is not Hoistway's.
fn foreign(lift: &LiftId, how: &str, what: &str) -> LeaseRefusal {
    tracing::error!(%lift, how, what, "the lease store holds what Hoistway did not put there");
    LeaseRefusal::StoreDown
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
