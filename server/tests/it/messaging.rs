//! The link against the embedded broker and against Mosquitto.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use kernel::time::Millis;
use server::messaging::{
    Incoming, Link, LinkOptions, Outbox, Publish, Road, Subscription, Will, broker, connect,
};
use server::{clock, store};
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use crate::brokers::{Mosquitto, PATIENCE, client, free_address, until};

/// Both brokers; the Mosquitto lives as long as the value.
async fn both() -> (Mosquitto, [SocketAddr; 2]) {
    let mosquitto = Mosquitto::start().await;
    let embedded = broker::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let addresses = [embedded.address(), mosquitto.address];
    (mosquitto, addresses)
}

fn listener(address: SocketAddr, id: &str, filter: &str, reliable: bool) -> LinkOptions {
    let subscriptions = vec![Subscription { filter: filter.to_owned(), reliable }];
    LinkOptions { subscriptions, ..client(address, id) }
}

fn with_session(options: LinkOptions) -> LinkOptions {
    LinkOptions { clean_start: false, session_expiry: Duration::from_secs(600), ..options }
}

fn reliable(topic: &str, payload: &str, valid_for: Millis) -> Publish {
    let road = Road::Reliable { key: payload.to_owned(), valid_for };
    Publish { topic: topic.to_owned(), payload: payload.as_bytes().to_vec(), road, retain: false }
}

fn fast(topic: &str, payload: &str) -> Publish {
    let (topic, payload) = (topic.to_owned(), payload.as_bytes().to_vec());
    Publish { topic, payload, road: Road::Fast, retain: false }
}

const LONG: Millis = Millis::seconds(600);

async fn next(incoming: &mut Receiver<Incoming>) -> Incoming {
    timeout(PATIENCE, incoming.recv()).await.expect("something arrives").expect("the link lives")
}

async fn next_message(incoming: &mut Receiver<Incoming>) -> String {
    loop {
        if let Incoming::Message { payload, .. } = next(incoming).await {
            return String::from_utf8(payload.to_vec()).unwrap();
        }
    }
}

async fn connected(incoming: &mut Receiver<Incoming>) -> bool {
    loop {
        if let Incoming::Connected { session_present } = next(incoming).await {
            return session_present;
        }
    }
}

/// A listener whose subscription certainly stands: it heard a probe.
async fn listening(options: LinkOptions, topic: &str) -> (Link, Receiver<Incoming>) {
    let (link, mut incoming) = connect(options, Outbox::memory());
    connected(&mut incoming).await;
    link.publish(reliable(topic, "probe", LONG)).await.unwrap();
    assert_eq!(next_message(&mut incoming).await, "probe");
    (link, incoming)
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_both_roads_arrive() {
    let (_mosquitto, addresses) = both().await;
    for address in addresses {
        let (_listener, mut incoming) = listening(listener(address, "L", "t/#", true), "t/probe").await;
        let (sender, mut news) = connect(client(address, "S"), Outbox::memory());
        assert!(!connected(&mut news).await);
        sender.publish(reliable("t/1", "reliable", LONG)).await.unwrap();
        sender.publish(fast("t/2", "fast")).await.unwrap();
        let heard = BTreeSet::from([next_message(&mut incoming).await, next_message(&mut incoming).await]);
        assert_eq!(heard, BTreeSet::from(["fast".to_owned(), "reliable".to_owned()]));
        until("the outbox is empty", || sender.counters().kept == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_will_is_sent_for_a_lost_radio_and_not_for_a_farewell() {
    let (_mosquitto, addresses) = both().await;
    for address in addresses {
        let (_listener, mut incoming) = listening(listener(address, "L", "t/#", true), "t/probe").await;
        let will = Will { topic: "t/will".to_owned(), payload: b"gone".to_vec(), retain: true };
        let options = LinkOptions { will: Some(will), ..client(address, "S") };
        let (sender, mut news) = connect(options, Outbox::memory());
        connected(&mut news).await;
        sender.drop_hard().await;
        assert_eq!(next_message(&mut incoming).await, "gone");
        assert!(matches!(next(&mut news).await, Incoming::Disconnected { .. }));
        sender.publish(reliable("t/1", "kept meanwhile", LONG)).await.unwrap();
        sender.publish(fast("t/2", "worthless meanwhile")).await.unwrap();
        sender.resume().await;
        assert_eq!(next_message(&mut incoming).await, "kept meanwhile");
        sender.publish(reliable("t/1", "last words", LONG)).await.unwrap();
        sender.close().await;
        assert_eq!(next_message(&mut incoming).await, "last words");
        let (probe, _news) = connect(client(address, "P"), Outbox::memory());
        probe.publish(reliable("t/1", "probe", LONG)).await.unwrap();
        assert_eq!(next_message(&mut incoming).await, "probe", "no will after a farewell");
        assert_eq!(sender.counters().fast_dropped, 1);
        let (_late, mut late) = connect(listener(address, "R", "t/will", true), Outbox::memory());
        assert_eq!(next_message(&mut late).await, "gone", "the will was retained");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_session_brings_what_is_still_valid() {
    let (_mosquitto, addresses) = both().await;
    for address in addresses {
        let options = with_session(listener(address, "V", "t/#", true));
        let (vehicle, mut incoming) = listening(options, "t/probe").await;
        vehicle.drop_hard().await;
        let (sender, _news) = connect(client(address, "S"), Outbox::memory());
        for number in 0..5 {
            sender.publish(reliable("t/1", &format!("void {number}"), Millis(1000))).await.unwrap();
            sender.publish(reliable("t/1", &format!("valid {number}"), LONG)).await.unwrap();
        }
        until("the broker has them", || sender.counters().kept == 0).await;
        // The broker counts the validity in whole seconds.
        let has_them = Instant::now();
        until("what is void has ended", || has_them.elapsed() > Duration::from_millis(2500)).await;
        vehicle.resume().await;
        assert!(connected(&mut incoming).await, "the session was kept");
        let mut heard = Vec::new();
        while heard.len() < 5 {
            let message = next_message(&mut incoming).await;
            // The radio may have been lost before the broker had our acknowledgement of the probe.
            if message != "probe" {
                heard.push(message);
            }
        }
        assert_eq!(heard, ["valid 0", "valid 1", "valid 2", "valid 3", "valid 4"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_finds_a_restarted_broker_by_itself() {
    let mut mosquitto = Mosquitto::start().await;
    let (sender, mut news) = connect(client(mosquitto.address, "S"), Outbox::memory());
    connected(&mut news).await;
    mosquitto.freeze();
    for number in 0..50 {
        sender.publish(reliable("t/1", &number.to_string(), LONG)).await.unwrap();
    }
    mosquitto.crash_and_restart().await;
    assert!(matches!(next(&mut news).await, Incoming::Disconnected { .. }));
    assert!(!connected(&mut news).await);
    until("the broker has them", || sender.counters().kept == 0).await;
    assert_eq!(sender.counters().connections_lost, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_in_flight_arrives_after_a_crash_of_the_broker() {
    let mut mosquitto = Mosquitto::start().await;
    let (sender, mut news) = connect(client(mosquitto.address, "S"), Outbox::memory());
    connected(&mut news).await;
    mosquitto.freeze();
    for number in 0..50 {
        sender.publish(reliable("t/1", &number.to_string(), LONG)).await.unwrap();
    }
    sender.drop_hard().await;
    mosquitto.crash_and_restart().await;
    let (_listener, mut incoming) = listening(listener(mosquitto.address, "L", "t/#", true), "t/probe").await;
    sender.resume().await;
    let mut heard = BTreeSet::new();
    while heard.len() < 50 {
        heard.insert(next_message(&mut incoming).await);
    }
    until("the outbox is empty", || sender.counters().kept == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_durable_outbox_survives_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let pool = store::open(&dir.path().join("store.db")).await.unwrap();
    let address = free_address();
    let outbox = Outbox::sqlite(pool.clone(), "S", clock::mono()).await.unwrap();
    let (sender, mut news) = connect(client(address, "S"), outbox);
    assert!(matches!(next(&mut news).await, Incoming::Disconnected { .. }));
    for text in ["first", "second", "third"] {
        sender.publish(reliable("t/1", text, LONG)).await.unwrap();
    }
    drop((sender, news));
    let mosquitto = Mosquitto::start_at(address).await;
    let (_listener, mut incoming) = listening(listener(mosquitto.address, "L", "t/#", true), "t/probe").await;
    let outbox = Outbox::sqlite(pool.clone(), "S", clock::mono()).await.unwrap();
    assert_eq!(outbox.len(), 3);
    let (sender, _news) = connect(client(address, "S"), outbox);
    for text in ["first", "second", "third"] {
        assert_eq!(next_message(&mut incoming).await, text);
    }
    until("the outbox is empty", || sender.counters().kept == 0).await;
    sender.close().await;
    assert!(Outbox::sqlite(pool, "S", clock::mono()).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_consumer_loses_no_reliable_message() {
    let (_mosquitto, addresses) = both().await;
    for address in addresses {
        let options = LinkOptions { incoming_bound: 1, ..with_session(listener(address, "L", "t/#", true)) };
        let (_listener, mut incoming) = listening(options, "t/probe").await;
        let (sender, _news) = connect(client(address, "S"), Outbox::memory());
        for number in 0..400 {
            sender.publish(reliable("t/1", &number.to_string(), LONG)).await.unwrap();
        }
        until("the broker has them", || sender.counters().kept == 0).await;
        let mut heard = BTreeSet::new();
        while heard.len() < 400 {
            heard.insert(next_message(&mut incoming).await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_consumer_gets_the_newest_state() {
    let (_mosquitto, addresses) = both().await;
    for address in addresses {
        let options = LinkOptions { incoming_bound: 1, ..listener(address, "L", "t/#", false) };
        let (listener, mut incoming) = listening(options, "t/probe").await;
        let (sender, mut news) = connect(client(address, "S"), Outbox::memory());
        connected(&mut news).await;
        // Only what left can be replaced at the listener, so there is more until something was.
        let replaced = async {
            let mut number = 0;
            while listener.counters().incoming_replaced == 0 {
                sender.publish(fast("t/1", &number.to_string())).await.unwrap();
                number += 1;
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, replaced).await.expect("older ones are replaced");
        sender.publish(fast("t/1", "newest")).await.unwrap();
        while next_message(&mut incoming).await != "newest" {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_sent_is_refused() {
    let (link, _incoming) = connect(client(free_address(), "S"), Outbox::memory());
    let rows = [
        (reliable("t/+", "x", LONG), "`t/+` is no topic to send to"),
        (reliable("", "x", LONG), "`` is no topic to send to"),
        (fast("t", &"x".repeat(65537)), "the message is 65537 bytes long, at most 65536 are sent"),
    ];
    for (message, expected) in rows {
        assert_eq!(link.publish(message).await.unwrap_err().to_string(), expected);
    }
    for number in 0..4096 {
        link.publish(reliable("t", &number.to_string(), LONG)).await.unwrap();
    }
    let full = link.publish(reliable("t", "one more", LONG)).await.unwrap_err();
    assert_eq!(full.to_string(), "the outbox holds 4096 messages that the broker has not acknowledged");
    link.publish(reliable("t", "7", LONG)).await.expect("a replacement needs no room");
}
