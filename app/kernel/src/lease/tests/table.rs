//! The rules of the store, as scripts: when, who, what is asked, what is answered.

use super::*;
use crate::lease::{
    LeaseAnswer, LeasePriority, LeaseRefusal, LeaseRequest, LeaseTable, LeaseTiming, WAITERS_MAX, Woken,
};
use crate::safeguard::{Safeguard, Safeguards};
use crate::time::Millis;
use crate::timing::LEASE_HOLD_MAX;

/// At that millisecond a node asks (`?`), asks for the last time (`!`), renews (`r`) or gives back (`-`), by that nonce
/// and of that serial; and the answer: `+7` is granted under serial 7, `A1` waits behind A in place 1, `no A1` is not
/// even in the line, `~` done, `x` lost, `>` held for too long.
type Step = (u64, &'static str, char, u64, u64, &'static str);

struct Bench {
    table: LeaseTable,
    floor: u64,
    life: StoreLife,
}

impl Bench {
    fn new() -> Self {
        Self { table: LeaseTable::new(LeaseTiming::default()), floor: 0, life: StoreLife::default() }
    }

    fn request(&self, who: &str, nonce: u64) -> LeaseRequest {
        let (lift, holder) = (fixture::lift("L1"), fixture::node(who));
        LeaseRequest {
            lift,
            holder,
            nonce: LeaseNonce(nonce),
            epoch: 1,
            floor: self.floor,
            life: self.life.clone(),
            priority: LeasePriority::default(),
        }
    }

    fn answer(&mut self, &(now, who, what, nonce, serial, _): &Step) -> String {
        let now = Mono(now);
        let request = self.request(who, nonce);
        let token = FencingToken { epoch: 1, serial };
        let asked = (&request.holder, request.nonce);
        let refused = |it: LeaseRefusal| match it {
            LeaseRefusal::Lost => "x".to_owned(),
            LeaseRefusal::HeldTooLong => ">".to_owned(),
            other @ (LeaseRefusal::Held { .. }
            | LeaseRefusal::StoreDown
            | LeaseRefusal::NotReplicated
            | LeaseRefusal::StoreChanged { .. }
            | LeaseRefusal::Unknown) => {
                panic!("{other:?}")
            }
        };
        match what {
            'r' => self
                .table
                .renew(&request.lift, asked, token, now)
                .map_or_else(refused, |left| format!("~{}", left.0)),
            '-' => {
                self.table.release(&request.lift, asked, token, now).map_or_else(refused, |()| "~".to_owned())
            }
            _ => match self.table.ask(&request, what == '?', now) {
                LeaseAnswer::Granted { token, .. } => format!("+{}", token.serial),
                LeaseAnswer::Waits { holder, position, .. } => format!("{holder}{position}"),
                LeaseAnswer::Refused { holder, position } => format!("no {holder}{position}"),
                LeaseAnswer::Changed { life } => format!("≠{life}"),
            },
        }
    }

    fn plays(&mut self, steps: &[Step]) {
        for step in steps {
            assert_eq!(self.answer(step), step.5, "{step:?}");
        }
    }

    fn woken(&mut self) -> Vec<String> {
        let all = std::iter::from_fn(|| self.table.poll_woken());
        all.map(|Woken { holder, nonce, .. }| format!("{holder}{}", nonce.0)).collect()
    }
}

#[test]
fn waiters_are_served_in_order_by_a_grant_that_they_have_to_claim() {
    let mut bench = Bench::new();
    bench.plays(&[
        (0, "A", '?', 1, 0, "+1"),
        (10, "B", '?', 1, 0, "A1"),
        (20, "C", '?', 1, 0, "A2"),
        (30, "A", '?', 1, 0, "+1"),
        (40, "B", '-', 1, 1, "x"),
        (50, "A", '-', 1, 2, "x"),
        (60, "A", '-', 1, 1, "~"),
        (70, "A", '-', 1, 1, "x"),
    ]);
    assert_eq!(bench.woken(), ["B1"]);
    bench.plays(&[(80, "D", '?', 1, 0, "B2"), (100, "B", '?', 1, 0, "+2"), (110, "B", '-', 1, 2, "~")]);
    assert_eq!(bench.woken(), ["C1"]);
}

#[test]
fn who_does_not_claim_or_is_not_heard_is_passed_over() {
    let mut bench = Bench::new();
    bench.plays(&[
        (0, "A", '?', 1, 0, "+1"),
        (0, "B", '?', 1, 0, "A1"),
        (300, "C", '?', 1, 0, "A2"),
        (500, "C", '?', 1, 0, "A2"),
        (600, "A", '-', 1, 1, "~"),
    ]);
    assert_eq!(bench.woken(), ["B1"], "heard 600 ms ago");
    bench.plays(&[
        (750, "C", '?', 1, 0, "B1"),
        // B has not claimed within 400 ms.
        (1000, "C", '?', 1, 0, "+3"),
        (1001, "D", '?', 1, 0, "C1"),
        (1001, "E", '?', 1, 0, "C2"),
        (1500, "E", '?', 1, 0, "C2"),
        // D was last heard 600 ms ago and more: it is dead.
        (1700, "C", '-', 1, 3, "~"),
    ]);
    assert_eq!(bench.woken(), ["E1"]);
}

/// The grant travels with the wake-up: who renews it has claimed it, and has left the line.
#[test]
fn a_renewal_claims_what_was_handed_over() {
    let mut bench = Bench::new();
    bench.plays(&[
        (0, "A", '?', 1, 0, "+1"),
        (0, "B", '?', 1, 0, "A1"),
        (100, "C", '?', 1, 0, "A2"),
        (200, "A", '-', 1, 1, "~"),
        (300, "B", 'r', 1, 2, "~30000"),
        (700, "C", '?', 1, 0, "B1"),
        (800, "B", '-', 1, 2, "~"),
        (810, "B", 'r', 1, 2, "x"),
        (820, "B", '?', 2, 0, "C1"),
        (900, "C", '-', 1, 3, "~"),
        (910, "B", 'r', 2, 4, "~30000"),
    ]);
}

#[test]
fn who_gives_back_what_it_never_claimed_goes_to_the_end_of_the_line() {
    let mut bench = Bench::new();
    bench.plays(&[
        (0, "A", '?', 1, 0, "+1"),
        (0, "B", '?', 1, 0, "A1"),
        (0, "C", '?', 1, 0, "A2"),
        (10, "A", '-', 1, 1, "~"),
        (20, "B", '-', 1, 2, "~"),
        (30, "B", 'r', 1, 2, "x"),
        (40, "B", '?', 2, 0, "C1"),
        (50, "A", '?', 2, 0, "C2"),
    ]);
}

#[test]
fn a_lease_lives_by_renewal_until_the_longest_hold_and_may_then_be_broken() {
    let mut bench = Bench::new();
    bench.plays(&[
        (0, "A", '?', 1, 0, "+1"),
        (5000, "A", 'r', 1, 1, "~30000"),
        (5000, "B", 'r', 1, 1, "x"),
        (5999, "B", '?', 1, 0, "A1"),
        (6000, "A", 'r', 1, 1, ">"),
        (6001, "B", '?', 1, 0, "+2"),
        (6002, "A", 'r', 1, 1, "x"),
        (6003, "A", '-', 1, 1, "x"),
        (36_000, "C", '!', 1, 0, "+3"),
        (66_000, "C", 'r', 1, 3, "x"),
    ]);
}

#[test]
fn a_node_that_asks_anew_has_given_up_and_a_late_request_gets_nothing() {
    let mut bench = Bench::new();
    bench.plays(&[
        (0, "A", '?', 1, 0, "+1"),
        (10, "A", '?', 2, 0, "+2"),
        (20, "A", '?', 1, 0, "no A1"),
        (30, "B", '?', 5, 0, "A1"),
        (40, "B", '?', 4, 0, "no A1"),
        (50, "A", '-', 2, 2, "~"),
        (60, "B", '?', 5, 0, "+3"),
    ]);
}

#[test]
fn a_ticket_outlives_a_refusal_for_a_while() {
    let mut bench = Bench::new();
    bench.plays(&[
        (0, "A", '?', 1, 0, "+1"),
        (100, "B", '!', 1, 0, "A1"),
        (200, "C", '?', 1, 0, "A1"),
        (300, "B", '?', 2, 0, "A1"),
        (400, "C", '?', 1, 0, "A2"),
        (5000, "A", 'r', 1, 1, "~30000"),
        (5000, "B", '!', 2, 0, "A1"),
        (5000, "C", '!', 1, 0, "A1"),
        // The ticket of B has ended, that of C was shown again.
        (29_000, "C", '!', 2, 0, "+2"),
        (35_001, "D", '!', 1, 0, "+3"),
    ]);
}

#[test]
fn a_clock_that_is_set_back_keeps_nobody_from_the_lift_for_longer_than_a_hold() {
    let mut bench = Bench::new();
    bench.plays(&[
        (100_000, "A", '?', 1, 0, "+1"),
        (40_000, "B", '!', 1, 0, "A1"),
        (46_001, "B", '?', 2, 0, "+2"),
    ]);
}

#[test]
fn a_serial_lies_above_the_floor_also_of_a_store_that_forgot() {
    let mut bench = Bench::new();
    bench.plays(&[(0, "A", '?', 1, 0, "+1")]);
    bench.table.forget(StoreLife::default());
    bench.floor = 7;
    bench.plays(&[(10, "B", '?', 1, 0, "+8")]);
    bench.floor = 3;
    bench.plays(&[(20, "B", '?', 2, 0, "+9")]);
}

#[test]
fn a_full_line_takes_nobody_in() {
    let mut bench = Bench::new();
    bench.plays(&[(0, "A", '?', 1, 0, "+1")]);
    for n in 1..=WAITERS_MAX {
        let request = bench.request(&format!("W{n}"), 1);
        assert!(matches!(bench.table.ask(&request, true, Mono(1)), LeaseAnswer::Waits { .. }), "{n}");
    }
    bench.plays(&[(2, "B", '?', 1, 0, "no A65"), (30_002, "B", '?', 1, 0, "+2")]);
    assert_eq!(bench.table.timing().alive(), Millis(600));
}

/// What comes of the second request when the rule is away that answers it.
#[test]
fn each_rule_frees_a_lift_that_would_stay_taken() {
    let rows = [
        (Safeguard::SameGrant, (10, "A", '?', 1, 0), "+1"),
        (Safeguard::NewerRequest, (10, "A", '?', 2, 0), "+2"),
        (Safeguard::HoldLimit, (LEASE_HOLD_MAX.0, "B", '?', 1, 0), "+2"),
    ];
    for (rule, (at, node, what, nonce, serial), answer) in rows {
        for (safeguards, answer) in [(Safeguards::ALL, answer), (Safeguards::all_but(rule), "A1")] {
            let mut bench = Bench::new();
            bench.table = LeaseTable::default().under(safeguards);
            bench.plays(&[(0, "A", '?', 1, 0, "+1"), (at, node, what, nonce, serial, answer)]);
        }
    }
}

/// What another's request gets, with the rule that protects the holder and without it.
#[test]
fn each_rule_leaves_a_lift_to_its_holder() {
    let rows = [
        (Safeguard::OneHolder, (10, "B", '?', 1, 0), "A1", "+2"),
        (Safeguard::OwnRelease, (10, "B", '-', 1, 1), "x", "~"),
        (Safeguard::OwnRelease, (10, "A", '-', 2, 1), "x", "~"),
        (Safeguard::OwnRelease, (10, "A", '-', 1, 2), "x", "~"),
    ];
    for (rule, (at, node, what, nonce, serial), with, without) in rows {
        for (safeguards, answer) in [(Safeguards::ALL, with), (Safeguards::all_but(rule), without)] {
            let mut bench = Bench::new();
            bench.table = LeaseTable::default().under(safeguards);
            bench.plays(&[(0, "A", '?', 1, 0, "+1"), (at, node, what, nonce, serial, answer)]);
        }
    }
}

#[test]
fn a_store_of_another_life_grants_nothing_before_that_is_named() {
    for promoted in [false, true] {
        let mut bench = Bench::new();
        bench.plays(&[(0, "A", '?', 1, 0, "+1"), (10, "B", '?', 1, 0, "A1")]);
        let life = StoreLife::try_new("second").unwrap();
        if promoted {
            bench.table.take_over(life.clone());
        } else {
            bench.table.forget(life.clone());
        }
        bench.plays(&[
            (20, "A", 'r', 1, 1, "x"),
            (20, "A", '?', 1, 0, "≠second"),
            (20, "B", '?', 1, 0, "≠second"),
            (20, "A", '-', 1, 1, "x"),
        ]);
        (bench.life, bench.floor) = (life, 1 << 32);
        bench.plays(&[(30, "B", '?', 1, 0, "+4294967297"), (40, "A", '?', 2, 0, "B1")]);
    }
}

#[test]
fn without_that_rule_a_store_that_forgot_grants_a_serial_once_more() {
    for (safeguards, answer) in
        [(Safeguards::ALL, "≠second"), (Safeguards::all_but(Safeguard::StoreLife), "+1")]
    {
        let mut bench = Bench::new();
        bench.table = bench.table.under(safeguards);
        bench.plays(&[(0, "A", '?', 1, 0, "+1")]);
        bench.table.forget(StoreLife::try_new("second").unwrap());
        bench.plays(&[(10, "B", '?', 1, 0, answer)]);
    }
}

#[test]
fn a_life_has_a_name_that_trips_over_nothing() {
    let long = "x".repeat(crate::lease::STORE_LIFE_MAX + 1);
    for (text, sound) in
        [("", true), ("18fbb4.7.1764-22", true), ("a b", false), ("{a}", false), (&long, false)]
    {
        assert_eq!(StoreLife::try_new(text).is_ok(), sound, "{text}");
    }
}
