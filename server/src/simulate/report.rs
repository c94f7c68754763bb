//! What is counted outside the system: `GET /plant` on loopback, for tests and for the curious.

use std::net::SocketAddr;

use anyhow::Context as _;
use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use sim::plant::SimPlant;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::Input;
use super::rejections::Rejections;

/// Everything that the simulated plant counted: loads and lifts over all restarts, refusals since the last one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlantReport {
    /// Every load that was touched, by order.
    pub loads: Vec<LoadReport>,
    /// Every lift, by name.
    pub lifts: Vec<LiftReport>,
    /// What could not be understood.
    pub rejected: Vec<RejectedReport>,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadReport {
    /// Whose.
    pub order: String,
    /// How often it was taken up.
    pub picked: u32,
    /// How often it was put down.
    pub dropped: u32,
    /// The point where it was handled last.
    pub at: Option<String>,
}

/// One lift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiftReport {
    /// Which.
    pub lift: String,
    /// Command blocks that arrived.
    pub writes: u64,
    /// Commands that the PLC took.
    pub taken: u64,
    /// Commands that it did not take.
    pub rejected: u64,
    /// Commands that contradict another one.
    pub contradictions: u64,
    /// Moving doors that a command turned round.
    pub door_reversals: u64,
    /// Closing doors that met something on the sill.
    pub obstructions: u64,
    /// Emergency stops.
    pub e_stops: u64,
    /// Most vehicles that were in the car at once.
    pub vehicles_max: u8,
}

/// One kind of message that could not be understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RejectedReport {
    /// From or for whom.
    pub source: String,
    /// Why.
    pub cause: String,
    /// How often.
    pub count: u64,
}

impl PlantReport {
    pub(super) fn of(plant: &SimPlant, seen: &Rejections) -> Self {
        let loads = plant.loads().iter().map(|(order, count)| LoadReport {
            order: order.to_string(),
            picked: count.picked,
            dropped: count.dropped,
            at: count.at.as_ref().map(ToString::to_string),
        });
        let lifts = plant.lift_counters().map(|(lift, count)| LiftReport {
            lift: lift.to_string(),
            writes: count.writes,
            taken: count.taken,
            rejected: count.rejected,
            contradictions: count.contradictions,
            door_reversals: count.door_reversals,
            obstructions: count.obstructions,
            e_stops: count.e_stops,
            vehicles_max: count.vehicles_max,
        });
        let rejected = seen.counts().into_iter().map(|(source, cause, count)| RejectedReport {
            source,
            cause: cause.to_owned(),
            count,
        });
        Self { loads: loads.collect(), lifts: lifts.collect(), rejected: rejected.collect() }
    }
}

/// A bound report server.
pub(super) struct ReportServer(TcpListener);

impl ReportServer {
    /// Binds the address; port 0 takes a free one.
    pub(super) async fn bind(listen: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(listen);
        Ok(Self(listener.await.with_context(|| format!("the plant's report cannot listen on {listen}"))?))
    }

    /// Where it listens.
    pub(super) fn address(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Serves until it is stopped.
    pub(super) async fn serve(self, inputs: mpsc::Sender<Input>, stop: CancellationToken) {
        let router = Router::new().route("/plant", get(plant)).with_state(inputs);
        let server = axum::serve(self.0, router).with_graceful_shutdown(stop.cancelled_owned());
        if let Err(error) = server.await {
            tracing::warn!(%error, "the plant's report ended");
        }
    }
}

/// `null` while the plant stops.
async fn plant(State(inputs): State<mpsc::Sender<Input>>) -> Json<Option<PlantReport>> {
    Json(ask(&inputs).await)
}

/// Asks the plant; none while it stops.
pub(super) async fn ask(inputs: &mpsc::Sender<Input>) -> Option<PlantReport> {
    let (answer, answered) = oneshot::channel();
    inputs.send(Input::ReportAsked(answer)).await.ok()?;
    answered.await.ok()
}
