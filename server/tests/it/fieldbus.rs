//! The field bus against a PLC that misbehaves on the wire.

use std::net::SocketAddr;
use std::time::Duration;

use kernel::gateway::{CommandBlock, Event, WriteResult};
use kernel::ids::LiftId;
use kernel::lift::{DoorState, LiftAction};
use kernel::plant::Lift;
use server::fieldbus::Profile;
use server::fieldbus::modbus::{self, Bus, BusLift, Patience};
use server::fieldbus::wire::Wire;
use server::site;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::brokers::{PATIENCE, free_address, until};
use crate::plc::{Framing, OnWrite, Plc};

fn a_lift() -> (LiftId, Lift) {
    let plant = site::parse(site::SMALL, "small.toml").unwrap().plant;
    plant.lifts.into_iter().next().unwrap()
}

/// No answer that is on its way comes too late for it.
const CALM: Patience =
    Patience { call: PATIENCE, connect: PATIENCE, quiet: Duration::from_millis(50), write: PATIENCE };

fn start(address: SocketAddr, patience: Patience, stop: &CancellationToken) -> (Bus, Receiver<Event>) {
    start_over(Wire::Tcp(address.into()), patience, stop)
}

fn start_over(wire: Wire, patience: Patience, stop: &CancellationToken) -> (Bus, Receiver<Event>) {
    let (lift, model) = a_lift();
    let lifts = vec![BusLift { lift, model, unit: 1, profile: Profile::built_in() }];
    let (tx, events) = mpsc::channel(64);
    (modbus::start(wire, lifts, patience, tx, stop.clone()), events)
}

async fn next(events: &mut Receiver<Event>) -> Event {
    timeout(PATIENCE, events.recv()).await.expect("something happens").expect("the bus lives")
}

async fn next_read(events: &mut Receiver<Event>) -> kernel::lift::LiftStatus {
    loop {
        if let Event::Read { status, .. } = next(events).await {
            return status;
        }
    }
}

async fn next_failure(events: &mut Receiver<Event>) -> String {
    loop {
        if let Event::ReadFailed { reason, .. } = next(events).await {
            return reason;
        }
    }
}

async fn next_result(events: &mut Receiver<Event>) -> (u16, WriteResult) {
    loop {
        if let Event::Written { number, result, .. } = next(events).await {
            return (number, result);
        }
    }
}

const OPEN: CommandBlock = CommandBlock { number: 7, action: LiftAction::OpenDoor, floor: 1 };

#[tokio::test(flavor = "multi_thread")]
async fn every_end_of_a_write_is_told_apart() {
    // How the PLC answers; what the write is; whether the connection is thrown away; whether the PLC ran it.
    let rows = [
        (OnWrite::Confirm, WriteResult::Confirmed, false, true),
        (OnWrite::RunAndHangUp, WriteResult::Unknown, true, true),
        (OnWrite::HangUp, WriteResult::Unknown, true, false),
        (OnWrite::AnswerLate, WriteResult::Unknown, true, true),
        (OnWrite::EchoWrongAddress, WriteResult::Unknown, true, true),
        (OnWrite::OtherUnit, WriteResult::Unknown, true, true),
        (OnWrite::OtherTransaction, WriteResult::Unknown, true, true),
        (OnWrite::Except(0x01), WriteResult::NotSent, false, false),
        (OnWrite::Except(0x02), WriteResult::NotSent, false, false),
        (OnWrite::Except(0x03), WriteResult::NotSent, false, false),
        (OnWrite::Except(0x04), WriteResult::Unknown, true, false),
        (OnWrite::Except(0x05), WriteResult::Unknown, true, false),
        (OnWrite::Except(0x06), WriteResult::NotSent, false, false),
        (OnWrite::Except(0x0A), WriteResult::Unknown, true, false),
        (OnWrite::Except(0x0B), WriteResult::Unknown, true, false),
    ];
    for (on_write, expected, reconnects, runs) in rows {
        let (plc, stop) = (Plc::start().await, CancellationToken::new());
        plc.with(|it| it.on_write = on_write);
        // An answer that is late is waited for in vain; on a slow machine one that is not may be, too.
        let waits_in_vain = on_write == OnWrite::AnswerLate;
        let patience = if waits_in_vain { Patience::default() } else { CALM };
        let (bus, mut events) = start(plc.address, patience, &stop);
        next_read(&mut events).await;
        bus.write(a_lift().0, OPEN).unwrap();
        assert_eq!(next_result(&mut events).await, (7, expected), "{on_write:?}");
        // Reads go on, and what they show is right: no late answer was taken for theirs.
        let status = next_read(&mut events).await;
        assert_eq!(status.accepted, if runs { 7 } else { 0 }, "{on_write:?}");
        let connections = plc.with(|it| it.connections);
        let expected = if reconnects { 2 } else { 1 };
        assert!(connections == expected || waits_in_vain && connections > 2, "{on_write:?}: {connections}");
        assert_eq!(plc.with(|it| it.ran.clone()), if runs { vec![7] } else { vec![] }, "{on_write:?}");
        assert_eq!(plc.with(|it| it.open_most), 1, "one connection at a time");
        stop.cancel();
    }
}

/// Nothing numbers the requests of RTU, and a serial server hands a late answer to the next connection.
#[tokio::test(flavor = "multi_thread")]
async fn over_rtu_no_late_answer_is_taken_for_another() {
    let rows = [
        (OnWrite::Confirm, WriteResult::Confirmed, false, true),
        (OnWrite::RunAndHangUp, WriteResult::Unknown, true, true),
        (OnWrite::HangUp, WriteResult::Unknown, true, false),
        (OnWrite::AnswerLate, WriteResult::Unknown, true, true),
        (OnWrite::EchoWrongAddress, WriteResult::Unknown, true, true),
        (OnWrite::OtherUnit, WriteResult::Unknown, true, true),
        (OnWrite::Except(0x06), WriteResult::NotSent, false, false),
        (OnWrite::Except(0x0B), WriteResult::Unknown, true, false),
    ];
    for (on_write, expected, reconnects, runs) in rows {
        let (plc, stop) = (Plc::framed(Framing::Rtu).await, CancellationToken::new());
        plc.with(|it| it.on_write = on_write);
        let patience = if on_write == OnWrite::AnswerLate { Patience::default() } else { CALM };
        let (bus, mut events) = start_over(Wire::RtuOverTcp(plc.address.into()), patience, &stop);
        next_read(&mut events).await;
        bus.write(a_lift().0, OPEN).unwrap();
        assert_eq!(next_result(&mut events).await, (7, expected), "{on_write:?}");
        plc.with(|it| it.on_write = OnWrite::Confirm);
        let status = next_read(&mut events).await;
        assert_eq!(status.accepted, if runs { 7 } else { 0 }, "{on_write:?}");
        let connections = plc.with(|it| it.connections);
        assert!(reconnects == (connections > 1), "{on_write:?}: {connections}");
        assert_eq!(plc.with(|it| it.ran.clone()), if runs { vec![7] } else { vec![] }, "{on_write:?}");
        stop.cancel();
    }
}

/// The late answer shows a door that is open by then; taken for the next one it would be believed.
#[tokio::test(flavor = "multi_thread")]
async fn over_rtu_a_late_read_is_thrown_away() {
    let (plc, stop) = (Plc::framed(Framing::Rtu).await, CancellationToken::new());
    let wire = Wire::RtuOverTcp(plc.address.into());
    let (_bus, mut events) = start_over(wire, Patience::default(), &stop);
    next_read(&mut events).await;
    plc.with(|it| (it.status[2], it.read_late) = (3, true));
    until("the read was answered too late", || plc.with(|it| !it.read_late)).await;
    plc.with(|it| it.status[2] = 1);
    next_failure(&mut events).await;
    for _ in 0..3 {
        let status = next_read(&mut events).await;
        assert_eq!(status.door, DoorState::Closed, "what was shown before the connection broke");
    }
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_without_connection_was_not_sent() {
    let stop = CancellationToken::new();
    let (bus, mut events) = start(free_address(), CALM, &stop);
    let reason = next_failure(&mut events).await;
    assert!(reason.starts_with("no connection to 127.0.0.1:"), "{reason}");
    bus.write(a_lift().0, OPEN).unwrap();
    assert_eq!(next_result(&mut events).await, (7, WriteResult::NotSent));
    stop.cancel();
    until("the bus ends", || bus.write(a_lift().0, OPEN) == Err(modbus::BusRefusal::Stopped)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_told_with_register_and_value() {
    let (plc, stop) = (Plc::start().await, CancellationToken::new());
    let (_bus, mut events) = start(plc.address, CALM, &stop);
    next_read(&mut events).await;
    plc.with(|it| it.status[2] = 0);
    let expected = "register 2 (status.door) holds 0: 1 closed, 2 opening, 3 open, 4 closing, 5 obstructed";
    assert_eq!(next_failure(&mut events).await, expected);
    plc.with(|it| it.read_exception = Some(0x02));
    while next_failure(&mut events).await != "the PLC answered exception 0x02, Illegal data address" {}
    plc.with(|it| {
        it.status[2] = 1;
        it.read_exception = None;
    });
    next_read(&mut events).await;
    assert_eq!(plc.with(|it| it.connections), 1, "the connection was sound all the time");
    stop.cancel();
}
