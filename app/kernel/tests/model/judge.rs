//! Holds what happens against the promises, from outside the machines.

use std::collections::BTreeSet;

use kernel::ids::Generation;
use kernel::timing::LIFT_READ_AGE_MAX;
use kernel::wire::gateway::Authority;

use super::promises::Promise;
use super::sent::Word;
use super::world::World;

impl World {
    /// What is broken when this command is written now.
    pub(super) fn against(&self, idx: usize) -> Vec<Promise> {
        let sent = &self.sent[idx];
        let (this, kept) = (&sent.command, self.kept.lifts.values().next().expect("marks of the lift"));
        let Authority::Lease { token, nonce } = this.authority else {
            return vec![Promise::NothingStaleByToken];
        };
        // The marks hold the highest that was admitted; that they never fall is a promise of its own. Whose that was
        // they hold of the last alone.
        let request = Some((this.holder.clone(), nonce));
        let last =
            self.last.as_ref().is_some_and(|(rank, by)| token == *rank && request.as_ref() != Some(by));
        let stale_token = token < kept.token || last;
        let session = this.session.generation;
        let (task, claim) = (&this.session.task, Some(this.session.claim));
        let adopted = token <= kept.token && session <= kept.session && claim <= self.kept.claim_of(task);
        let unexpected = self.newest.as_ref().is_none_or(|it| it.expectation() != this.expects);
        let rules = [
            (stale_token, Promise::NothingStaleByToken),
            (session < kept.session, Promise::NothingStaleBySession),
            (!adopted, Promise::NumberFirst),
            (claim < self.kept.claim_of(task), Promise::NothingStaleByClaim),
            (self.plc.shown.occupied && session > Generation(1), Promise::NothingAgainstTheRider),
            (self.now.since(sent.read_at) > LIFT_READ_AGE_MAX, Promise::NothingOnAnOldRead),
            (unexpected, Promise::NothingUnexpected),
            (self.open.is_some(), Promise::NothingWhileUnknown),
        ];
        rules.into_iter().filter(|(broken, _)| *broken).map(|(_, promise)| promise).collect()
    }

    /// What shows only after the PLC took something.
    pub(super) fn judge(&mut self) {
        for (idx, sent) in self.sent.iter_mut().enumerate() {
            sent.runs = self.plc.ran.iter().filter(|(_, command)| *command == idx).count();
            let denied = sent.told.iter().any(|it| !matches!(it, Word::Accepted | Word::Ran | Word::Unknown));
            let rules = [
                (sent.runs > 1, Promise::NothingTwice),
                (sent.runs > 0 && denied, Promise::ToldTruly),
                (sent.runs > 0 && sent.given_up, Promise::GivenUpIsOver),
            ];
            self.broken.extend(rules.into_iter().filter(|(broken, _)| *broken).map(|(_, promise)| promise));
        }
        let numbers: BTreeSet<u16> = self.plc.ran.iter().map(|(number, _)| *number).collect();
        if numbers.len() < self.plc.ran.len() {
            self.broken.insert(Promise::NumberOnce);
        }
    }
}
