//! PLCs that tell less (A18): what is said of a command rests on what the lift shows.

use super::*;
use crate::lift::Motion;
use crate::plant::Capabilities;
use crate::timing::{PLC_ACK_DEADLINE, PLC_FROZEN, PLC_SETTLE};
use crate::wire::gateway::{Connection, Settling};

const UNKNOWN: &str = "tell C1 Unknown";
const ACCEPTED: &str = "tell C1 Accepted";
const RAN: &str = "tell C1 Ran";
const NOT_SENT: &str = "tell C1 NotSent";

fn can(echo: bool, boot: bool, heartbeat: bool) -> Capabilities {
    Capabilities { echo, boot, heartbeat, ..Capabilities::default() }
}

fn plant(capabilities: Capabilities) -> Plant {
    let mut plant = fixture::plant();
    plant.lifts.values_mut().for_each(|it| it.capabilities = capabilities);
    plant
}

/// A gateway that has read its lift once.
fn ready(capabilities: Capabilities) -> Bench {
    let mut bench = Bench::on(&plant(capabilities), Marks::default(), 0);
    bench.read();
    bench.look();
    bench
}

/// The same, with C1 written.
fn written(capabilities: Capabilities, action: LiftAction, to: &str) -> Bench {
    let mut bench = ready(capabilities);
    let command = bench.command("C1", action, to);
    bench.send(command);
    bench.written(1, WriteResult::Confirmed);
    bench.look();
    bench
}

/// The same, in doubt about C1.
fn doubtful(capabilities: Capabilities, action: LiftAction, to: &str) -> Bench {
    let mut bench = ready(capabilities);
    let command = bench.command("C1", action, to);
    bench.send(command);
    bench.written(1, WriteResult::Unknown);
    assert!(bench.news().contains(&UNKNOWN.to_owned()));
    bench
}

impl Bench {
    fn shows(&mut self, floor: &str, levelled: bool, motion: Motion, door: DoorState) {
        self.status.floor = fixture::floor(floor);
        (self.status.levelled, self.status.motion, self.status.door) = (levelled, motion, door);
    }
}

type Shown = (&'static str, bool, Motion, DoorState);

/// What the lift shows from F1 with its door shut, and whether that is the command begun, or done.
const SHOWN: &[(LiftAction, &str, Shown, bool, bool)] = {
    use DoorState::{Closed, Obstructed, Open, Opening};
    use LiftAction::{GoTo, OpenDoor};
    use Motion::{Down, Still, Up};
    &[
        (GoTo, "F2", ("F1", false, Up, Closed), true, false),
        (GoTo, "F2", ("F2", true, Still, Closed), true, true),
        (GoTo, "F2", ("F1", false, Down, Closed), false, false),
        (GoTo, "F2", ("F2", false, Still, Closed), false, false),
        (GoTo, "F2", ("F1", true, Still, Opening), false, false),
        (OpenDoor, "F1", ("F1", true, Still, Opening), true, false),
        (OpenDoor, "F1", ("F1", true, Still, Open), true, true),
        (OpenDoor, "F1", ("F1", true, Still, Obstructed), false, false),
        (OpenDoor, "F1", ("F2", true, Still, Open), false, false),
    ]
};

#[test]
fn without_an_echo_a_command_is_accepted_when_the_lift_is_seen_to_do_it() {
    for (action, to, (floor, levelled, motion, door), begun, done) in SHOWN.iter().copied() {
        let name = format!("{action:?} {to}: {floor} {motion:?} {door:?}");
        let mut bench = written(can(false, true, true), action, to);
        bench.run(LIFT_POLL_PERIOD);
        assert_eq!(bench.news(), Vec::<String>::new(), "{name}: nothing is seen yet");
        bench.shows(floor, levelled, motion, door);
        bench.run(LIFT_POLL_PERIOD);
        let expected = if begun { vec![ACCEPTED.to_owned()] } else { Vec::new() };
        assert_eq!(bench.news(), expected, "{name}");
        let shown = bench.reading().status.expect("a read");
        assert_eq!(shown.accepted, u16::from(begun), "{name}: the echo is made up for");
        assert_eq!(shown.completed, u16::from(done), "{name}");
        bench.sleep(PLC_ACK_DEADLINE);
        assert_eq!(bench.news().contains(&UNKNOWN.to_owned()), !begun, "{name}");
    }
}

#[test]
fn a_read_from_before_the_write_shows_nothing_of_the_command() {
    let mut bench = ready(can(false, false, false));
    bench.status.door = DoorState::Open;
    bench.read();
    bench.open("C1");
    bench.look();
    bench.read();
    assert_eq!(bench.news(), Vec::<String>::new(), "the door stood open before");
    bench.written(1, WriteResult::Confirmed);
    bench.run(Millis(PLC_SETTLE.0 - LIFT_POLL_PERIOD.0));
    assert_eq!(bench.news(), Vec::<String>::new(), "the PLC may not have taken it yet");
    bench.run(LIFT_POLL_PERIOD);
    assert_eq!(bench.news(), [ACCEPTED], "that is what was asked");
}

/// A door is stuck, or a car is held: what was written is in force, and nothing else is sent before it shows.
#[test]
fn without_an_echo_a_write_that_the_plc_took_is_never_told_as_not_sent() {
    for restart in [false, true] {
        let capabilities = can(false, true, true);
        let mut bench = written(capabilities, LiftAction::OpenDoor, "F1");
        if restart {
            bench = Bench::on(&plant(capabilities), bench.marks.clone(), 1000);
        }
        bench.run(Millis::seconds(60));
        let doubt = if restart { Vec::new() } else { vec![UNKNOWN.to_owned()] };
        assert_eq!(bench.news(), doubt, "restart {restart}");
        assert_eq!(bench.reading().settling, Some(Settling::Unclear));
        bench.status.door = DoorState::Opening;
        bench.run(LIFT_POLL_PERIOD);
        assert_eq!(bench.news(), [RAN], "restart {restart}");
    }
    let mut bench = written(can(false, true, true), LiftAction::OpenDoor, "F1");
    bench.status.boot += 1;
    bench.run(Millis::seconds(60));
    assert_eq!(bench.news(), [UNKNOWN, NOT_SENT], "a start that was counted has voided it");
}

#[test]
fn without_an_echo_nothing_is_sent_before_the_lift_rests() {
    let mut bench = written(can(false, false, false), LiftAction::OpenDoor, "F1");
    bench.status.door = DoorState::Opening;
    bench.read();
    bench.open("C2");
    assert_eq!(bench.news(), [ACCEPTED, "tell C2 Refused { reason: NotNow }"]);
    bench.status.door = DoorState::Open;
    bench.read();
    bench.open("C3");
    assert_eq!(bench.news(), ["write 2 OpenDoor 1"]);
}

#[test]
fn without_an_echo_the_lift_settles_what_is_in_doubt() {
    for (action, to, (floor, levelled, motion, door), begun, _) in SHOWN.iter().copied() {
        let mut bench = doubtful(can(false, true, true), action, to);
        bench.run(LIFT_POLL_PERIOD);
        bench.shows(floor, levelled, motion, door);
        bench.run(Millis::seconds(60));
        let expected = if begun { vec![RAN.to_owned()] } else { Vec::new() };
        assert_eq!(bench.news(), expected, "{action:?} {to}: {floor} {motion:?} {door:?}");
        let settling = (!begun).then_some(Settling::Unclear);
        assert_eq!(bench.reading().settling, settling, "for a person: {floor} {motion:?} {door:?}");
    }
}

#[test]
fn without_an_echo_only_a_lift_that_never_stirred_says_not_sent() {
    let mut bench = doubtful(can(false, true, true), LiftAction::OpenDoor, "F1");
    bench.run(PLC_SETTLE);
    assert_eq!(bench.news(), Vec::<String>::new());
    bench.run(LIFT_POLL_PERIOD);
    assert_eq!(bench.news(), [NOT_SENT]);
    let mut bench = doubtful(can(false, true, true), LiftAction::OpenDoor, "F1");
    bench.status.door = DoorState::Obstructed;
    bench.run(LIFT_POLL_PERIOD);
    bench.status.door = DoorState::Closed;
    bench.run(Millis::seconds(60));
    assert_eq!(bench.news(), Vec::<String>::new(), "the command may be in force, and the door in its way");
    bench.status.door = DoorState::Opening;
    bench.run(LIFT_POLL_PERIOD);
    assert_eq!(bench.news(), [RAN]);
}

#[test]
fn a_slow_lift_is_watched_for_as_long_as_it_takes() {
    let slow = Capabilities { reaction_ms: Millis::seconds(4), ..can(false, true, true) };
    let mut bench = doubtful(slow, LiftAction::OpenDoor, "F1");
    bench.run(Millis::seconds(4));
    assert_eq!(bench.news(), Vec::<String>::new(), "it may be about to");
    bench.run(LIFT_POLL_PERIOD);
    assert_eq!(bench.news(), [NOT_SENT]);
    // With an echo the reaction says nothing: the PLC tells what it took at the next scan.
    let mut bench = doubtful(Capabilities { echo: true, ..slow }, LiftAction::OpenDoor, "F1");
    bench.run(PLC_SETTLE + LIFT_POLL_PERIOD);
    assert_eq!(bench.news(), [NOT_SENT]);
}

/// Whether the PLC echoes, what it then shows, and what becomes of the command whose write it confirmed: a lift on its way might be a PLC's own way
/// to its nearest stop.
#[test]
fn without_a_boot_counter_a_loss_of_the_connection_may_have_been_a_restart() {
    type Row = (bool, u16, Shown, &'static [&'static str]);
    let (closed, still) = (DoorState::Closed, Motion::Still);
    let rows: [Row; 6] = [
        (false, 0, ("F1", false, Motion::Up, closed), &[UNKNOWN]),
        (false, 0, ("F2", true, still, closed), &[UNKNOWN, RAN]),
        (false, 0, ("F1", true, still, closed), &[UNKNOWN]),
        (true, 1, ("F1", false, Motion::Up, closed), &[UNKNOWN]),
        (true, 1, ("F2", true, still, closed), &[UNKNOWN, RAN]),
        (true, 0, ("F1", true, still, closed), &[UNKNOWN, NOT_SENT]),
    ];
    for (echo, accepted, (floor, levelled, motion, door), expected) in rows {
        let mut bench = written(can(echo, false, true), LiftAction::GoTo, "F2");
        bench.read_failed();
        bench.shows(floor, levelled, motion, door);
        (bench.status.accepted, bench.status.completed) = (accepted, accepted);
        bench.run(Millis::seconds(60));
        assert_eq!(bench.news(), expected, "echo {echo}: {floor} {motion:?}");
        let mut bench = written(can(echo, true, true), LiftAction::GoTo, "F2");
        bench.read_failed();
        bench.shows(floor, levelled, motion, door);
        (bench.status.accepted, bench.status.completed) = (accepted, accepted);
        bench.run(LIFT_POLL_PERIOD);
        let stirs = floor == "F2" || motion == Motion::Up;
        let expected = if stirs { vec![ACCEPTED.to_owned()] } else { Vec::new() };
        assert_eq!(bench.news(), expected, "the counter says that it was none");
    }
}

#[test]
fn without_a_heartbeat_each_read_is_a_scan() {
    let mut bench = doubtful(can(true, true, false), LiftAction::OpenDoor, "F1");
    for _ in 0..=PLC_SETTLE.0 / LIFT_POLL_PERIOD.0 {
        bench.ms += LIFT_POLL_PERIOD.0;
        bench.read_frozen();
    }
    assert_eq!(bench.news(), [NOT_SENT]);
    bench.ms += PLC_FROZEN.0;
    assert_eq!(bench.reading().connection, Connection::Up, "nobody can see that it hangs");
}

#[test]
fn what_was_in_flight_over_a_restart_is_settled_by_the_lift_too() {
    for (door, expected) in [(DoorState::Open, RAN), (DoorState::Closed, NOT_SENT)] {
        let capabilities = can(false, false, false);
        let mut before = ready(capabilities);
        before.open("C1");
        let mut bench = Bench::on(&plant(capabilities), before.marks.clone(), 1000);
        bench.status.door = door;
        bench.run(PLC_SETTLE + LIFT_POLL_PERIOD.times(2));
        assert_eq!(bench.news(), [expected]);
        let shown = bench.reading().status.map(|it| it.accepted);
        assert_eq!(shown, Some(u16::from(expected == RAN)));
        let mut bench = Bench::on(&plant(capabilities), bench.marks.clone(), 9000);
        bench.read();
        assert_eq!(bench.reading().status.map(|it| it.accepted), shown, "a restart changes no echo");
    }
}

/// Marks that do not say what was asked: only a lift that stands as before settles it.
#[test]
fn marks_that_are_older_than_plcs_without_echo_are_read() {
    for (door, expected) in [(DoorState::Open, Vec::new()), (DoorState::Closed, vec![NOT_SENT.to_owned()])] {
        let capabilities = can(false, true, true);
        let before = written(capabilities, LiftAction::OpenDoor, "F1");
        let mut older = serde_json::to_value(&before.marks).unwrap();
        let lift = older["lifts"]["L1"].as_object_mut().unwrap();
        lift.remove("shown");
        let flight = lift["inFlight"].as_object_mut().unwrap();
        assert!(flight.remove("aim").is_some() && flight.remove("confirmed").is_some());
        let mut bench = Bench::on(&plant(capabilities), serde_json::from_value(older).unwrap(), 1000);
        bench.status.door = door;
        bench.run(Millis::seconds(60));
        assert_eq!(bench.news(), expected, "{door:?}");
    }
}

#[test]
fn without_an_echo_what_moves_unbidden_is_still_seen() {
    let mut bench = written(can(false, false, true), LiftAction::GoTo, "F2");
    bench.shows("F1", false, Motion::Up, DoorState::Closed);
    bench.run(Millis::seconds(2));
    bench.shows("F2", true, Motion::Still, DoorState::Closed);
    bench.run(Millis::seconds(2));
    assert_eq!(bench.reading().foreign, None, "it was commanded");
    bench.shows("F2", false, Motion::Down, DoorState::Closed);
    bench.run(LIFT_POLL_PERIOD);
    assert!(bench.reading().foreign.is_some());
}
