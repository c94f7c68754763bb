//! A small site for tests.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use kernel::ids::{LedgerSequence, NodeId, SiteId};
use kernel::plant::Plant;
use kernel::timing::LinkBudget;
use kernel::wire::live::Snapshot;
use kernel::wire::view::NodeView;

pub(crate) fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_796_020_000 + second, 0).unwrap()
}

pub(crate) fn snapshot() -> Snapshot {
    let plant = Plant {
        site: SiteId::try_new("test").unwrap(),
        name: "Test".to_owned(),
        time_zone: "Asia/Shanghai".to_owned(),
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
    Snapshot {
        sequence: LedgerSequence(7),
        server_time: at(0),
        plant,
        node: NodeView {
            id: NodeId::try_new("A").unwrap(),
            broker_connected: true,
            ledger_writable: true,
            messages_rejected: 0,
            last_rejection: None,
        },
        vehicles: vec![],
        lifts: vec![],
        tasks: vec![],
        alarms: vec![],
    }
}
