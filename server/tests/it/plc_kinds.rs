//! A small ride with each kind of PLC on the wire: a real gateway, the simulated PLC, and a relay that loses an answer.

use std::collections::BTreeMap;
use std::path::Path;

use kernel::gateway::Event;
use kernel::lift::{DoorState, LiftAction};
use kernel::wire::gateway::{LiftReading, Verdict};
use server::drill::relay::{Carries, Relay, RelayFault};
use server::fieldbus::modbus::{self, BusLift, Patience};
use server::fieldbus::wire::Wire;
use server::messaging::broker;
use server::roles::gateway::Wires;
use server::simulate::{self, Line, Listen, Options};
use server::site::{self, SiteFile};
use server::{roles, store};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::brokers::PATIENCE;
use crate::desk::Desk;

/// Registers of a PLC that tells where its lift is, and nothing of commands, starts and scans.
const MUTE: &str = "[profiles.other]
command = { action = 20, floor = 21 }
status = { floor = 0, levelled = 1, door = 2, motion = 3, mode = 4, fault = 5, occupied = 6 }
";

const CONTACTS: &str = "[profiles.other]
kind = \"contacts\"
coils = { call = [0, 1], open = 2, close = 3 }
[profiles.other.inputs]
at_stop = [0, 1]
closed = 2
opened = 3
up = 4
down = 5
vehicle = 6
fire = 7
maintenance = 8
emergency = 9
fault = 10
occupied = 11
";

/// The small site, faster, with this PLC.
fn site(plc: &str, profiles: &str) -> SiteFile {
    let text = site::SMALL
        .replace("plc = { address = \"127.0.0.1:1502\", unit = 1, profile = \"hoistway-plc\" }", plc)
        .replace("travel_per_floor_s = 6.0", "travel_per_floor_s = 1.0")
        .replace("door_s = 3.0", "door_s = 1.0");
    site::parse(&format!("{text}\n{profiles}"), "small.toml").unwrap_or_else(|errors| panic!("{errors}"))
}

/// The plant on its wire, the gateway, and what stands between them.
struct Hall {
    desk: Desk,
    plant: simulate::Running,
    relay: Relay,
    stop: CancellationToken,
    _folder: tempfile::TempDir,
}

impl Hall {
    async fn open(site: SiteFile, folder: tempfile::TempDir) -> Self {
        let stop = CancellationToken::new();
        let broker = broker::start("127.0.0.1:0".parse().unwrap()).await.unwrap().address();
        let plc = site.plcs.values().next().unwrap().clone();
        let mut plcs = roles::simulate::plcs(&site).unwrap_or_default();
        for it in plcs.values_mut() {
            // A line is laid to the relay instead, so that an answer can be lost on it.
            if matches!(it.listen, Listen::Rtu(_)) {
                it.listen = Listen::RtuOverTcp("127.0.0.1:0".parse().unwrap());
            }
            it.listen.set_free_port();
        }
        let pool = store::open(&folder.path().join("plant.db")).await.unwrap();
        let options =
            Options { broker: broker.into(), plcs, report: None, seed: 1, boot: 0, pool, roads: None };
        let plant = simulate::start(&site.plant, options, stop.clone()).await.unwrap();
        let carries = if matches!(plc.wire, Wire::Tcp(_)) { Carries::Modbus } else { Carries::Rtu };
        let at = *plant.plc_addresses.values().next().unwrap();
        let relay = Relay::start(at, carries, stop.clone()).await.unwrap();
        if let Wire::Rtu(serial) = &plc.wire {
            let carried = Line::open(serial.device.clone().into()).unwrap().carry(relay.address());
            let stop = stop.clone();
            tokio::spawn(async move { stop.run_until_cancelled(carried).await });
        }
        let plc_addresses: BTreeMap<_, _> =
            site.plcs.keys().map(|lift| (lift.clone(), relay.address())).collect();
        let pool = store::open(&folder.path().join("gateway.db")).await.unwrap();
        let wires = Wires { broker: &broker.into(), plc_addresses: &plc_addresses, levers: None };
        roles::gateway::start(&site, "G1", wires, pool, stop.clone()).await.unwrap();
        Self { desk: Desk::open(site, broker), plant, relay, stop, _folder: folder }
    }

    async fn shows(&mut self, wanted: impl Fn(&LiftReading) -> bool) {
        timeout(PATIENCE, self.desk.reading(wanted)).await.expect("it comes to show");
    }

    async fn commands_taken(&self) -> (u64, u64) {
        let report = self.plant.report().await.unwrap();
        let lift = &report.lifts[0];
        assert_eq!((lift.rejected, lift.contradictions, lift.e_stops), (0, 0, 0));
        (lift.writes, lift.taken)
    }
}

fn stands(reading: &LiftReading, floor: &str, door: DoorState) -> bool {
    reading.status.as_ref().is_some_and(|it| {
        it.levelled && it.floor.as_str() == floor && it.door == door && it.accepted == it.completed
    })
}

/// Up, open with the answer lost after the PLC acted, shut.
async fn ride(site: SiteFile, folder: tempfile::TempDir) {
    let mut hall = Hall::open(site, folder).await;
    let (_, told) = hall.desk.decided_at("C1", LiftAction::GoTo, Some("2"), 1).await;
    assert_eq!(told, Verdict::Accepted);
    hall.shows(|it| stands(it, "2", DoorState::Closed)).await;

    hall.relay.set(RelayFault::AnswerLost);
    let (command, told) = hall.desk.decided("C2", LiftAction::OpenDoor, 2).await;
    assert_eq!(told, Verdict::Unknown);
    hall.relay.set(RelayFault::Sound);
    let outcome = hall.desk.outcome().await;
    assert_eq!((outcome.command, outcome.verdict), (command.id, Verdict::Ran));
    hall.shows(|it| stands(it, "2", DoorState::Open) && it.verifying.is_none()).await;

    let (_, told) = hall.desk.decided("C3", LiftAction::CloseDoor, 3).await;
    assert_eq!(told, Verdict::Accepted);
    hall.shows(|it| stands(it, "2", DoorState::Closed)).await;
    assert_eq!(hall.commands_taken().await, (3, 3), "nothing is run twice");
    hall.stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn modbus_tcp_with_echo() {
    let plc = "plc = { address = \"127.0.0.1:1502\" }";
    ride(site(plc, ""), tempfile::tempdir().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn modbus_tcp_without_echo() {
    let plc = "plc = { address = \"127.0.0.1:1502\", profile = \"other\" }";
    ride(site(plc, MUTE), tempfile::tempdir().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rtu_behind_a_serial_server() {
    let plc = "plc = { transport = \"rtu-over-tcp\", address = \"127.0.0.1:1502\" }";
    ride(site(plc, ""), tempfile::tempdir().unwrap()).await;
}

fn serial(folder: &Path) -> String {
    let device = folder.join("ttyL1");
    // A pseudo-terminal knows no parity.
    format!("plc = {{ transport = \"rtu\", device = \"{}\", parity = \"none\" }}", device.display())
}

#[tokio::test(flavor = "multi_thread")]
async fn rtu_on_a_serial_line() {
    let folder = tempfile::tempdir().unwrap();
    ride(site(&serial(folder.path()), ""), folder).await;
}

/// The line that the plant lays by itself leads to the PLC as well.
#[tokio::test(flavor = "multi_thread")]
async fn the_plant_lays_the_line_of_its_site_file() {
    let (folder, stop) = (tempfile::tempdir().unwrap(), CancellationToken::new());
    let site = site(&serial(folder.path()), "");
    let (broker, plcs) = ("127.0.0.1:1".parse().unwrap(), roles::simulate::plcs(&site).unwrap());
    let pool = store::open(&folder.path().join("plant.db")).await.unwrap();
    let options = Options { broker, plcs, report: None, seed: 1, boot: 0, pool, roads: None };
    let plant = simulate::start(&site.plant, options, stop.clone()).await.unwrap();
    let (events, mut reads) = tokio::sync::mpsc::channel(8);
    let (lift, plc) = site.plcs.iter().next().unwrap();
    let model = site.plant.lifts[lift].clone();
    let bus_lift =
        BusLift { lift: lift.clone(), model, unit: plc.unit, profile: site.register_profile(lift).unwrap() };
    let _bus = modbus::start(plc.wire.clone(), vec![bus_lift], Patience::default(), events, stop.clone());
    let read = async {
        while !matches!(reads.recv().await, Some(Event::Read { status, .. }) if status.heartbeat > 1) {}
    };
    timeout(PATIENCE, read).await.expect("it is read");
    stop.cancel();
    plant.stopped().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn dry_contacts() {
    let plc = "plc = { address = \"127.0.0.1:1502\", profile = \"other\" }";
    ride(site(plc, CONTACTS), tempfile::tempdir().unwrap()).await;
}
