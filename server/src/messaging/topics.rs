//! The topics of the vehicle and gateway roads.

use kernel::ids::{GatewayId, InvalidName, NodeId, SiteId, VehicleId};
use thiserror::Error;

/// What every topic begins with: the product and the major version of its roads.
const ROOT: &str = "hoistway/v1";

/// A topic of a site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// `hoistway/v1/{site}/gateway/{id}/{road}`.
    Gateway(GatewayId, GatewayRoad),
    /// `hoistway/v1/{site}/vehicle/{id}/{road}`.
    Vehicle(VehicleId, VehicleRoad),
    /// `hoistway/v1/{site}/control/{node}/beat`.
    ControlBeat(NodeId),
}

/// Last part of a gateway's topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GatewayRoad {
    /// To the gateway.
    Command,
    /// What became of a command.
    Outcome,
    /// State of the gateway and its lifts.
    Status,
}

/// Last part of a vehicle's topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VehicleRoad {
    /// To the vehicle.
    Command,
    /// "Received and understood", or why not.
    Ack,
    /// Progress and result.
    Result,
    /// Proof of life.
    Heartbeat,
    /// High-rate state.
    Telemetry,
    /// Connected or not; retained.
    Presence,
}

/// Why a text is no topic of a site.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidTopic {
    /// It belongs to another site, or is none of the topics.
    #[error("is no topic of site {0}")]
    Foreign(SiteId),
    /// The name in it is none.
    #[error("names nobody: {0}")]
    Name(#[from] InvalidName),
}

impl GatewayRoad {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Command, Self::Outcome, Self::Status];

    fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Outcome => "outcome",
            Self::Status => "status",
        }
    }
}

impl VehicleRoad {
    /// Each of them.
    pub const ALL: [Self; 6] =
        [Self::Command, Self::Ack, Self::Result, Self::Heartbeat, Self::Telemetry, Self::Presence];

    fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Ack => "ack",
            Self::Result => "result",
            Self::Heartbeat => "heartbeat",
            Self::Telemetry => "telemetry",
            Self::Presence => "presence",
        }
    }
}

impl Topic {
    /// The topic as MQTT has it.
    pub fn to_text(&self, site: &SiteId) -> String {
        match self {
            Self::Gateway(id, road) => format!("{ROOT}/{site}/gateway/{id}/{}", road.as_str()),
            Self::Vehicle(id, road) => format!("{ROOT}/{site}/vehicle/{id}/{}", road.as_str()),
            Self::ControlBeat(node) => format!("{ROOT}/{site}/control/{node}/beat"),
        }
    }

    /// Reads a topic of this site.
    ///
    /// # Errors
    /// It is no topic of this site, or the name in it is none.
    pub fn parse(site: &SiteId, text: &str) -> Result<Self, InvalidTopic> {
        let foreign = || InvalidTopic::Foreign(site.clone());
        let rest = text
            .strip_prefix(ROOT)
            .and_then(|it| it.strip_prefix('/'))
            .and_then(|it| it.strip_prefix(site.as_str()))
            .and_then(|it| it.strip_prefix('/'))
            .ok_or_else(foreign)?;
        let parts: Vec<&str> = rest.split('/').collect();
        let [kind, name, road] = parts[..] else { return Err(foreign()) };
        match kind {
            "gateway" => {
                let road = GatewayRoad::ALL.into_iter().find(|it| it.as_str() == road).ok_or_else(foreign)?;
                Ok(Self::Gateway(GatewayId::try_new(name)?, road))
            }
            "vehicle" => {
                let road = VehicleRoad::ALL.into_iter().find(|it| it.as_str() == road).ok_or_else(foreign)?;
                Ok(Self::Vehicle(VehicleId::try_new(name)?, road))
            }
            "control" if road == "beat" => Ok(Self::ControlBeat(NodeId::try_new(name)?)),
            _ => Err(foreign()),
        }
    }
}

/// Filter for one road of every gateway.
pub fn every_gateway(site: &SiteId, road: GatewayRoad) -> String {
    format!("{ROOT}/{site}/gateway/+/{}", road.as_str())
}

/// Filter for one road of every vehicle.
pub fn every_vehicle(site: &SiteId, road: VehicleRoad) -> String {
    format!("{ROOT}/{site}/vehicle/+/{}", road.as_str())
}

/// Filter for the beats of every control node.
pub fn every_control_beat(site: &SiteId) -> String {
    format!("{ROOT}/{site}/control/+/beat")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_survive_their_text() {
        let site = SiteId::try_new("small").unwrap();
        let gateway = GatewayId::try_new("G1").unwrap();
        let vehicle = VehicleId::try_new("V01").unwrap();
        let gateways = GatewayRoad::ALL.map(|road| Topic::Gateway(gateway.clone(), road)).into_iter();
        let vehicles = VehicleRoad::ALL.map(|road| Topic::Vehicle(vehicle.clone(), road)).into_iter();
        let beat = Topic::ControlBeat(NodeId::try_new("A").unwrap());
        for topic in gateways.chain(vehicles).chain([beat]) {
            assert_eq!(Topic::parse(&site, &topic.to_text(&site)), Ok(topic));
        }
    }

    #[test]
    fn foreign_topics_are_refused() {
        let site = SiteId::try_new("small").unwrap();
        let rows = [
            ("hoistway/v1/other/vehicle/V01/ack", "is no topic of site small"),
            ("hoistway/v2/small/vehicle/V01/ack", "is no topic of site small"),
            ("hoistway/v1/small/vehicle/V01/nack", "is no topic of site small"),
            ("hoistway/v1/small/vehicle/V01", "is no topic of site small"),
            ("hoistway/v1/small/vehicle/V01/ack/x", "is no topic of site small"),
            ("hoistway/v1/smaller/vehicle/V01/ack", "is no topic of site small"),
            ("hoistway/v1/small/vehicle//ack", "names nobody: a name is empty"),
            ("", "is no topic of site small"),
        ];
        for (text, expected) in rows {
            assert_eq!(Topic::parse(&site, text).unwrap_err().to_string(), expected, "{text}");
        }
    }
}
