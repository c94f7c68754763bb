//! The live stream over real websockets.

pub(crate) mod resume;

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use kernel::alarm::AlarmKind;
use kernel::ids::{AlarmId, LedgerSequence};
use kernel::task::TaskState;
use kernel::wire::live::{Change, Frame, LIVE_VERSION, Snapshot};
use kernel::wire::view::Hearing;
use server::live::hub::CLIENTS_MAX;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::web::{BOUND, Control, Web, alarm, lift, nth_order, nth_task, vehicle};

pub(crate) struct Browser {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Browser {
    async fn open(web: &Web, query: &str) -> Self {
        Self::at(web.address, query).await
    }

    /// Of whatever serves at an address.
    pub(crate) async fn at(address: SocketAddr, query: &str) -> Self {
        let url = format!("ws://{address}/api/v1/stream{query}");
        Self { socket: connect_async(url).await.unwrap().0 }
    }

    /// The next frame; none once the server has closed.
    async fn frame(&mut self) -> Option<Frame> {
        loop {
            match tokio::time::timeout(BOUND, self.socket.next()).await.unwrap()?.ok()? {
                Message::Binary(bytes) => return Some(postcard::from_bytes(&bytes).unwrap()),
                Message::Text(text) => return Some(serde_json::from_str(&text).unwrap()),
                Message::Close(_) => return None,
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    async fn begin(&mut self) -> Snapshot {
        match (self.frame().await, self.frame().await) {
            (Some(Frame::Hello(hello)), Some(Frame::Snapshot(snapshot))) => {
                assert_eq!(hello.version, LIVE_VERSION);
                assert_eq!((hello.node.as_str(), hello.resumed), ("A", false));
                *snapshot
            }
            other => panic!("{other:?}"),
        }
    }

    /// The next change of an entity, ticks left out.
    async fn changes(&mut self) -> Vec<Change> {
        loop {
            match self.frame().await.expect("the stream goes on") {
                Frame::Delta(delta) => return delta.changes,
                Frame::Tick(_) => {}
                other @ (Frame::Hello(_) | Frame::Snapshot(_)) => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_browser_gets_everything_and_then_what_changes_in_both_codecs() {
    let web = Web::start(Control::Accepts).await;
    web.hub.show_at(LedgerSequence(7), vec![Change::Vehicle(vehicle(80))]);
    for codec in ["", "?codec=postcard", "?codec=json"] {
        let mut browser = Browser::open(&web, codec).await;
        let snapshot = browser.begin().await;
        assert_eq!((snapshot.sequence, snapshot.vehicles), (LedgerSequence(7), vec![vehicle(80)]), "{codec}");

        let task = nth_task(1, TaskState::Created);
        web.hub.show(Change::Order(nth_order(1, TaskState::Created)));
        web.hub.show(Change::Task(task.clone()));
        assert_eq!(
            browser.changes().await,
            vec![Change::Task(task.clone())],
            "{codec}: browsers get no orders"
        );
        web.hub.show(Change::TaskForgotten(task.id.clone()));
        assert_eq!(browser.changes().await, vec![Change::TaskForgotten(task.id)], "{codec}");

        // Nothing changes any more, and the ticks go on.
        while !matches!(browser.frame().await.unwrap(), Frame::Tick(tick) if tick.sequence == LedgerSequence(7))
        {
        }
    }
}

#[tokio::test]
async fn many_changes_of_one_vehicle_become_few_frames_and_the_newest_wins() {
    let web = Web::start(Control::Accepts).await;
    let mut browser = Browser::open(&web, "").await;
    browser.begin().await;
    for round in 0..1000 {
        web.hub.show(Change::Vehicle(vehicle(u8::try_from(round % 90).unwrap())));
        if round % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    web.hub.show(Change::Vehicle(vehicle(99)));
    let mut n_frames = 0;
    loop {
        let changes = browser.changes().await;
        n_frames += 1;
        assert_eq!(changes.len(), 1, "one entity, one state");
        if changes == [Change::Vehicle(vehicle(99))] {
            break;
        }
    }
    // The server has its turn when the test yields, and then sends no more than one.
    assert!(n_frames <= 15, "{n_frames} frames for one vehicle");
}

#[tokio::test]
async fn an_alarm_does_not_wait_for_the_pace_of_vehicles() {
    let web = Web::start(Control::Accepts).await;
    let mut browser = Browser::open(&web, "").await;
    browser.begin().await;
    let mut seen = Vec::new();
    // On a machine that stands still in between the pause is over before the alarm stands; then once more.
    for round in 0..20 {
        let (first, second) = (Change::Vehicle(vehicle(2 * round)), Change::Vehicle(vehicle(2 * round + 1)));
        // The first change starts the pause; the second has to wait for its end.
        web.hub.show(first.clone());
        while browser.changes().await != [first.clone()] {}
        web.hub.show(second.clone());
        web.hub.show(Change::Alarm(alarm("M1", AlarmKind::LiftFrozen)));
        seen = vec![browser.changes().await];
        web.hub.show(Change::AlarmGone(AlarmId::try_new("M1").unwrap()));
        while !seen.iter().flatten().any(|it| *it == second) {
            seen.push(browser.changes().await);
        }
        let stands = Change::Alarm(alarm("M1", AlarmKind::LiftFrozen));
        let gone = Change::AlarmGone(AlarmId::try_new("M1").unwrap());
        if seen == [vec![stands], vec![gone], vec![second]] {
            return;
        }
    }
    panic!("alarms came with the vehicle each time: {seen:?}");
}

#[tokio::test]
async fn one_browser_too_many_is_asked_to_come_later() {
    let web = Web::start(Control::Accepts).await;
    let mut browsers = Vec::new();
    for _ in 0..CLIENTS_MAX {
        let mut browser = Browser::open(&web, "").await;
        browser.begin().await;
        browsers.push(browser);
    }
    let url = format!("ws://{}/api/v1/stream", web.address);
    match connect_async(&url).await {
        Err(Error::Http(response)) => {
            assert_eq!(response.status(), 503);
            assert!(response.headers().contains_key("retry-after"));
        }
        other => panic!("{other:?}"),
    }
    drop(browsers.pop());
    let freed = async { while connect_async(&url).await.is_err() {} };
    tokio::time::timeout(BOUND, freed).await.expect("the place of a browser that left is given to another");
}

#[tokio::test]
async fn pages_of_others_may_not_follow() {
    let web = Web::start(Control::Accepts).await;
    let own = format!("http://{}", web.address);
    for (origin, welcome) in [(own.as_str(), true), ("http://evil.example", false), ("null", false)] {
        let mut request = format!("ws://{}/api/v1/stream", web.address).into_client_request().unwrap();
        request.headers_mut().insert("origin", origin.parse().unwrap());
        match connect_async(request).await {
            Ok(_) => assert!(welcome, "{origin}"),
            Err(Error::Http(response)) => assert!(!welcome && response.status() == 403, "{origin}"),
            Err(error) => panic!("{origin}: {error}"),
        }
    }
}

#[tokio::test]
async fn what_a_browser_says_is_ignored_and_a_flood_ends_its_stream() {
    let web = Web::start(Control::Accepts).await;
    let mut browser = Browser::open(&web, "").await;
    browser.begin().await;
    browser.socket.send(Message::text("hello")).await.unwrap();
    web.hub.show(Change::Lift(lift(Hearing::Heard)));
    assert_eq!(browser.changes().await, vec![Change::Lift(lift(Hearing::Heard))]);
    browser.socket.send(Message::text("x".repeat(5000))).await.unwrap();
    while browser.frame().await.is_some() {}
    Browser::open(&web, "").await.begin().await;
}

#[tokio::test]
async fn a_stop_says_goodbye_to_browsers_and_ends() {
    let mut web = Web::start(Control::Accepts).await;
    let mut browser = Browser::open(&web, "").await;
    browser.begin().await;
    web.stop.cancel();
    let code = loop {
        match tokio::time::timeout(BOUND, browser.socket.next()).await.unwrap() {
            Some(Ok(Message::Close(frame))) => break frame.map(|it| it.code),
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(code, Some(CloseCode::Away));
    // The browser stays silent, and the server ends all the same.
    tokio::time::timeout(BOUND, &mut web.served).await.unwrap().unwrap().unwrap();
}
