//! Contacts: both directions, what lies between two contacts, and what is refused.

use kernel::ids::{GatewayId, PointId};
use kernel::plant::LiftStop;

use super::*;

fn lift() -> Lift {
    let stop = |floor: &str| LiftStop {
        floor: FloorId::try_new(floor).unwrap(),
        landing: PointId::try_new("P1").unwrap(),
        waiting: Vec::new(),
    };
    Lift {
        gateway: GatewayId::try_new("G1").unwrap(),
        stops: vec![stop("F1"), stop("F2")],
        travel_per_floor_ms: Millis(4000),
        door_ms: Millis(2000),
        capacity_vehicles: 1,
        payload_kg: 2000,
        capabilities: Capabilities::default(),
    }
}

fn contacts() -> Contacts {
    let inputs = Inputs {
        at_stop: vec![100, 101],
        closed: 102,
        opened: 103,
        up: 104,
        down: 105,
        vehicle: 106,
        fire: 107,
        maintenance: 108,
        emergency: 109,
        fault: 110,
        occupied: 111,
    };
    Contacts { reaction_s: None, coils: Coils { call: vec![10, 11], open: 12, close: 13 }, inputs }
}

fn profile() -> ContactProfile {
    ContactProfile::try_new(contacts()).unwrap()
}

fn status() -> LiftStatus {
    LiftStatus {
        floor: FloorId::try_new("F2").unwrap(),
        levelled: true,
        door: DoorState::Closed,
        motion: Motion::Still,
        mode: LiftMode::Vehicle,
        fault: 0,
        accepted: 0,
        completed: 0,
        boot: 0,
        heartbeat: 0,
        occupied: true,
    }
}

/// The inputs that are on, as they come: the last byte is filled up.
fn on(inputs: &[u16]) -> Vec<bool> {
    (100..116).map(|it| inputs.contains(&it)).collect()
}

#[test]
fn what_contacts_can_tell_survives_them() {
    use LiftMode::{Emergency, Fire, Human, Maintenance, Vehicle};
    for door in [DoorState::Closed, DoorState::Open] {
        for mode in [Vehicle, Human, Fire, Maintenance, Emergency] {
            for (motion, levelled) in [(Motion::Still, true), (Motion::Up, false), (Motion::Down, false)] {
                let before = LiftStatus { door, mode, motion, levelled, fault: 1, ..status() };
                let bits = profile().encode_inputs(&lift(), &before);
                let mut memory = Memory { floor: Some(before.floor.clone()), ..Memory::default() };
                let read = profile().decode_inputs(&lift(), &bits, &mut memory, Instant::now());
                assert_eq!(read, Ok(before));
            }
        }
    }
}

#[test]
fn one_request_is_one_command() {
    let rows = [
        (LiftAction::GoTo, 1, 0, 1),
        (LiftAction::GoTo, 2, 1, 2),
        (LiftAction::OpenDoor, 2, 2, 0),
        (LiftAction::CloseDoor, 1, 3, 0),
    ];
    for (action, floor, coil, told) in rows {
        let bits = profile().encode_coils(&CommandBlock { number: 7, action, floor });
        assert_eq!(bits, (0..4).map(|it| it == coil).collect::<Vec<_>>(), "the one that is asked for");
        assert_eq!(profile().decode_coils(&bits), Some(CommandBlock { number: 0, action, floor: told }));
    }
    for bits in [[false; 4], [true, false, true, false]] {
        assert_eq!(profile().decode_coils(&bits), None);
    }
}

/// What comes after what, each so many milliseconds later, and how door and place then stand.
#[test]
fn between_two_contacts_the_last_one_counts() {
    use DoorState::{Closed, Closing, Obstructed, Open, Opening};
    type Read = (&'static [u16], u64, Result<(&'static str, bool, DoorState), Unbelievable>);
    let rows: [&[Read]; 5] = [
        &[
            (&[100, 102], 0, Ok(("F1", true, Closed))),
            (&[100], 100, Ok(("F1", true, Opening))),
            (&[100, 103], 2000, Ok(("F1", true, Open))),
            (&[100], 100, Ok(("F1", true, Closing))),
            (&[100, 102], 2000, Ok(("F1", true, Closed))),
        ],
        &[
            (&[100, 103], 0, Ok(("F1", true, Open))),
            (&[100], 100, Ok(("F1", true, Closing))),
            (&[100], 4000, Ok(("F1", true, Closing))),
            (&[100], 1, Ok(("F1", true, Obstructed))),
            (&[100, 103], 2000, Ok(("F1", true, Open))),
        ],
        &[
            (&[100, 102], 0, Ok(("F1", true, Closed))),
            (&[100, 102, 104], 100, Ok(("F1", false, Closed))),
            (&[102, 104], 100, Ok(("F1", false, Closed))),
            (&[101, 102, 104], 3000, Ok(("F2", false, Closed))),
            (&[101, 102], 100, Ok(("F2", true, Closed))),
        ],
        // Nobody saw what was before.
        &[(&[100], 0, Ok(("F1", true, Obstructed)))],
        &[(&[102], 0, Err(Unbelievable::Nowhere)), (&[], 0, Err(Unbelievable::Nowhere))],
    ];
    for reads in rows {
        let (mut memory, mut now) = (Memory::default(), Instant::now());
        for (inputs, later_ms, expected) in reads {
            now += Duration::from_millis(*later_ms);
            let read = profile().decode_inputs(&lift(), &on(inputs), &mut memory, now);
            let read = read.map(|it| (it.floor.to_string(), it.levelled, it.door));
            let expected = expected.clone().map(|(floor, level, door)| (floor.to_owned(), level, door));
            assert_eq!(read, expected, "{inputs:?}");
        }
    }
}

#[test]
fn contacts_that_contradict_each_other_are_no_read() {
    let rows: [(&[u16], &str); 4] = [
        (&[100, 101, 102], "the car is at stop 1 and at stop 2 at once"),
        (&[100, 102, 103], "the door is at both of its limits at once"),
        (&[100, 102, 104, 105], "the car travels up and down at once"),
        (&[], "the car is at no stop, and was not seen at one since the gateway began"),
    ];
    for (inputs, expected) in rows {
        let mut memory = Memory::default();
        let refused = profile().decode_inputs(&lift(), &on(inputs), &mut memory, Instant::now());
        assert_eq!(refused.unwrap_err().to_string(), expected);
    }
    let short = profile().decode_inputs(&lift(), &[true; 8], &mut Memory::default(), Instant::now());
    assert_eq!(short.unwrap_err().to_string(), "8 inputs were given, 12 are needed");
    let mut three = contacts();
    (three.inputs.at_stop, three.coils.call) = (vec![100, 101, 112], vec![10, 11, 14]);
    let three = ContactProfile::try_new(three).unwrap();
    let refused = three.decode_inputs(&lift(), &on(&[102, 112]), &mut Memory::default(), Instant::now());
    assert_eq!(refused.unwrap_err().to_string(), "the car is at stop 3, the lift has stops 1 to 2");
}

#[test]
fn a_profile_that_cannot_work_is_refused() {
    type Change = fn(&mut Contacts);
    let rows: &[(Change, &str)] = &[
        (|it| it.coils.open = 11, "coils.call and coils.open stand on one contact, 11"),
        (|it| it.inputs.opened = 102, "inputs.closed and inputs.opened stand on one contact, 102"),
        (
            |it| it.coils.close = 14,
            "the coils are not next to each other (10 to 14): they are written in one request",
        ),
        (
            |it| it.inputs.fault = 2100,
            "the inputs span 2001 (100 to 2100), at most 2000 are read in one request",
        ),
        (
            |it| it.inputs.at_stop = vec![100],
            "there are 2 calls and 1 stops; each stop has one of both, and a lift has at least two",
        ),
        (|it| it.reaction_s = Some(0.1), "reaction_s is 0.1; it must lie between 1 and 10 s"),
    ];
    for (change, expected) in rows {
        let mut changed = contacts();
        change(&mut changed);
        let wrong = ContactProfile::try_new(changed).unwrap_err();
        let text: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        assert_eq!(text.join("; "), *expected);
    }
}
