//! What browsers and a WMS talk to. The file tree is the URL tree.
//!
//! Knows: status codes, headers, problems. Must not know: how anything is decided. Reads come from the
//! [`Hub`]; requests go to the control loop by its [`ControlHandle`].

mod api;
mod assets;
mod body;
mod guard;
mod health;
mod metrics;
mod openapi;
mod opening;
mod paging;
pub mod problem;
mod root;
mod serve;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use chrono::Utc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::drill::Conductor;
use crate::lease::LeaseStore;
use crate::live::hub::Hub;
use crate::shell::ControlHandle;
use problem::RequestIds;

pub use body::BODY_MAX;
pub use openapi::document as openapi_document;
pub use serve::{STOP_BOUND, bind, build_id, serve};

/// What every handler may use. Clones share everything.
#[derive(Clone, Debug)]
pub struct AppState {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    control: ControlHandle,
    hub: Hub,
    leases: LeaseStore,
    build: String,
    site_dir: PathBuf,
    stop: CancellationToken,
    sockets: TaskTracker,
    request_ids: RequestIds,
    openapi: String,
    drills: Option<Conductor>,
}

impl AppState {
    /// `site_dir` is where the bundled browser code lies; websockets close when `stop` is cancelled; `drills` is none in
    /// an ordinary run.
    ///
    /// # Errors
    /// When the description of the API cannot be written.
    pub fn new(
        control: ControlHandle,
        hub: Hub,
        leases: LeaseStore,
        site_dir: PathBuf,
        stop: CancellationToken,
        drills: Option<Conductor>,
    ) -> anyhow::Result<Self> {
        let request_ids = RequestIds::new(format!("{:x}", Utc::now().timestamp_micros()));
        let inner = Inner {
            control,
            hub,
            leases,
            build: build_id(),
            site_dir,
            stop,
            sockets: TaskTracker::new(),
            request_ids,
            openapi: openapi::document()?,
            drills,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    fn control(&self) -> &ControlHandle {
        &self.inner.control
    }

    fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    fn leases(&self) -> &LeaseStore {
        &self.inner.leases
    }

    fn build(&self) -> &str {
        &self.inner.build
    }

    fn stop(&self) -> &CancellationToken {
        &self.inner.stop
    }

    fn sockets(&self) -> &TaskTracker {
        &self.inner.sockets
    }

    fn request_ids(&self) -> &RequestIds {
        &self.inner.request_ids
    }

    fn openapi(&self) -> &str {
        &self.inner.openapi
    }

    fn drills(&self) -> Option<&Conductor> {
        self.inner.drills.as_ref()
    }
}

/// Every address of the server.
pub fn router(state: AppState) -> Router {
    let (described, _) = openapi::router().split_for_parts();
    let assets = assets::service(&state.inner.site_dir);
    let routes = described
        .route("/", get(root::overview))
        .route("/lifts/{lift}", get(root::lift))
        .route("/openapi.json", get(openapi::read))
        .route("/api", axum::routing::any(nothing))
        .route("/api/{*rest}", axum::routing::any(nothing))
        .fallback_service(assets);
    dressed(routes, state)
}

/// Adds what every address needs. From outside in: the mark of a drill run, problems, panics, guard, a node that is not open yet.
fn dressed(routes: Router<AppState>, state: AppState) -> Router {
    let drill = state.drills().is_some().then(|| HeaderValue::from_static("true"));
    routes
        .layer(middleware::from_fn_with_state(state.clone(), opening::wait))
        .layer(middleware::from_fn(guard::guard))
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(middleware::from_fn_with_state(state.clone(), problem::write))
        .layer(SetResponseHeaderLayer::overriding(problem::DRILL, move |_: &Response| drill.clone()))
        .with_state(state)
}

/// Below `/api` files are never looked for.
async fn nothing(request: Request) -> Response {
    problem::nothing_at(request.uri().path()).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kernel::ids::{NodeId, SiteId};
    use kernel::lease::LeaseTiming;
    use kernel::plant::Plant;
    use kernel::timing::LinkBudget;
    use kernel::wire::view::NodeView;

    use super::*;

    fn hub() -> Hub {
        let plant = Plant {
            site: SiteId::try_new("test").unwrap(),
            name: String::new(),
            time_zone: "UTC".to_owned(),
            shift_starts_min: vec![],
            floors: vec![],
            points: BTreeMap::new(),
            edges: vec![],
            stations: BTreeMap::new(),
            lifts: BTreeMap::new(),
            zones: vec![],
            vehicles: BTreeMap::new(),
            gateways: vec![],
            link_budget: LinkBudget::REPORTED,
        };
        let id = NodeId::try_new("A").unwrap();
        let node = NodeView {
            id,
            broker_connected: true,
            ledger_writable: true,
            messages_rejected: 0,
            last_rejection: None,
            drill: false,
        };
        Hub::new(Arc::new(plant), node)
    }

    async fn panics() -> &'static str {
        panic!("a secret of the server")
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_that_tells_no_secret_and_the_next_request_is_served() {
        let (control, _requests) = ControlHandle::new();
        let leases = LeaseStore::in_process(LeaseTiming::default());
        let stop = CancellationToken::new();
        let state = AppState::new(control, hub(), leases, PathBuf::new(), stop, None).unwrap();
        let routes = Router::new().route("/panics", get(panics)).route("/livez", get(health::livez));
        let listener = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(axum::serve(listener, dressed(routes, state)).into_future());

        let response = reqwest::get(format!("http://{address}/panics")).await.unwrap();
        assert_eq!(response.status(), 500);
        let id = response.headers()[problem::REQUEST_ID].clone();
        let body = response.text().await.unwrap();
        let problem: kernel::wire::rest::Problem = serde_json::from_str(&body).unwrap();
        assert_eq!((problem.code.as_str(), problem.request_id.as_str()), ("internal", id.to_str().unwrap()));
        assert!(!body.contains("secret"), "{body}");
        assert_eq!(
            reqwest::get(format!("http://{address}/livez")).await.unwrap().text().await.unwrap(),
            "ok"
        );
    }
}
