//! Who is served next: by priority, by tickets, and nobody overtaken for ever.

use super::*;
use crate::lease::LeasePriority::{Aboard, Ahead, Landing, OpenDoor};
use crate::lease::{LeaseAnswer, LeasePriority, LeaseRequest, LeaseTable, LeaseTiming};

/// A store at one lift, at which all happens at once.
struct Bench {
    table: LeaseTable,
    nonces: u64,
    holder: (NodeId, LeaseNonce, FencingToken),
}

impl Bench {
    /// A holds the lift.
    fn new() -> Self {
        let mut table = LeaseTable::new(LeaseTiming::default());
        let request = request("A", 1, Ahead);
        let LeaseAnswer::Granted { token, .. } = table.ask(&request, true, Mono(0)) else {
            panic!("it is free")
        };
        Self { table, nonces: 1, holder: (request.holder, request.nonce, token) }
    }

    /// The place in the line.
    fn ask(&mut self, who: &str, priority: LeasePriority) -> u32 {
        self.nonces += 1;
        match self.table.ask(&request(who, self.nonces, priority), true, Mono(0)) {
            LeaseAnswer::Waits { position, .. } => position,
            other @ (LeaseAnswer::Granted { .. }
            | LeaseAnswer::Refused { .. }
            | LeaseAnswer::Changed { .. }) => panic!("{who}: {other:?}"),
        }
    }

    /// The holder gives the lift back; who gets it.
    fn pass_on(&mut self) -> Option<String> {
        let (node, nonce, token) = &self.holder;
        self.table.release(&fixture::lift("L1"), (node, *nonce), *token, Mono(0)).expect("it is its own");
        let woken = self.table.poll_woken()?;
        self.holder = (woken.holder, woken.nonce, woken.token);
        let (node, nonce, token) = &self.holder;
        self.table.renew(&fixture::lift("L1"), (node, *nonce), *token, Mono(0)).expect("it is claimed");
        Some(node.to_string())
    }
}

fn request(who: &str, nonce: u64, priority: LeasePriority) -> LeaseRequest {
    let (lift, holder, life) = (fixture::lift("L1"), fixture::node(who), StoreLife::default());
    LeaseRequest { lift, holder, nonce: LeaseNonce(nonce), epoch: 1, floor: 0, life, priority }
}

/// Who asks in this order, at which place each enters the line, and in which order they are served.
type Row = (&'static [(&'static str, LeasePriority)], &'static [u32], &'static str);

#[test]
fn the_higher_is_served_first_and_who_is_overtaken_rises() {
    let rows: [Row; 5] = [
        (&[("B", Ahead), ("C", Ahead), ("D", Ahead)], &[1, 2, 3], "BCD"),
        (&[("B", Aboard), ("C", Aboard), ("D", Aboard)], &[1, 2, 3], "BCD"),
        (&[("B", Ahead), ("C", Landing), ("D", Aboard), ("E", OpenDoor)], &[1, 1, 1, 2], "DCBE"),
        (
            &[("B", Ahead), ("C", Aboard), ("D", Aboard), ("E", Aboard), ("F", Aboard)],
            &[1, 1, 2, 3, 4],
            "CDEBF",
        ),
        (&[("B", OpenDoor), ("C", Aboard), ("D", Aboard)], &[1, 1, 2], "CBD"),
    ];
    for (asking, places, served) in rows {
        let mut bench = Bench::new();
        let entered: Vec<_> = asking.iter().map(|(who, priority)| bench.ask(who, *priority)).collect();
        assert_eq!(entered, places, "{asking:?}");
        let order: String = std::iter::from_fn(|| bench.pass_on()).collect();
        assert_eq!(order, served, "{asking:?}");
    }
}

/// The place that one has is the place by which it is served, whatever it asks for by then.
#[test]
fn a_later_request_keeps_ticket_and_age_under_its_own_priority() {
    let mut bench = Bench::new();
    bench.ask("B", Ahead);
    bench.ask("C", Landing);
    assert_eq!(bench.pass_on().as_deref(), Some("C"), "B is overtaken");
    bench.ask("D", OpenDoor);
    assert_eq!(bench.ask("B", Landing), 1, "as high as D by its age, and before it");
    assert_eq!(bench.pass_on().as_deref(), Some("B"));
    assert_eq!(bench.pass_on().as_deref(), Some("D"));
    bench.ask("B", Ahead);
    assert_eq!(bench.ask("E", Landing), 1, "who was served begins anew");
}

/// Requests and hand-overs by chance.
#[test]
fn nobody_is_overtaken_more_than_three_times() {
    let mut bench = Bench::new();
    let (mut chance, mut most, mut n_served) = (7_u64, 0, 0);
    let mut waiting: Vec<(String, u32)> = Vec::new();
    for _ in 0..20_000 {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (who, level) = (format!("N{}", (chance >> 40) % 8), (chance >> 50) % 4);
        let holds = bench.holder.0.as_str() == who;
        if !holds && !waiting.iter().any(|(it, _)| *it == who) {
            bench.ask(&who, LeasePriority::ALL[usize::try_from(level).expect("small")]);
            waiting.push((who, 0));
        } else if waiting.len() > 3 {
            let next = bench.pass_on().expect("somebody waits");
            let place = waiting.iter().position(|(it, _)| *it == next).expect("it waits");
            waiting.remove(place);
            waiting.iter_mut().take(place).for_each(|(_, n)| *n += 1);
            most = most.max(waiting.iter().map(|(_, n)| *n).max().unwrap_or_default());
            n_served += 1;
        }
    }
    assert!(n_served > 5000, "{n_served}");
    assert_eq!(most, 3);
}
