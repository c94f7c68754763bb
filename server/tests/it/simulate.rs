//! The simulated plant on real sockets: Modbus TCP to its PLCs, MQTT to its vehicles.

#![expect(clippy::expect_used, clippy::panic, reason = "a test whose plant does not answer has failed")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use chrono::Utc;
use kernel::control::Event;
use kernel::gateway::CommandBlock;
use kernel::ids::{CommandId, Generation, LiftId, OrderId, PointId, SessionId, TaskId, VehicleId};
use kernel::lift::{DoorState, LiftAction, LiftStatus};
use kernel::plant::Plant;
use kernel::time::Millis;
use kernel::wire::vehicle::{
    AckVerdict, Instruction, Operation, Place, Progress, VehicleCommand, VehicleRefusal,
};
use server::fieldbus::Profile;
use server::fieldbus::profile::RegisterProfile;
use server::messaging::topics::{Topic, VehicleRoad, every_vehicle};
use server::messaging::{
    self, Incoming, Link, LinkOptions, Outbox, Publish, Road, Subscription, broker, codec,
};
use server::simulate::{self, Listen, Options, PlantReport, PlcOptions, Running};
use server::site::{self, HostPort};
use server::store;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_modbus::client::{Client as _, Context, tcp};
use tokio_modbus::{ExceptionCode, Request, Response, Slave};
use tokio_util::sync::CancellationToken;

/// Nothing here takes longer; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The small site, made quick.
fn quick_plant() -> Plant {
    let mut plant = site::parse(site::SMALL, "small").expect("the site ships").plant;
    for vehicle in plant.vehicles.values_mut() {
        (vehicle.speed_mm_s, vehicle.creep_mm_s) = (40_000, 10_000);
    }
    for lift in plant.lifts.values_mut() {
        (lift.travel_per_floor_ms, lift.door_ms) = (Millis(300), Millis(300));
    }
    plant
}

fn l1() -> LiftId {
    LiftId::try_new("L1").expect("a name")
}

fn v01() -> VehicleId {
    VehicleId::try_new("V01").expect("a name")
}

fn path(points: &[&str]) -> Vec<PointId> {
    points.iter().map(|it| PointId::try_new(it).expect("a name")).collect()
}

struct Bench {
    plant: Plant,
    folder: TempDir,
    running: Running,
    stop: CancellationToken,
}

impl Bench {
    async fn start(broker: SocketAddr) -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder"), broker).await
    }

    /// Goes on with what the folder keeps.
    async fn start_in(folder: TempDir, broker: SocketAddr) -> Self {
        let plant = quick_plant();
        let stop = CancellationToken::new();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let plc =
            |_: &LiftId| PlcOptions { listen: Listen::Tcp(listen), unit: 1, profile: Profile::built_in() };
        let options = Options {
            broker: HostPort { host: broker.ip().to_string(), port: broker.port() },
            plcs: plant.lifts.keys().map(|id| (id.clone(), plc(id))).collect(),
            report: Some(listen),
            seed: 1,
            boot: 0,
            pool: store::open(&folder.path().join("plant.db")).await.expect("a store"),
            roads: None,
        };
        let running = simulate::start(&plant, options, stop.clone()).await.expect("it starts");
        Self { plant, folder, running, stop }
    }

    /// Without a broker: vehicles keep trying, lifts serve.
    async fn without_broker() -> Self {
        // Bound and dropped: nobody listens there.
        let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = free.local_addr().expect("bound");
        drop(free);
        Self::start(address).await
    }

    fn plc_address(&self) -> SocketAddr {
        self.running.plc_addresses[&l1()]
    }

    async fn plc(&self, unit: u8) -> Context {
        tcp::connect_slave(self.plc_address(), Slave(unit)).await.expect("the PLC listens")
    }

    async fn status(&self, plc: &mut Context) -> LiftStatus {
        let window = RegisterProfile::built_in().status_window();
        let read = plc.call(Request::ReadHoldingRegisters(window.start, window.count)).await;
        let Ok(Ok(Response::ReadHoldingRegisters(words))) = read else { panic!("no status: {read:?}") };
        RegisterProfile::built_in().decode_status(&self.plant.lifts[&l1()], &words).expect("a status")
    }

    /// Writes a command and reads until the PLC finished it.
    async fn finish(&self, plc: &mut Context, number: u16, action: LiftAction, floor: u16) -> LiftStatus {
        let words = RegisterProfile::built_in().encode_command(&CommandBlock { number, action, floor });
        let written = plc.call(Request::WriteMultipleRegisters(100, words.into())).await;
        assert!(matches!(written, Ok(Ok(Response::WriteMultipleRegisters(100, 3)))), "{written:?}");
        self.until_completed(plc, number).await
    }

    async fn until_completed(&self, plc: &mut Context, number: u16) -> LiftStatus {
        let finished = async {
            loop {
                let status = self.status(plc).await;
                if status.completed == number {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, finished).await.expect("the PLC finishes")
    }

    async fn report(&self) -> PlantReport {
        let address = self.running.report_address.expect("asked for");
        let answer = reqwest::get(format!("http://{address}/plant")).await.expect("it answers");
        answer.json().await.expect("a report")
    }

    async fn end(self) -> TempDir {
        self.stop.cancel();
        let stopped = tokio::time::timeout(PATIENCE, self.running.stopped()).await.expect("in time");
        stopped.expect("it stops");
        self.folder
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plc_runs_commands_over_modbus() {
    let bench = Bench::without_broker().await;
    let mut plc = bench.plc(1).await;
    let start = bench.status(&mut plc).await;
    assert_eq!((start.door, start.boot, start.accepted), (DoorState::Closed, 1, 0));
    let opened = bench.finish(&mut plc, 1, LiftAction::OpenDoor, 1).await;
    assert_eq!((opened.door, opened.accepted), (DoorState::Open, 1));
    assert_ne!(opened.heartbeat, start.heartbeat);
    bench.finish(&mut plc, 2, LiftAction::CloseDoor, 1).await;
    let above = bench.finish(&mut plc, 3, LiftAction::GoTo, 2).await;
    assert_eq!((above.floor.as_str(), above.levelled), ("2", true));
    let written = plc.call(Request::ReadHoldingRegisters(100, 3)).await;
    assert!(
        matches!(&written, Ok(Ok(Response::ReadHoldingRegisters(words))) if *words == [3, 1, 2]),
        "{written:?}"
    );
    let report = bench.report().await;
    assert_eq!(report, bench.running.report().await.expect("it runs"));
    let lift = &report.lifts[0];
    assert_eq!((lift.writes, lift.taken, lift.contradictions, lift.e_stops), (3, 3, 0, 0));
    assert_eq!(report.rejected.iter().filter(|it| it.source == "L1").count(), 0);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plc_goes_on_where_it_was_over_a_restart() {
    let bench = Bench::without_broker().await;
    let mut plc = bench.plc(1).await;
    bench.finish(&mut plc, 1, LiftAction::OpenDoor, 1).await;
    let words = RegisterProfile::built_in().encode_command(&CommandBlock {
        number: 2,
        action: LiftAction::CloseDoor,
        floor: 1,
    });
    let written = plc.call(Request::WriteMultipleRegisters(100, words.into())).await;
    assert!(matches!(written, Ok(Ok(_))), "{written:?}");
    drop(plc);
    // The door has not shut yet; what had arrived is not lost.
    let folder = bench.end().await;
    let nobody = SocketAddr::from(([127, 0, 0, 1], 9));
    let bench = Bench::start_in(folder, nobody).await;
    let mut plc = bench.plc(1).await;
    let shut = bench.until_completed(&mut plc, 2).await;
    assert_eq!((shut.door, shut.boot, shut.accepted), (DoorState::Closed, 1, 2));
    let lift = &bench.report().await.lifts[0];
    assert_eq!((lift.writes, lift.taken), (2, 2), "counted over the restart");
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plant_that_was_kept_for_another_site_is_refused() {
    let folder = Bench::without_broker().await.end().await;
    let mut plant = quick_plant();
    plant.vehicles.remove(&v01());
    let options = Options {
        broker: "127.0.0.1:9".parse().expect("an address"),
        plcs: BTreeMap::new(),
        report: None,
        seed: 1,
        boot: 0,
        pool: store::open(&folder.path().join("plant.db")).await.expect("a store"),
        roads: None,
    };
    let refused = simulate::start(&plant, options, CancellationToken::new()).await;
    let reason = format!("{:#}", refused.expect_err("it does not fit"));
    for part in ["begin afresh", "vehicle V01 was kept, and the site file has no such vehicle"] {
        assert!(reason.contains(part), "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plc_refuses_what_it_does_not_understand() {
    use ExceptionCode::{GatewayTargetDevice, IllegalDataAddress, IllegalDataValue, IllegalFunction};
    let words = |words: &[u16]| words.to_vec().into();
    let rows: Vec<(&str, u8, Request<'static>, ExceptionCode)> = vec![
        ("another function", 1, Request::ReadCoils(0, 1), IllegalFunction),
        ("a maker's own function", 1, Request::Custom(0x41, vec![1, 2].into()), IllegalFunction),
        ("one register of the command", 1, Request::WriteSingleRegister(100, 1), IllegalFunction),
        ("foreign registers", 1, Request::ReadHoldingRegisters(50, 2), IllegalDataAddress),
        ("beyond the status", 1, Request::ReadHoldingRegisters(10, 2), IllegalDataAddress),
        ("the end of all registers", 1, Request::ReadHoldingRegisters(u16::MAX, 125), IllegalDataAddress),
        ("no register", 1, Request::ReadHoldingRegisters(0, 0), IllegalDataAddress),
        ("half a command", 1, Request::WriteMultipleRegisters(100, words(&[1, 1])), IllegalDataAddress),
        ("into the status", 1, Request::WriteMultipleRegisters(0, words(&[1, 1, 1])), IllegalDataAddress),
        ("an unknown action", 1, Request::WriteMultipleRegisters(100, words(&[1, 9, 1])), IllegalDataValue),
        ("another unit", 7, Request::ReadHoldingRegisters(0, 1), GatewayTargetDevice),
    ];
    let bench = Bench::without_broker().await;
    for (name, unit, request, expected) in rows {
        let answer = bench.plc(unit).await.call(request).await;
        assert!(matches!(answer, Ok(Err(exception)) if exception == expected), "{name}: {answer:?}");
    }
    // Bytes that are no Modbus end their own connection and nothing else.
    let mut half = TcpStream::connect(bench.plc_address()).await.expect("it listens");
    half.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("sent");
    let mut noise = TcpStream::connect(bench.plc_address()).await.expect("it listens");
    noise.write_all(&[0, 1, 9, 9, 0, 2, 1, 3]).await.expect("sent");
    let ended = tokio::time::timeout(PATIENCE, noise.read(&mut [0; 16])).await.expect("it is closed");
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    let mut plc = bench.plc(1).await;
    assert_eq!(bench.status(&mut plc).await.accepted, 0, "nothing of it was taken");
    let report = bench.report().await;
    assert_eq!(report.lifts[0].writes, 0);
    let refused: u64 = report.rejected.iter().filter(|it| it.source == "L1").map(|it| it.count).sum();
    assert_eq!(refused, 10);
    bench.end().await;
}

/// Plays control and gateway for vehicle V01.
struct Voice {
    link: Link,
    arriving: mpsc::Receiver<Incoming>,
    plant: Plant,
    heard: Vec<Event>,
}

impl Voice {
    fn connect(broker: SocketAddr, plant: &Plant) -> Self {
        let roads = [VehicleRoad::Ack, VehicleRoad::Result, VehicleRoad::Heartbeat, VehicleRoad::Presence];
        let filters =
            roads.map(|road| Subscription { filter: every_vehicle(&plant.site, road), reliable: true });
        let options = LinkOptions {
            host: broker.ip().to_string(),
            port: broker.port(),
            client_id: "voice".to_owned(),
            clean_start: true,
            session_expiry: Duration::ZERO,
            will: None,
            keep_alive: Duration::from_secs(30),
            subscriptions: filters.into(),
            incoming_bound: 1000,
        };
        let (link, arriving) = messaging::connect(options, Outbox::memory());
        Self { link, arriving, plant: plant.clone(), heard: Vec::new() }
    }

    async fn send(&self, payload: Vec<u8>) {
        let topic = Topic::Vehicle(v01(), VehicleRoad::Command).to_text(&self.plant.site);
        let key = format!("{:?}", Utc::now());
        let road = Road::Reliable { key, valid_for: Millis::seconds(30) };
        self.link.publish(Publish { topic, payload, road, retain: false }).await.expect("the link takes it");
    }

    async fn tell(&mut self, sequence: u64, link: u64, instruction: Instruction) {
        let command = VehicleCommand {
            id: CommandId::try_new(&format!("C{sequence}")).expect("a name"),
            vehicle: v01(),
            sequence,
            task: TaskId::try_new("T1").ok(),
            step: 0,
            claim: Generation(1),
            link: Generation(link),
            valid_for_ms: Millis::seconds(30),
            instruction,
        };
        self.send(codec::encode(&command, Utc::now()).expect("it fits")).await;
    }

    /// Beats and listens until V01 said what is awaited.
    async fn until(&mut self, awaited: &str, is_it: impl Fn(&Event) -> bool) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let mut beat = tokio::time::interval(Duration::from_millis(500));
        let node = kernel::ids::NodeId::try_new("A").expect("a name");
        loop {
            tokio::select! {
                _ = beat.tick() => {
                    let body = kernel::wire::gateway::ControlBeat {
                        node: node.clone(),
                        beat: 1,
                        reaches_store: None,
                        epochs: Vec::new(),
                    };
                    let topic = Topic::ControlBeat(node.clone()).to_text(&self.plant.site);
                    let payload = codec::encode(&body, Utc::now()).expect("it fits");
                    self.link.publish(Publish { topic, payload, road: Road::Fast, retain: false }).await.expect("taken");
                }
                incoming = self.arriving.recv() => {
                    let Some(Incoming::Message { topic, payload }) = incoming else { continue };
                    if !topic.contains("/V01/") { continue }
                    let event = codec::decode_for_control(&self.plant, &topic, &payload).expect("it is understood");
                    let Some(event) = event else { continue };
                    let found = is_it(&event);
                    self.heard.push(event);
                    if found { return }
                }
                () = tokio::time::sleep_until(deadline) => panic!("never heard: {awaited}; heard {:#?}", self.heard),
            }
        }
    }

    async fn until_ack(&mut self, sequence: u64, verdict: AckVerdict) {
        let is_it = |event: &Event| matches!(event, Event::Acknowledged(ack) if ack.sequence == sequence && ack.verdict == verdict);
        self.until(&format!("{sequence} {verdict:?}"), is_it).await;
    }

    async fn until_progress(&mut self, command: &str, progress: Progress) {
        let is_it = |event: &Event| matches!(event, Event::Reported(it) if it.command.as_str() == command && it.progress == progress);
        self.until(&format!("{command} {progress:?}"), is_it).await;
    }

    async fn until_presence(&mut self, online: bool) {
        let is_it = |event: &Event| matches!(event, Event::Presence { online: it, .. } if *it == online);
        self.until(&format!("online {online}"), is_it).await;
    }
}

fn order() -> OrderId {
    OrderId::try_new("O1").expect("a name")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vehicle_carries_a_load_through_a_lift_and_loses_its_radio_on_the_way() {
    let broker = broker::start(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a broker");
    let bench = Bench::start(broker.address()).await;
    let mut voice = Voice::connect(broker.address(), &bench.plant);
    voice.until_presence(true).await;
    let pick = Operation::Pick { order: order() };
    let pick = Instruction::Drive { path: path(&["H1", "J1", "J2", "B12"]), then: pick };
    voice.tell(1, 1, pick.clone()).await;
    voice.until_ack(1, AckVerdict::Refused { reason: VehicleRefusal::StaleLink }).await;
    voice.send(b"no JSON at all".to_vec()).await;
    voice.tell(2, 1, Instruction::OpenLink).await;
    voice.until_ack(2, AckVerdict::Accepted).await;
    voice.tell(3, 1, pick.clone()).await;
    voice.until_progress("C3", Progress::Done).await;
    voice.tell(3, 1, pick).await;
    voice.until_ack(3, AckVerdict::Accepted).await;

    let mut plc = bench.plc(1).await;
    bench.finish(&mut plc, 1, LiftAction::OpenDoor, 1).await;
    let ride = Instruction::Ride {
        lift: l1(),
        session: SessionId::try_new("S1").expect("a name"),
        from: bench.plant.floors[0].id.clone(),
        to: bench.plant.floors[1].id.clone(),
        approach: path(&["B12", "J2", "W1", "Z1", "L1-1"]),
        exit: path(&["L1-2"]).remove(0),
    };
    voice.tell(4, 1, ride).await;
    voice.until_progress("C4", Progress::Boarded).await;
    let closed = bench.finish(&mut plc, 2, LiftAction::CloseDoor, 1).await;
    assert!(closed.occupied);
    voice.until_presence(false).await;
    bench.finish(&mut plc, 3, LiftAction::GoTo, 2).await;
    bench.finish(&mut plc, 4, LiftAction::OpenDoor, 2).await;
    voice.until_progress("C4", Progress::Done).await;
    let out = |event: &Event| matches!(event, Event::Heartbeat(it) if !it.link_open && it.place == Place::At { point: path(&["L1-2"]).remove(0) });
    voice.until("a heartbeat at the exit, its link closed", out).await;

    voice.tell(5, 2, Instruction::OpenLink).await;
    voice.until_ack(5, AckVerdict::Accepted).await;
    let drop = Operation::Drop { order: order() };
    voice.tell(6, 2, Instruction::Drive { path: path(&["L1-2", "Z2", "W2", "J4", "B22"]), then: drop }).await;
    voice.until_progress("C6", Progress::Done).await;
    let report = bench.report().await;
    let load = &report.loads[0];
    assert_eq!((load.picked, load.dropped, load.at.as_deref()), (1, 1, Some("B22")));
    assert_eq!((report.lifts[0].vehicles_max, report.lifts[0].obstructions), (1, 0));
    let counts: BTreeMap<&str, u64> =
        report.rejected.iter().map(|it| (it.cause.as_str(), it.count)).collect();
    assert_eq!(counts.get("message not understood"), Some(&1));
    bench.end().await;
    voice.until_presence(false).await;
    voice.link.close().await;
}

/// Its last words are its goodbye: the answer to a command that it could not keep is not among them.
#[tokio::test(flavor = "multi_thread")]
async fn a_plant_whose_disk_refuses_ends_and_says_nothing_that_it_could_not_keep() {
    let broker = broker::start(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a broker");
    let bench = Bench::start(broker.address()).await;
    let mut voice = Voice::connect(broker.address(), &bench.plant);
    voice.until_presence(true).await;
    let pool = store::open(&bench.folder.path().join("plant.db")).await.expect("a store");
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON plant_parts WHEN NEW.kind = 'memory' \
                  BEGIN SELECT RAISE(ABORT, 'refused'); END";
    sqlx::query(refuse).execute(&pool).await.expect("a disk that refuses");
    voice.tell(1, 1, Instruction::OpenLink).await;
    tokio::time::timeout(PATIENCE, bench.stop.cancelled()).await.expect("it takes its role with it");
    let ended = tokio::time::timeout(PATIENCE, bench.running.stopped()).await.expect("in time");
    let reason = format!("{:#}", ended.expect_err("it says why"));
    assert!(reason.contains("the simulated plant cannot be stored"), "{reason}");
    voice.until_presence(false).await;
    let answers = voice.heard.iter().filter(|it| matches!(it, Event::Acknowledged(_)));
    assert_eq!(answers.count(), 0, "{:#?}", voice.heard);
    voice.link.close().await;
}
