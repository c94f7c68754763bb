//! Messages that together show each field and each variant. A new variant of a plain enumeration does not compile
//! until it is listed here.

use kernel::ids::{
    FloorId, GatewayId, Generation, LiftId, NodeId, OrderId, PointId, SessionId, TaskId, VehicleId,
};
use kernel::lease::{FencingToken, LeaseNonce};
use kernel::lift::{DoorState, Expectation, LiftAction, LiftMode, LiftStatus, Motion};
use kernel::time::Millis;
use kernel::wire::gateway::{
    Arbitration, Authority, Connection, ControlBeat, ForeignMove, ForeignPart, GatewayCommand,
    GatewayRefusal, GatewayStatus, LiftCommand, LiftReading, Outcome, ReadRef, SessionRef, Settling,
    StoredEpoch, Verdict,
};
use kernel::wire::vehicle::{
    AckVerdict, Heartbeat, Instruction, Operation, Place, Presence, Progress, Telemetry, VehicleAck,
    VehicleCommand, VehicleRefusal, VehicleReport, WorkState,
};

/// Every value of an enumeration without data.
macro_rules! every {
    ($kind:ident: $($variant:ident),+ $(,)?) => {{
        #[allow(dead_code)]
        fn complete(it: $kind) {
            match it { $($kind::$variant => (),)+ }
        }
        [$($kind::$variant),+]
    }};
}

fn name<T: TryFrom<String>>(text: &str) -> T {
    T::try_from(text.to_owned()).unwrap_or_else(|_| panic!("{text} is no name"))
}

pub(super) fn vehicle_commands() -> Vec<VehicleCommand> {
    let order: OrderId = name("O-1");
    let path: Vec<PointId> = vec![name("P1"), name("P2")];
    let drive = |then| Instruction::Drive { path: path.clone(), then };
    let ride = Instruction::Ride {
        lift: name::<LiftId>("L1"),
        session: name::<SessionId>("S-1"),
        from: name::<FloorId>("3"),
        to: name::<FloorId>("1"),
        approach: path.clone(),
        exit: name("L1-1"),
    };
    let instructions = [
        Instruction::OpenLink,
        drive(Operation::Stand),
        drive(Operation::Pick { order: order.clone() }),
        drive(Operation::Drop { order }),
        ride,
    ];
    let command = |instruction: Instruction| VehicleCommand {
        id: name("C-1"),
        vehicle: name("V01"),
        sequence: 1,
        task: (instruction != Instruction::OpenLink).then(|| name::<TaskId>("T-1")),
        step: 0,
        claim: Generation(1),
        link: Generation(2),
        valid_for_ms: Millis(30_000),
        instruction,
    };
    instructions.into_iter().map(command).collect()
}

pub(super) fn acks() -> Vec<VehicleAck> {
    let refusals =
        every!(VehicleRefusal: StaleLink, StaleClaim, BelowWindow, Busy, NotThere, UnknownPlace, WrongLoad);
    let verdicts =
        refusals.into_iter().map(|reason| AckVerdict::Refused { reason }).chain([AckVerdict::Accepted]);
    let ack = |verdict| VehicleAck {
        command: name("C-1"),
        vehicle: name("V01"),
        sequence: 1,
        link: Generation(2),
        boot: 1,
        verdict,
    };
    verdicts.map(ack).collect()
}

pub(super) fn reports() -> Vec<VehicleReport> {
    let progress = [
        Progress::Started,
        Progress::Boarded,
        Progress::Alighted,
        Progress::Done,
        Progress::Failed { reason: "the fork is stuck".to_owned() },
    ];
    let report = |progress| VehicleReport {
        command: name("C-1"),
        task: Some(name("T-1")),
        vehicle: name("V01"),
        boot: 1,
        report: 1,
        progress,
    };
    progress.into_iter().map(report).collect()
}

fn places() -> Vec<Place> {
    vec![
        Place::Unknown,
        Place::At { point: name("P1") },
        Place::Between { from: name("P1"), to: name("P2"), progress_pct: 40 },
        Place::InCar { lift: name("L1") },
    ]
}

pub(super) fn heartbeats() -> Vec<Heartbeat> {
    let works = every!(WorkState: Idle, Driving, Handling, Waiting, Faulted);
    let beat = |(idx, work): (usize, WorkState)| Heartbeat {
        vehicle: name("V01"),
        boot: 1,
        beat: 1,
        work,
        command: (idx > 0).then(|| name("C-2")),
        acknowledged: 2,
        completions: vec![name("C-1")],
        window_floor: 1,
        link: Generation(2),
        link_open: true,
        place: places()[idx % 4].clone(),
        load: (idx > 0).then(|| name("O-1")),
    };
    works.into_iter().enumerate().map(beat).collect()
}

pub(super) fn telemetry() -> Vec<Telemetry> {
    let sample = |place| Telemetry {
        vehicle: name("V01"),
        boot: 1,
        sample: 1,
        place,
        battery_pct: 81,
        rssi_dbm: -74,
        loss_pct: 2,
    };
    places().into_iter().map(sample).collect()
}

pub(super) fn presence() -> Vec<Presence> {
    [true, false].map(|online| Presence { vehicle: name::<VehicleId>("V01"), online }).to_vec()
}

fn expectations() -> Vec<Expectation> {
    let doors = every!(DoorState: Closed, Opening, Open, Closing, Obstructed);
    let motions = every!(Motion: Still, Up, Down);
    let modes = every!(LiftMode: Vehicle, Human, Fire, Maintenance, Emergency);
    let floor: FloorId = name("3");
    (0..5)
        .map(|n| Expectation { floor: floor.clone(), door: doors[n], motion: motions[n % 3], mode: modes[n] })
        .collect()
}

const READ: ReadRef = ReadRef { boot: 3, tick: 118 };

pub(super) fn gateway_commands() -> Vec<GatewayCommand> {
    let actions = every!(LiftAction: GoTo, OpenDoor, CloseDoor);
    let lift = |action: LiftAction, authority: Authority| LiftCommand {
        id: name("C-1"),
        lift: name("L1"),
        action,
        floor: name("3"),
        holder: name("A"),
        sequence: 1,
        authority,
        session: SessionRef {
            session: name("S-1"),
            generation: Generation(12),
            task: name("T-1"),
            claim: Generation(1),
            link: Generation(2),
            vehicle: name("V01"),
        },
        read: READ,
        expects: expectations()[0].clone(),
        valid_for_ms: Millis(2500),
    };
    let vehicles = vehicle_commands().into_iter().map(GatewayCommand::Vehicle);
    let lease = Authority::Lease { token: FencingToken { epoch: 1, serial: 418 }, nonce: LeaseNonce(7) };
    let edge = GatewayCommand::Lift(lift(LiftAction::GoTo, Authority::Edge { epoch: 2 }));
    let lifts = actions.into_iter().map(|action| GatewayCommand::Lift(lift(action, lease)));
    lifts.chain([edge]).chain(vehicles).collect()
}

fn gateway_refusals() -> Vec<GatewayRefusal> {
    use GatewayRefusal as R;
    let missed = expectations().into_iter().map(|found| R::ExpectationMissed { found });
    let plain = [
        R::StaleToken,
        R::WrongArbitration,
        R::StaleSession,
        R::StaleClaim,
        R::CarOccupied,
        R::UnknownTarget,
        R::StaleRead,
        R::Verifying,
        R::Unreachable,
        R::OutOfService,
        R::NotNow,
        R::QueueFull,
    ];
    missed.chain(plain).collect()
}

pub(super) fn outcomes() -> Vec<Outcome> {
    use Verdict as V;
    let refused = gateway_refusals().into_iter().map(|reason| V::Refused { reason });
    let plain = [V::Accepted, V::Forwarded, V::Expired, V::Unknown, V::Ran, V::NotSent];
    let outcome = |verdict: Verdict| Outcome {
        gateway: name::<GatewayId>("G1"),
        boot: 3,
        command: name("C-1"),
        lift: (verdict != Verdict::Forwarded).then(|| name("L1")),
        number: (verdict == Verdict::Accepted).then_some(32),
        verdict,
    };
    refused.chain(plain).map(outcome).collect()
}

pub(super) fn statuses() -> Vec<GatewayStatus> {
    let connections = every!(Connection: Unknown, Up, Down, Frozen);
    let status = LiftStatus {
        floor: name("3"),
        levelled: true,
        door: DoorState::Open,
        motion: Motion::Still,
        mode: LiftMode::Vehicle,
        fault: 0,
        accepted: 31,
        completed: 31,
        boot: 2,
        heartbeat: 50_112,
        occupied: true,
    };
    let arbitrations = every!(Arbitration: Lease, Edge, Returning);
    let reading = |connection: Connection, arbitration: Arbitration| LiftReading {
        lift: name("L1"),
        read: READ,
        status: (connection != Connection::Unknown).then(|| status.clone()),
        age_ms: Millis(120),
        connection,
        arbitration,
        epoch: 1,
        token: FencingToken { epoch: 1, serial: 418 },
        verifying: (connection == Connection::Down).then(|| name("C-1")),
        settling: None,
        connections_lost: 0,
        foreign: None,
    };
    let lease = connections.into_iter().map(|it| reading(it, Arbitration::Lease));
    let foreign = every!(ForeignPart: Car, Door, Command).map(|part| LiftReading {
        foreign: Some(ForeignMove { nth: 2, part, floor: name("3"), age_ms: Millis(400), over: false }),
        ..reading(Connection::Up, Arbitration::Lease)
    });
    let edge = arbitrations.into_iter().map(|it| reading(Connection::Up, it));
    let reads = Settling::Reads { left_ms: Millis(600) };
    let steps = [reads, Settling::NoReads, Settling::Frozen, Settling::Restarted, Settling::Unclear];
    let in_doubt = steps.map(|step| LiftReading {
        verifying: Some(name("C-1")),
        settling: Some(step),
        ..reading(Connection::Up, Arbitration::Lease)
    });
    let lifts = lease.chain(edge).chain(foreign).chain(in_doubt).collect();
    vec![GatewayStatus { gateway: name("G1"), boot: 3, message: 1, messages_rejected: 4, lifts }]
}

pub(super) fn beats() -> Vec<ControlBeat> {
    let epochs = vec![StoredEpoch { lift: name("L1"), epoch: 3 }];
    let beat =
        |reaches_store, epochs| ControlBeat { node: name::<NodeId>("A"), beat: 1, reaches_store, epochs };
    vec![beat(None, Vec::new()), beat(Some(false), Vec::new()), beat(Some(true), epochs)]
}
