//! The vehicles' road through the gateway, and what is kept of it.

use super::*;
use crate::ids::Generation;

impl Bench {
    fn pass(&mut self, id: &str, to: &str, task: &str, claim: u64) {
        let command =
            VehicleCommand { task: Some(fixture::task(task)), ..fixture::vehicle_command(id, to, claim) };
        self.handle(Event::Commanded(Box::new(GatewayCommand::Vehicle(command))));
    }
}

#[test]
fn a_claim_is_durable_before_its_command_is_passed_on() {
    let mut bench = Bench::ready();
    bench.pass("K1", "V1", "T-1", 1);
    assert_eq!(bench.look(), ["persist number 0 flight - serial 0", "forward K1 to V1", "tell K1 Forwarded"]);
    bench.pass("K2", "V1", "T-1", 1);
    assert_eq!(bench.look(), ["forward K2 to V1", "tell K2 Forwarded"], "nothing new to keep");
}

#[test]
fn a_stale_claim_is_refused_even_after_a_restart() {
    let mut bench = Bench::ready();
    bench.pass("K1", "V1", "T-1", 2);
    let marks = bench.marks.clone();
    let mut bench = Bench::restarted(marks, 1000);
    bench.look();
    bench.pass("K2", "V1", "T-1", 1);
    bench.pass("K3", "V1", "T-2", 1);
    assert_eq!(
        bench.news(),
        ["tell K2 Refused { reason: StaleClaim }", "forward K3 to V1", "tell K3 Forwarded"]
    );
}

#[test]
fn a_vehicle_of_another_gateway_is_refused() {
    let mut bench = Bench::ready();
    bench.pass("K1", "V9", "T-1", 1);
    assert_eq!(bench.look(), ["tell K1 Refused { reason: UnknownTarget }"]);
}

#[test]
fn claims_are_kept_up_to_a_bound_and_the_longest_unused_goes_first() {
    let mut bench = Bench::ready();
    bench.pass("K", "V1", "T-old", 5);
    bench.pass("K", "V1", "T-used", 5);
    for number in 0..CLAIMS_MAX - 2 {
        bench.pass("K", "V1", &format!("T-{number}"), 1);
    }
    bench.pass("K", "V1", "T-used", 5);
    bench.pass("K", "V1", "T-last", 1);
    assert_eq!(bench.marks.claims.len(), CLAIMS_MAX);
    assert_eq!(bench.marks.claim_of(&fixture::task("T-old")), None);
    assert_eq!(bench.marks.claim_of(&fixture::task("T-used")), Some(Generation(5)));
}

#[test]
fn a_claim_never_falls() {
    let mut marks = Marks::default();
    let task = fixture::task("T-1");
    let raised: Vec<bool> = [3, 2, 3, 4].map(|claim| marks.adopt_claim(&task, Generation(claim))).into();
    assert_eq!(raised, [true, false, false, true]);
    assert_eq!(marks.claim_of(&task), Some(Generation(4)));
}

#[test]
fn marks_survive_their_file() {
    let mut bench = Bench::ready();
    bench.pass("K1", "V1", "T-7", 2);
    bench.open("C1");
    bench.echo(1);
    let command = bench.command("C2", LiftAction::GoTo, "F2");
    bench.send(command);
    let text = serde_json::to_string(&bench.marks).expect("marks are written");
    assert_eq!(serde_json::from_str::<Marks>(&text).expect("marks are read"), bench.marks);
    let kept = &bench.marks.lifts[&fixture::lift("L1")];
    assert!(kept.in_flight.is_some() && !kept.outcomes.is_empty() && kept.holder.is_some());
}
