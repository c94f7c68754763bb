//! `/api/v1/stream`: the live stream to browsers, see [`kernel::wire::live`].

use std::time::Duration;

use axum::extract::Query;
use axum::extract::State;
use axum::extract::rejection::QueryRejection;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use chrono::Utc;
use kernel::ids::LedgerSequence;
use kernel::wire::live::{Frame, Hello, LIVE_VERSION, LOST_AFTER, TICK_PERIOD, Tick};
use kernel::wire::rest::Problem;
use serde::Deserialize;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until, timeout};
use utoipa::{IntoParams, ToSchema};

use crate::http::AppState;
use crate::http::problem::{Code, Refused};
use crate::live::follower::{Cursor, Due, Follower, Update};
use crate::live::hub::{CLIENTS_MAX, PACED_PERIOD};

/// A browser has nothing to say; what it says all the same is read and ignored up to this size.
const CLIENT_MESSAGE_MAX: usize = 1024;
/// A browser that does not take a frame for so long has lost the connection by its own rule.
const SEND_DEADLINE: Duration = Duration::from_millis(LOST_AFTER.0);
/// A ping comes this often, so that a browser that vanished without a word is noticed.
const PING_PERIOD: Duration = Duration::from_secs(10);
/// Without a sign of life for three pings the place is given to somebody else.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Browsers come and go.
const RETRY_WHEN_FULL_S: u32 = 30;

/// How frames are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) enum Codec {
    /// Binary frames.
    #[default]
    Postcard,
    /// Text frames.
    Json,
}

/// How the stream is wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct StreamQuery {
    /// `json` for text frames, `postcard` for binary ones.
    #[serde(default)]
    codec: Codec,
    /// Resumes: `sequence` of the last frame that was applied, whichever node sent it.
    after: Option<u64>,
    /// Goes with `after`: `site` of the `hello` under which that frame came.
    site: Option<String>,
}

impl StreamQuery {
    /// From where the stream is resumed; none when it begins.
    fn cursor(&self) -> Result<Option<Cursor>, Refused> {
        match (self.after, &self.site) {
            (None, None) => Ok(None),
            (Some(after), Some(site)) => {
                Ok(Some(Cursor { site: site.clone(), after: LedgerSequence(after) }))
            }
            (Some(_), None) | (None, Some(_)) => {
                let detail = "`after` and `site` go together: take `sequence` of the last frame and `site` of its \
                              `hello`, or leave both out to get everything.";
                Err(Refused::new(Code::InvalidQuery, detail.to_owned()))
            }
        }
    }
}

/// Websocket: `hello`, `snapshot`, then deltas, and a tick each second. Only pages of this server may follow.
///
/// With `after` and `site` a stream that was lost goes on, on any node of the site: `hello` then says `resumed`, and in
/// place of the snapshot comes a delta of what changed in the ledger since, with vehicles, lifts, tasks under way and
/// the nodes as this node knows them. A node whose ledger is behind waits up to two seconds. Where it cannot tell what
/// changed, `resumed` is false, and the snapshot replaces all.
#[utoipa::path(get, path = "/stream", operation_id = "followStream", tag = "live", params(StreamQuery), responses(
    (status = 101, description = "Frames follow."),
    (status = 400, description = "`websocket_expected`, `invalid_query`", body = Problem,
        content_type = "application/problem+json"),
    (status = 403, description = "`origin_not_allowed`", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`too_many_clients`", body = Problem, content_type = "application/problem+json"),
))]
pub(in crate::http) async fn follow(
    State(state): State<AppState>,
    query: Result<Query<StreamQuery>, QueryRejection>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refused> {
    let Query(query) = query.map_err(|rejection| {
        let detail = format!(
            "{}. The stream takes `codec=postcard` or `codec=json`, and to resume it `after` and `site`.",
            rejection.body_text()
        );
        Refused::new(Code::InvalidQuery, detail)
    })?;
    let cursor = query.cursor()?;
    let upgrade = upgrade.map_err(|rejection| {
        let detail = format!(
            "{rejection} Open this address as a websocket; GET /api/v1/lifts and its like read once."
        );
        Refused::new(Code::WebsocketExpected, detail)
    })?;
    let follower = state.hub().follow().ok_or_else(|| {
        let detail = format!("{CLIENTS_MAX} browsers follow already. Close one, or try again later.");
        Refused::new(Code::TooManyClients, detail).retry_after_s(RETRY_WHEN_FULL_S)
    })?;
    let upgrade = upgrade.max_message_size(CLIENT_MESSAGE_MAX).max_frame_size(CLIENT_MESSAGE_MAX);
    let tracked = state.sockets().clone();
    let client =
        move |socket| tracked.track_future(Client::new(socket, follower, query.codec, state).serve(cursor));
    Ok(upgrade.on_upgrade(client))
}

/// Why a stream ends.
enum End {
    /// The browser left or cannot be reached.
    Gone,
    /// The server stops.
    Stopping,
}

struct Client {
    socket: WebSocket,
    follower: Follower,
    codec: Codec,
    state: AppState,
    tick: Interval,
    ping: Interval,
    heard_at: Instant,
    /// From then on vehicles and lifts may be sent again.
    paced_at: Instant,
}

impl Client {
    fn new(socket: WebSocket, follower: Follower, codec: Codec, state: AppState) -> Self {
        let calm = |period| {
            let mut interval = interval(period);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        };
        let tick = calm(Duration::from_millis(TICK_PERIOD.0));
        let now = Instant::now();
        Self { socket, follower, codec, state, tick, ping: calm(PING_PERIOD), heard_at: now, paced_at: now }
    }

    async fn serve(mut self, cursor: Option<Cursor>) {
        match self.run(cursor).await {
            End::Gone => {}
            End::Stopping => {
                let frame = CloseFrame { code: close_code::AWAY, reason: "the server stops".into() };
                // The browser may be gone; the stop goes on either way.
                let _ = self.socket.send(Message::Close(Some(frame))).await;
            }
        }
    }

    async fn run(&mut self, cursor: Option<Cursor>) -> End {
        match self.begin(cursor).await {
            Ok(()) => {}
            Err(end) => return end,
        }
        loop {
            if let Err(end) = self.step().await {
                return end;
            }
        }
    }

    async fn begin(&mut self, cursor: Option<Cursor>) -> Result<(), End> {
        let stop = self.state.stop().clone();
        let resumed = match &cursor {
            Some(cursor) => tokio::select! {
                () = stop.cancelled() => return Err(End::Stopping),
                resumed = self.follower.resume(cursor, Utc::now) => resumed,
            },
            None => None,
        };
        let hello = Hello {
            version: LIVE_VERSION,
            node: self.state.hub().node().id,
            site: self.state.hub().site_id(),
            resumed: resumed.is_some(),
            build: self.state.build().to_owned(),
            server_time: Utc::now(),
        };
        self.send(&Frame::Hello(hello)).await?;
        let first = match resumed {
            Some(delta) => Frame::Delta(delta),
            None => Frame::Snapshot(Box::new(self.follower.snapshot(Utc::now()))),
        };
        self.send(&first).await
    }

    /// Waits for the next thing and does it.
    async fn step(&mut self) -> Result<(), End> {
        let due = if Instant::now() >= self.paced_at { Due::All } else { Due::AtOnce };
        let stop = self.state.stop().clone();
        tokio::select! {
            () = stop.cancelled() => Err(End::Stopping),
            incoming = self.socket.recv() => self.hear(incoming),
            () = self.follower.changed(due) => self.update(due).await,
            () = sleep_until(self.paced_at), if due == Due::AtOnce => Ok(()),
            _ = self.tick.tick() => {
                let tick = Tick { sequence: self.follower.served(), server_time: Utc::now() };
                self.send(&Frame::Tick(tick)).await
            }
            _ = self.ping.tick() => self.ping().await,
        }
    }

    fn hear(&mut self, incoming: Option<Result<Message, axum::Error>>) -> Result<(), End> {
        match incoming {
            Some(Ok(Message::Close(_)) | Err(_)) | None => Err(End::Gone),
            Some(Ok(Message::Text(_) | Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => {
                self.heard_at = Instant::now();
                Ok(())
            }
        }
    }

    async fn update(&mut self, due: Due) -> Result<(), End> {
        if due == Due::All {
            self.paced_at = Instant::now() + PACED_PERIOD;
        }
        match self.follower.take(due, Utc::now()) {
            Some(Update::Delta(delta)) => self.send(&Frame::Delta(delta)).await,
            Some(Update::Snapshot(snapshot)) => self.send(&Frame::Snapshot(snapshot)).await,
            None => Ok(()),
        }
    }

    async fn ping(&mut self) -> Result<(), End> {
        if self.heard_at.elapsed() > SILENCE_MAX {
            return Err(End::Gone);
        }
        self.put(Message::Ping(bytes::Bytes::new())).await
    }

    async fn send(&mut self, frame: &Frame) -> Result<(), End> {
        let message = match self.codec {
            Codec::Postcard => {
                postcard::to_stdvec(frame).map(Message::from).map_err(|error| error.to_string())
            }
            Codec::Json => serde_json::to_string(frame).map(Message::from).map_err(|error| error.to_string()),
        };
        match message {
            Ok(message) => self.put(message).await,
            Err(error) => {
                tracing::error!(%error, "a frame of the live stream cannot be written");
                Err(End::Gone)
            }
        }
    }

    /// Sends within a bound, and gives up when the server stops meanwhile.
    async fn put(&mut self, message: Message) -> Result<(), End> {
        let stop = self.state.stop().clone();
        tokio::select! {
            () = stop.cancelled() => Err(End::Stopping),
            sent = timeout(SEND_DEADLINE, self.socket.send(message)) => match sent {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) | Err(_) => Err(End::Gone),
            },
        }
    }
}
