//! Profiles: the documented table, both directions, and what is refused.

use std::fmt::Write as _;

use kernel::ids::{FloorId, GatewayId, PointId};
use kernel::lift::{DoorState, LiftAction, LiftMode, Motion};
use kernel::plant::LiftStop;
use kernel::time::Millis;

use super::*;

fn lift() -> Lift {
    let stop = |floor: &str| LiftStop {
        floor: FloorId::try_new(floor).unwrap(),
        landing: PointId::try_new("P1").unwrap(),
        waiting: Vec::new(),
    };
    Lift {
        gateway: GatewayId::try_new("G1").unwrap(),
        stops: vec![stop("F1"), stop("F2"), stop("F3")],
        travel_per_floor_ms: Millis(4000),
        door_ms: Millis(2000),
        capacity_vehicles: 1,
        payload_kg: 2000,
        capabilities: Capabilities::default(),
    }
}

fn status() -> LiftStatus {
    LiftStatus {
        floor: FloorId::try_new("F2").unwrap(),
        levelled: true,
        door: DoorState::Open,
        motion: Motion::Still,
        mode: LiftMode::Vehicle,
        fault: 0,
        accepted: 41,
        completed: 40,
        boot: 3,
        heartbeat: 65535,
        occupied: true,
    }
}

#[test]
fn the_documented_table_is_the_built_in_profile() {
    let built_in = Registers::built_in();
    let mut fields = [built_in.status_fields(), built_in.command_fields()].concat();
    fields.sort_by_key(|it| it.1);
    let table = fields.iter().fold(String::new(), |mut text, (field, register, values)| {
        writeln!(text, "//! | {register} | {field} | {values} |").unwrap();
        text
    });
    assert!(include_str!("profile.rs").contains(&table), "the table in profile.rs should read:\n{table}");
}

#[test]
fn the_built_in_profile_is_valid() {
    assert_eq!(RegisterProfile::try_new(Registers::built_in()), Ok(RegisterProfile::built_in()));
}

#[test]
fn every_status_survives_the_registers() {
    use DoorState::{Closed, Closing, Obstructed, Open, Opening};
    use LiftMode::{Emergency, Fire, Human, Maintenance, Vehicle};
    let (profile, lift) = (RegisterProfile::built_in(), lift());
    for door in [Closed, Opening, Open, Closing, Obstructed] {
        for motion in [Motion::Still, Motion::Up, Motion::Down] {
            for mode in [Vehicle, Human, Fire, Maintenance, Emergency] {
                let before = LiftStatus { door, motion, mode, ..status() };
                let words = profile.encode_status(&lift, &before).unwrap();
                assert_eq!(profile.decode_status(&lift, &words), Ok(before));
            }
        }
    }
}

#[test]
fn every_command_survives_the_registers() {
    let mut registers = Registers::built_in();
    registers.command = CommandRegisters { number: Some(202), action: 200, floor: 201 };
    let profile = RegisterProfile::try_new(registers).unwrap();
    for action in [LiftAction::GoTo, LiftAction::OpenDoor, LiftAction::CloseDoor] {
        let before = CommandBlock { number: 65535, action, floor: 3 };
        let words = profile.encode_command(&before);
        assert_eq!(words[2], 65535, "the order of the words follows the addresses");
        assert_eq!(profile.decode_command(200, &words), Ok(before));
    }
}

#[test]
fn senseless_registers_name_register_and_value() {
    let (profile, lift) = (RegisterProfile::built_in(), lift());
    let good = profile.encode_status(&lift, &status()).unwrap();
    let rows: &[(usize, u16, &str)] = &[
        (0, 0, "register 0 (status.floor) holds stop 0, the lift has stops 1 to 3"),
        (0, 4, "register 0 (status.floor) holds stop 4, the lift has stops 1 to 3"),
        (1, 2, "register 1 (status.levelled) holds 2: 0 no, 1 yes"),
        (2, 0, "register 2 (status.door) holds 0: 1 closed, 2 opening, 3 open, 4 closing, 5 obstructed"),
        (3, 9, "register 3 (status.motion) holds 9: 1 still, 2 up, 3 down"),
        (4, 0, "register 4 (status.mode) holds 0: 1 vehicle, 2 human, 3 fire, 4 maintenance, 5 emergency"),
        (10, 65535, "register 10 (status.occupied) holds 65535: 0 no, 1 yes"),
    ];
    for (register, value, expected) in rows {
        let mut words = good.clone();
        words[*register] = *value;
        assert_eq!(profile.decode_status(&lift, &words).unwrap_err().to_string(), *expected);
    }
    let short = profile.decode_status(&lift, &good[..10]).unwrap_err().to_string();
    assert_eq!(short, "10 registers from 0 were given, 11 from 0 are needed");
    let foreign = profile.decode_command(99, &[1, 1, 1]).unwrap_err().to_string();
    assert_eq!(foreign, "3 registers from 99 were given, 3 from 100 are needed");
    let action = profile.decode_command(100, &[1, 0, 1]).unwrap_err().to_string();
    assert_eq!(action, "register 101 (command.action) holds 0: 1 go to, 2 open door, 3 close door");
}

type Change = fn(&mut Registers);

const HALF_ECHO: &str = "claims an echo that it does not map: status.accepted is there and command.number is not; map command.number, status.accepted and status.completed, or none of the three";

/// Claims that nothing stands for.
const CLAIMS: &[(Change, &str)] = &[
    (|it| (it.command.number, it.status.completed) = (None, None), HALF_ECHO),
    (
        |it| it.status.completed = None,
        "claims an echo that it does not map: command.number is there and status.completed is not; map command.number, status.accepted and status.completed, or none of the three",
    ),
    (|it| it.reaction_s = Some(0.9), "reaction_s is 0.9; it must lie between 1 and 10 s"),
    (|it| it.reaction_s = Some(f64::NAN), "reaction_s is NaN; it must lie between 1 and 10 s"),
];

/// What is left out, and what is then told.
#[test]
fn what_is_mapped_is_what_the_plc_can_tell() {
    let all = Capabilities::default();
    let rows: &[(Change, Capabilities)] = &[
        (|_| (), all),
        (
            |it| (it.command.number, it.status.accepted, it.status.completed) = (None, None, None),
            Capabilities { echo: false, ..all },
        ),
        (|it| it.status.boot = None, Capabilities { boot: false, ..all }),
        (|it| it.status.heartbeat = None, Capabilities { heartbeat: false, ..all }),
        (|it| it.reaction_s = Some(2.5), Capabilities { reaction_ms: Millis(2500), ..all }),
    ];
    for (change, expected) in rows {
        let mut registers = Registers::built_in();
        change(&mut registers);
        let profile = RegisterProfile::try_new(registers).unwrap();
        assert_eq!(profile.capabilities(), *expected);
        let words = profile.encode_status(&lift(), &status()).unwrap();
        let read = profile.decode_status(&lift(), &words).unwrap();
        let told = |told: bool, value: u16| if told { value } else { 0 };
        let echo = (told(expected.echo, status().accepted), told(expected.echo, status().completed));
        assert_eq!((read.accepted, read.completed), echo);
        assert_eq!(read.boot, told(expected.boot, status().boot));
        assert_eq!(read.heartbeat, told(expected.heartbeat, status().heartbeat));
        let block = CommandBlock { number: 7, action: LiftAction::GoTo, floor: 2 };
        let words = profile.encode_command(&block);
        assert_eq!(words.len(), if expected.echo { 3 } else { 2 });
        let number = told(expected.echo, 7);
        assert_eq!(
            profile.decode_command(profile.command_window().start, &words),
            Ok(CommandBlock { number, ..block })
        );
    }
}

#[test]
fn a_profile_that_cannot_work_is_refused() {
    let rows: &[(Change, &str)] = &[
        (|it| it.status.door = 3, "status.door and status.motion stand on one register, 3"),
        (
            |it| it.command.number = Some(5),
            "status.fault and command.number stand on one register, 5; the command registers are not next to each other (5 to 102): they are written in one request",
        ),
        (
            |it| it.command.floor = 103,
            "the command registers are not next to each other (100 to 103): they are written in one request",
        ),
        (
            |it| it.status.occupied = 125,
            "the status registers span 126 (0 to 125), at most 125 are read in one request",
        ),
        (
            |it| it.status.occupied = 65535,
            "the status registers span 65536 (0 to 65535), at most 125 are read in one request",
        ),
    ];
    for (change, expected) in rows.iter().chain(CLAIMS) {
        let mut registers = Registers::built_in();
        change(&mut registers);
        let wrong = RegisterProfile::try_new(registers).unwrap_err();
        let text: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        assert_eq!(text.join("; "), *expected);
    }
}

#[test]
fn a_floor_without_a_stop_is_not_written() {
    let status = LiftStatus { floor: FloorId::try_new("F9").unwrap(), ..status() };
    let refused = RegisterProfile::built_in().encode_status(&lift(), &status).unwrap_err();
    assert_eq!(refused.to_string(), "the lift has no stop on floor F9");
}
