//! The role `gateway` between a real broker and a PLC on a real socket.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};

use kernel::gateway::Marks;
use kernel::ids::{CommandId, Generation, LiftId};
use kernel::lift::LiftAction;
use kernel::time::Millis;
use kernel::wire::gateway::{GatewayCommand, GatewayRefusal, Outcome, Verdict};
use kernel::wire::vehicle::{Instruction, VehicleCommand};
use server::messaging::codec::{ForVehicle, decode_for_vehicle};
use server::messaging::{Publish, Road, broker};
use server::roles::gateway::Wires;
use server::shell::gateway::Running;
use server::site::{self, SiteFile};
use server::{roles, store};
use sqlx::SqlitePool;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::brokers::{Mosquitto, PATIENCE};
use crate::desk::Desk;
use crate::plc::{OnWrite, Plc};

/// A gateway of the small site, and what control and a vehicle hear.
struct Hall {
    broker: SocketAddr,
    plc: Plc,
    pool: SqlitePool,
    gateway: Option<Running>,
    stop: CancellationToken,
    desk: Desk,
    _dir: tempfile::TempDir,
}

impl Hall {
    async fn open(broker: SocketAddr) -> Self {
        let site = site::parse(site::SMALL, "small.toml").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let pool = store::open(&dir.path().join("store.db")).await.unwrap();
        let plc = Plc::start().await;
        let stop = CancellationToken::new();
        let gateway = Some(start(&site, broker, &plc, &pool, &stop).await);
        Self { broker, plc, pool, gateway, stop, desk: Desk::open(site, broker), _dir: dir }
    }

    async fn restart(&mut self) {
        self.stop().await.unwrap();
        self.stop = CancellationToken::new();
        self.gateway = Some(start(&self.desk.site, self.broker, &self.plc, &self.pool, &self.stop).await);
    }

    async fn stop(&mut self) -> anyhow::Result<()> {
        self.stop.cancel();
        timeout(PATIENCE, self.gateway.take().unwrap().wait()).await.expect("it ends")
    }
}

impl Deref for Hall {
    type Target = Desk;

    fn deref(&self) -> &Desk {
        &self.desk
    }
}

impl DerefMut for Hall {
    fn deref_mut(&mut self) -> &mut Desk {
        &mut self.desk
    }
}

async fn start(
    site: &SiteFile,
    broker: SocketAddr,
    plc: &Plc,
    pool: &SqlitePool,
    stop: &CancellationToken,
) -> Running {
    let plcs: BTreeMap<LiftId, SocketAddr> = site.plcs.keys().map(|it| (it.clone(), plc.address)).collect();
    let broker = broker.to_string().parse().unwrap();
    let wires = Wires { broker: &broker, plc_addresses: &plcs, levers: None };
    roles::gateway::start(site, "G1", wires, pool.clone(), stop.clone()).await.unwrap()
}

fn verdict(outcome: &Outcome) -> (&str, &Verdict) {
    (outcome.command.as_str(), &outcome.verdict)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lift_command_is_run_once_and_told_over_both_brokers() {
    let mosquitto = Mosquitto::start().await;
    let embedded = broker::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
    for address in [embedded.address(), mosquitto.address] {
        let mut hall = Hall::open(address).await;
        let (command, told) = hall.decided("C1", LiftAction::OpenDoor, 1).await;
        assert_eq!(told, Verdict::Accepted);
        let id = command.id.clone();
        hall.send(id.as_str(), GatewayCommand::Lift(command)).await;
        assert_eq!(verdict(&hall.outcome().await), (id.as_str(), &Verdict::Accepted));
        let refused = Verdict::Refused { reason: GatewayRefusal::StaleToken };
        assert_eq!(hall.decided("C0", LiftAction::OpenDoor, 0).await.1, refused);
        assert_eq!(hall.plc.with(|it| it.ran.clone()), [1], "run once");
        hall.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vehicle_command_is_passed_on() {
    let mosquitto = Mosquitto::start().await;
    let mut hall = Hall::open(mosquitto.address).await;
    hall.reading(|_| true).await;
    let vehicle = hall.site.plant.vehicles.keys().next().unwrap().clone();
    let command = VehicleCommand {
        id: CommandId::try_new("C1").unwrap(),
        vehicle: vehicle.clone(),
        sequence: 1,
        task: None,
        step: 0,
        claim: Generation(1),
        link: Generation(1),
        valid_for_ms: Millis::seconds(60),
        instruction: Instruction::OpenLink,
    };
    hall.send("C1", GatewayCommand::Vehicle(command.clone())).await;
    let (topic, payload) = hall.next(&format!("vehicle/{vehicle}/command")).await;
    let passed = decode_for_vehicle(&hall.site.plant.site, &vehicle, &topic, &payload);
    assert_eq!(passed, Ok(ForVehicle::Command(command)));
    assert_eq!(verdict(&hall.outcome().await), ("C1", &Verdict::Forwarded));
    hall.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unanswered_write_is_settled_by_the_echo() {
    let mosquitto = Mosquitto::start().await;
    let mut hall = Hall::open(mosquitto.address).await;
    hall.plc.with(|it| it.on_write = OnWrite::RunAndHangUp);
    let (command, told) = hall.decided("C1", LiftAction::OpenDoor, 1).await;
    assert_eq!(told, Verdict::Unknown);
    assert_eq!(verdict(&hall.outcome().await), (command.id.as_str(), &Verdict::Ran));
    hall.plc.with(|it| it.on_write = OnWrite::HangUp);
    let (command, told) = hall.decided("C2", LiftAction::CloseDoor, 2).await;
    assert_eq!(told, Verdict::Unknown);
    assert_eq!(verdict(&hall.outcome().await), (command.id.as_str(), &Verdict::NotSent));
    assert_eq!(hall.plc.with(|it| it.ran.clone()), [1]);
    hall.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_understood_is_counted_and_survived() {
    let mosquitto = Mosquitto::start().await;
    let mut hall = Hall::open(mosquitto.address).await;
    let reading = hall.reading(|_| true).await;
    for payload in [
        "",
        "hello",
        r#"{"version":"9.0"}"#,
        r#"{"version":"1.0","sentAt":"1970-01-01T00:00:00Z","body":{}}"#,
    ] {
        let road = Road::Reliable { key: format!("bad {payload}"), valid_for: Millis::seconds(60) };
        let topic = "hoistway/v1/small/gateway/G1/command".to_owned();
        let payload = payload.as_bytes().to_vec();
        hall.control.publish(Publish { topic, payload, road, retain: false }).await.unwrap();
    }
    hall.rejected(4).await;
    hall.reading(|it| it.read.tick > reading.read.tick).await;
    assert_eq!(hall.decided("C1", LiftAction::OpenDoor, 1).await.1, Verdict::Accepted);
    hall.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_survive_a_restart_and_bad_ones_stop_it() {
    let mosquitto = Mosquitto::start().await;
    let mut hall = Hall::open(mosquitto.address).await;
    let first = hall.reading(|_| true).await;
    assert_eq!(hall.decided("C1", LiftAction::OpenDoor, 5).await.1, Verdict::Accepted);
    hall.restart().await;
    hall.reading(|it| it.read.boot > first.read.boot).await;
    let refused = Verdict::Refused { reason: GatewayRefusal::StaleToken };
    let told = hall.decided("C2", LiftAction::OpenDoor, 4).await.1;
    assert_eq!(told, refused, "the token outlived the restart");
    let text: String =
        sqlx::query_scalar("SELECT marks FROM gateway_marks").fetch_one(&hall.pool).await.unwrap();
    let marks: Marks = serde_json::from_str(&text).unwrap();
    assert_eq!(marks.boot, 2);
    sqlx::query("UPDATE gateway_marks SET marks = '{'").execute(&hall.pool).await.unwrap();
    let plcs = hall.site.plcs.keys().map(|it| (it.clone(), hall.plc.address)).collect();
    let broker = hall.broker.to_string().parse().unwrap();
    let stop = CancellationToken::new();
    let wires = Wires { broker: &broker, plc_addresses: &plcs, levers: None };
    let refused = roles::gateway::start(&hall.site, "G1", wires, hall.pool.clone(), stop).await;
    assert_eq!(refused.unwrap_err().to_string(), "the marks of gateway G1 cannot be understood");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_cannot_remember_writes_nothing() {
    let mosquitto = Mosquitto::start().await;
    let mut hall = Hall::open(mosquitto.address).await;
    hall.reading(|_| true).await;
    let refuse =
        "CREATE TRIGGER refuse BEFORE INSERT ON gateway_marks BEGIN SELECT RAISE(ABORT, 'disk'); END";
    sqlx::query(refuse).execute(&hall.pool).await.unwrap();
    let ended = timeout(PATIENCE, hall.gateway.take().unwrap().wait());
    let ended = tokio::select! {
        ended = ended => ended.expect("it ends by itself"),
        told = hall.decided("C1", LiftAction::OpenDoor, 1) => panic!("{told:?}"),
    };
    let ended = ended.unwrap_err().to_string();
    assert!(ended.starts_with("the gateway's marks cannot be stored"), "{ended}");
    assert_eq!(hall.plc.with(|it| it.ran.clone()), [] as [u16; 0]);
}
