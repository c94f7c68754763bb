//! The roads of a hall: every program's connections to broker, lease store and PLC pass a relay that can break them.

use std::net::SocketAddr;

use server::drill::relay::{Carries, Relay, RelayFault};
use tokio_util::sync::CancellationToken;

/// A road of a hall. Nodes are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Road {
    /// From a node to the broker.
    Broker(usize),
    /// From the gateway to the broker.
    GatewayBroker,
    /// From a node to the lease store.
    Leases(usize),
    /// From the gateway to the lift's PLC.
    Plc,
}

/// All of them, sound at first.
pub(super) struct Roads {
    brokers: [Relay; 2],
    gateway_broker: Relay,
    leases: [Relay; 2],
    plc: Relay,
    replica: Option<Relay>,
    stop: CancellationToken,
}

impl Roads {
    /// Roads that lead to these.
    pub(super) async fn start(broker: SocketAddr, leases: SocketAddr, plc: SocketAddr) -> Self {
        let stop = CancellationToken::new();
        let relay = async |to, carries| Relay::start(to, carries, stop.clone()).await.unwrap();
        Self {
            brokers: [relay(broker, Carries::Bytes).await, relay(broker, Carries::Bytes).await],
            gateway_broker: relay(broker, Carries::Bytes).await,
            leases: [relay(leases, Carries::Bytes).await, relay(leases, Carries::Bytes).await],
            plc: relay(plc, Carries::Modbus).await,
            replica: None,
            stop,
        }
    }

    fn relay(&self, road: Road) -> &Relay {
        match road {
            Road::Broker(idx) => &self.brokers[idx],
            Road::GatewayBroker => &self.gateway_broker,
            Road::Leases(idx) => &self.leases[idx],
            Road::Plc => &self.plc,
        }
    }

    /// Where a road begins.
    pub(super) fn address(&self, road: Road) -> SocketAddr {
        self.relay(road).address()
    }

    /// What happens on it from now on.
    pub(super) fn set(&self, road: Road, fault: RelayFault) {
        self.relay(road).set(fault);
    }

    /// A road for a replica that follows a lease store.
    pub(super) async fn lead_replica_to(&mut self, to: SocketAddr) -> SocketAddr {
        let relay = Relay::start(to, Carries::Bytes, self.stop.clone()).await.unwrap();
        self.replica.insert(relay).address()
    }

    /// The replica hears nothing more, and its connection stays.
    pub(super) fn stall_replica(&self) {
        self.replica.as_ref().expect("a replica").set(RelayFault::Held);
    }

    /// Leads both nodes to another lease store; connections to the old one break.
    pub(super) fn lead_leases_to(&self, to: SocketAddr) {
        for relay in &self.leases {
            relay.set(RelayFault::Down);
            relay.lead_to(to);
            relay.set(RelayFault::Sound);
        }
    }
}

impl Drop for Roads {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
