//! The published description of the API is the API.

use std::collections::BTreeSet;
use std::path::Path;

use kernel::task::TaskState;
use kernel::wire::live::Change;
use kernel::wire::view::{Hearing, NodeStanding};
use serde_json::Value;

use crate::web::{Control, Web, lift, nth_order, nth_task, peer, vehicle};

#[test]
fn openapi_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../public/openapi.json");
    let made = server::http::openapi_document().unwrap();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == made,
        "public/openapi.json differs from the handlers. If the change of the API is meant, run \
         `UPDATE_EXPECT=1 cargo test -p server --test it openapi_is_current` and commit the file."
    );
}

#[tokio::test]
async fn every_documented_address_answers() {
    let web = Web::start(Control::Accepts).await;
    web.hub.show(Change::Nodes(vec![peer("A", NodeStanding::Running, 1)]));
    web.hub.show(Change::Vehicle(vehicle(80)));
    web.hub.show(Change::Lift(lift(Hearing::Heard)));
    web.hub.show(Change::Order(nth_order(1, TaskState::Created)));
    web.hub.show(Change::Task(nth_task(1, TaskState::Created)));
    let document = web.read("/openapi.json").await;
    assert_eq!(document, serde_json::from_str::<Value>(&server::http::openapi_document().unwrap()).unwrap());
    let names = [
        ("{order}", "A-1"),
        ("{task}", "T-1"),
        ("{vehicle}", "V01"),
        ("{lift}", "L1"),
        ("{node}", "A"),
        ("{drill}", "D-1"),
    ];
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() >= 13, "{:?}", paths.keys());
    let mut names_seen = BTreeSet::new();
    for (template, operations) in paths {
        for operation in operations.as_object().unwrap().values() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names_seen.insert(name.to_owned()), "two operations are called {name}");
        }
        let path = names.iter().fold(template.clone(), |path, (name, value)| path.replace(name, value));
        let status = web.get(&path).await.status().as_u16();
        let documented = &operations["get"]["responses"];
        assert!(documented.get(status.to_string()).is_some(), "GET {path}: {status} is not documented");
        // Asked without a websocket, the stream can only say so; an ordinary run has no drills.
        let expected = if template.ends_with("/stream") {
            400
        } else if template.contains("/drills") {
            404
        } else {
            200
        };
        assert_eq!(status, expected, "GET {path}");
    }
}
