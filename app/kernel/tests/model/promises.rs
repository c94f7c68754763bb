//! What must always hold, and the dangers that must have come up for it to mean anything.

use stateright::Property;

use super::lab::Lab;
use super::nodes::Mind;
use super::sent::Word;
use super::world::World;
use crate::fixture::at;

macro_rules! promises {
    ($($name:ident: $text:literal;)*) => {
        /// What must never be broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) enum Promise {
            $($name,)*
        }

        impl Promise {
            pub(super) const ALL: &[Self] = &[$(Self::$name),*];

            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }

        /// A checker takes functions, so each promise has its own.
        const KEPT: &[(Promise, Holds)] =
            &[$((Promise::$name, |_, world| !world.broken.contains(&Promise::$name))),*];
    };
}

promises! {
    NothingStaleByToken: "nothing is written under a lower token, or another request's";
    NothingStaleBySession: "nothing is written for an earlier session";
    NothingStaleByClaim: "nothing is written under a lower claim";
    NothingAgainstTheRider: "nothing is written for another while a rider is in the car";
    NothingOnAnOldRead: "nothing is written that was decided on an old read";
    NothingUnexpected: "nothing is written that expects something else than is read";
    NoContradiction: "no command contradicts the one that the PLC does or has not taken yet";
    NothingWhileUnknown: "nothing is written while it is unknown what became of the last";
    NumberFirst: "number, token and generations are durable before a write";
    NumberOnce: "a number runs once";
    NothingTwice: "a command runs once";
    MarksNeverFall: "no mark falls";
    ToldTruly: "what is told as run has run, what is told as not run does not run";
    GivenUpIsOver: "what its sender gave up does not run";
    LeaveEndsBeforeTheLease: "who has leave to send is done before its lease would end";
    TokensRise: "a store grants rising tokens as long as it forgets nothing";
}

pub(super) type Holds = fn(&Lab, &World) -> bool;

/// The dangers that must come up, or the promises were never in danger.
pub(super) const DANGERS: &[(&str, Holds)] = &[
    ("another is granted while a sleeper believes that it holds", |_, world| {
        let believes = |it: &Mind| it.lease().is_some_and(|lease| lease.permit(at(world.now.0)).is_ok());
        let [a, b] = &world.nodes;
        (a.asleep.is_some() && believes(&a.mind) && b.mind.lease().is_some())
            || (b.asleep.is_some() && believes(&b.mind) && a.mind.lease().is_some())
    }),
    ("a lower token reaches the gateway", |_, world| world.was_told(Word::StaleToken)),
    ("an earlier session reaches the gateway", |_, world| world.was_told(Word::StaleSession)),
    ("a lower claim reaches the gateway", |_, world| world.was_told(Word::StaleClaim)),
    ("a session begins before the car is empty", |_, world| world.was_told(Word::CarOccupied)),
    ("an old read reaches the gateway", |_, world| world.was_told(Word::StaleRead)),
    ("what was expected is gone", |_, world| world.was_told(Word::ExpectationMissed)),
    ("a lift that moves is commanded", |_, world| world.was_told(Word::NotNow)),
    ("a command meets one that is not settled", |_, world| world.was_told(Word::Verifying)),
    ("the store forgets a lease that is held", |lab, world| {
        world.left.losses < lab.bounds.losses && world.nodes.iter().any(|it| it.asleep.is_some())
    }),
    ("two hold the same token", |_, world| {
        let [a, b] = &world.nodes;
        a.mind.lease().zip(b.mind.lease()).is_some_and(|(a, b)| a.token() == b.token())
    }),
    ("the gateway starts with a command in flight", |_, world| world.starts_in_flight()),
    ("what has run arrives once more", |_, world| {
        world.sent.iter().any(|it| it.runs > 0 && it.on_the_way > 0)
    }),
    ("what was unknown has run", |_, world| world.was_told(Word::Ran)),
    ("what was unknown has not run", |_, world| world.was_told(Word::NotSent)),
    ("a sender gives up", |_, world| world.sent.iter().any(|it| it.given_up)),
    ("every command runs", |lab, world| {
        world.sent.len() == lab.bounds.commands && world.sent.iter().all(|it| it.runs == 1)
    }),
];

pub(super) fn properties() -> Vec<Property<Lab>> {
    let kept = KEPT.iter().map(|(promise, holds)| Property::always(promise.name(), *holds));
    let dangers = DANGERS.iter().map(|(name, arises)| Property::sometimes(name, *arises));
    kept.chain(dangers).collect()
}
