//! `GET /metrics`: lift health and readiness as Prometheus scrapes them, in its text format.
//!
//! Counters rise as long as the process lives; those from the ledger go on over restarts and are the same on every
//! node. The help texts say which is which, since a sum over nodes is right for one kind alone.

use std::fmt;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use chrono::Utc;
use kernel::health::Totals;
use kernel::time::Millis;
use kernel::wire::health::Waits;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::problem::{Code, Refused};
use super::{AppState, health};

/// A further label beside the lift's, and its value.
type Label = (&'static str, String);

/// A counter with a series for each lift, and each value of its further label.
struct Counter {
    name: &'static str,
    help: &'static str,
    series: fn(&Totals) -> Series,
}

/// What a counter shows of one lift.
type Series = Vec<(Option<Label>, Value)>;

enum Value {
    Count(u64),
    Time(Millis),
}

/// Names and help texts of all counters of lifts. `_total` is added to each name.
const COUNTERS: [Counter; 15] = [
    Counter {
        name: "hoistway_lift_conflicts",
        help: "Conflicts: commands that reached the PLC of the lift within 300 ms (its longest scan) of another \
               node's command that asked for something else and reached it too. Heard by this node since it started; \
               all nodes hear the same, so take the maximum.",
        series: |it| count(it.heard.conflicts.reached),
    },
    Counter {
        name: "hoistway_lift_contradicting_commands",
        help: "Commands that were sent within 300 ms of another node's command that asked for something else, whether \
               or not they were let through. Heard by this node since it started: take the maximum over nodes.",
        series: |it| count(it.heard.conflicts.sent),
    },
    Counter {
        name: "hoistway_lift_commands_saved",
        help: "Commands that this node did not send, since another one had made the same call and the PLC had taken it.",
        series: |it| count(it.heard.commands.saved),
    },
    Counter {
        name: "hoistway_lift_emergency_stops",
        help: "Emergency stops, by the fault code of the maker that stood with it; 0 of a stop without one, such as by \
               the button. From the ledger: the same on every node.",
        series: emergency_stops,
    },
    Counter {
        name: "hoistway_lift_fault_tickets",
        help: "Fault tickets: times when an alarm stood that only people at the lift can end (emergency stop, fault, PLC \
               frozen or out of reach, maintenance needed) and none did before. From the ledger: the same on every node.",
        series: |it| count(it.recorded.fault_tickets),
    },
    Counter {
        name: "hoistway_lift_foreign_moves",
        help: "Movements of car or door that nobody commanded, and commands that the PLC took from somebody else. From the \
               ledger: the same on every node.",
        series: |it| count(it.recorded.foreign_moves),
    },
    Counter {
        name: "hoistway_lift_held_seconds",
        help: "Seconds in which a ride held the lift, from its grant to its end; the rate is the utilization. From the \
               ledger: the same on every node.",
        series: |it| time(it.recorded.held_ms),
    },
    Counter {
        name: "hoistway_lift_edge_spells",
        help: "Times when the gateway began to arbitrate at the lift, since no node reached the lease store. From the \
               ledger: the same on every node.",
        series: |it| count(it.recorded.edge_spells),
    },
    Counter {
        name: "hoistway_lift_edge_commands",
        help: "Commands that any node sent without a lease, by edge arbitration. From the ledger: the same on every node.",
        series: |it| count(it.recorded.edge_commands),
    },
    Counter {
        name: "hoistway_lift_lease_requests",
        help: "Leases that this node asked for since it started. One that is neither granted nor refused was given up, \
               or is awaited.",
        series: |it| count(it.heard.leases.asked),
    },
    Counter {
        name: "hoistway_lift_lease_answers",
        help: "How this node's requests for the lease ended since it started: granted, held by another for the whole \
               wait of 2 s, store_down, or refused otherwise. Granted by requested is the report's success (99.97 %).",
        series: lease_answers,
    },
    Counter {
        name: "hoistway_lift_lease_losses",
        help: "Leases that this node lost with work in hand since it started: each had ended, was broken by a successor, \
               or was held for longer than any command takes. What was not sent is given up; what was sent is awaited.",
        series: |it| count(it.heard.leases.lost),
    },
    Counter {
        name: "hoistway_lift_commands",
        help: "Commands that this node sent to the lift since it started.",
        series: |it| count(it.heard.commands.sent),
    },
    Counter {
        name: "hoistway_lift_command_outcomes",
        help: "What became of this node's commands since it started, by the gateway's word: acknowledged by the PLC, \
               fenced (refused, since another node's command or another ride had overtaken it), refused otherwise, \
               unwritten (too late), unknown in time. What is learned of an unknown one later counts once more.",
        series: command_outcomes,
    },
    Counter {
        name: "hoistway_lift_moving_seconds",
        help: "Seconds in which this node saw the car travel since it started.",
        series: |it| time(it.heard.moving_ms),
    },
];

/// A distribution with a series for each lift.
struct Histogram {
    name: &'static str,
    help: &'static str,
    waits: fn(&Totals) -> &Waits,
}

const HISTOGRAMS: [Histogram; 3] = [
    Histogram {
        name: "hoistway_lift_vehicle_wait_seconds",
        help: "Seconds from a vehicle's asking for the lift, at its waiting point, to standing in the car: the report's \
               wait, 4:40 before and 2:20 after. From the ledger: the same on every node.",
        waits: |it| &it.recorded.vehicle_wait,
    },
    Histogram {
        name: "hoistway_lift_turn_wait_seconds",
        help: "Seconds from a vehicle's asking for the lift to its turn: the grant of its ride. From the ledger: the \
               same on every node.",
        waits: |it| &it.recorded.turn_wait,
    },
    Histogram {
        name: "hoistway_lift_lease_wait_seconds",
        help: "Seconds from this node's asking for the lease to the grant, of those granted since it started: about \
               7 ms in the report.",
        waits: |it| &it.heard.leases.wait,
    },
];

/// One scrape.
#[derive(Debug)]
struct Scrape {
    totals: Vec<Totals>,
    /// Name, help, and whether it is so.
    states: Vec<(&'static str, &'static str, bool)>,
}

/// Lift health and readiness for Prometheus.
#[utoipa::path(get, path = "/metrics", operation_id = "readMetrics", tag = "health", responses(
    (status = 200, description = "In Prometheus's text format 0.0.4.", body = String, content_type = "text/plain"),
))]
pub(super) async fn read(State(state): State<AppState>) -> Result<Response, Refused> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape::of(&state)));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry)
        .map_err(|_| Refused::new(Code::Internal, "The metrics could not be written."))?;
    Ok(([(CONTENT_TYPE, prometheus_text::CONTENT_TYPE)], text).into_response())
}

impl Scrape {
    fn of(state: &AppState) -> Self {
        let totals = state.hub().health().totals(Utc::now());
        let (node, ready) = (state.hub().node(), health::readiness(state).ready);
        let states = vec![
            ("hoistway_ready", "Orders are taken at this node: 1, else 0.", ready),
            (
                "hoistway_broker_connected",
                "This node is connected to the broker: 1, else 0.",
                node.broker_connected,
            ),
            (
                "hoistway_ledger_writable",
                "The ledger takes this node's entries: 1, else 0.",
                node.ledger_writable,
            ),
            (
                "hoistway_lease_store_reached",
                "This node reaches the lease store: 1, else 0.",
                !state.leases().is_away(),
            ),
            ("hoistway_drill", "Faults are injected here on purpose: 1, else 0.", node.drill),
        ];
        Self { totals, states }
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, is_so) in &self.states {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            metric.encode_gauge(&i64::from(*is_so))?;
        }
        for Counter { name, help, series } in &COUNTERS {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for totals in &self.totals {
                for (label, value) in series(totals) {
                    let labels: Vec<Label> =
                        std::iter::once(("lift", totals.lift.to_string())).chain(label).collect();
                    let mut one = metric.encode_family(&labels)?;
                    match value {
                        Value::Count(count) => one.encode_counter::<NoLabelSet, u64, u64>(&count, None)?,
                        Value::Time(span) => {
                            one.encode_counter::<NoLabelSet, f64, u64>(&seconds(span), None)?;
                        }
                    }
                }
            }
        }
        for Histogram { name, help, waits } in &HISTOGRAMS {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
            for totals in &self.totals {
                let waits = waits(totals);
                let buckets: Vec<(f64, u64)> =
                    waits.buckets.iter().map(|it| (seconds(it.up_to_ms), it.count)).collect();
                let labels = [("lift", totals.lift.to_string())];
                let mut one = metric.encode_family(&labels)?;
                one.encode_histogram::<NoLabelSet>(seconds(waits.sum_ms), waits.count, &buckets, None)?;
            }
        }
        Ok(())
    }
}

fn seconds(span: Millis) -> f64 {
    Duration::from_millis(span.0).as_secs_f64()
}

fn count(value: u64) -> Series {
    vec![(None, Value::Count(value))]
}

fn time(span: Millis) -> Series {
    vec![(None, Value::Time(span))]
}

fn labelled<const N: usize>(name: &'static str, values: [(&str, u64); N]) -> Series {
    values.map(|(text, value)| (Some((name, text.to_owned())), Value::Count(value))).into()
}

fn emergency_stops(totals: &Totals) -> Series {
    let stops = totals.recorded.emergency_stops.iter();
    stops.map(|it| (Some(("fault", it.fault.to_string())), Value::Count(it.count))).collect()
}

fn lease_answers(totals: &Totals) -> Series {
    let leases = &totals.heard.leases;
    labelled(
        "answer",
        [
            ("granted", leases.granted),
            ("held", leases.refused_held),
            ("store_down", leases.refused_store_down),
            ("refused", leases.refused_otherwise),
        ],
    )
}

fn command_outcomes(totals: &Totals) -> Series {
    let commands = totals.heard.commands;
    labelled(
        "outcome",
        [
            ("acknowledged", commands.acknowledged),
            ("fenced", commands.fenced),
            ("refused", commands.refused.saturating_sub(commands.fenced)),
            ("unwritten", commands.unwritten),
            ("unknown", commands.unknown),
        ],
    )
}
