//! The report's table, with the report's own figures beside ours, honest where they differ.
//!
//! Knows: figures. Must not know how they came about.

use kernel::time::Millis;

use super::figures::Figures;

/// What has to be said of figures that look comparable and are not.
pub(super) const NOTES: [&str; 6] = [
    "Fitted are the mean waits of the first two columns alone, by three constants; everything else fell out. Nothing is \
     fitted for Hoistway.",
    "The report’s figures after its change stand at the end of a row. Its −40 % commands is what its call record \
     stopped; ours is column against column.",
    "The report’s +30 % utilization is against its own first lease, held for a whole ride; ours is the share of the \
     time in which the lift was wanted that it served and held a vehicle.",
    "A ticket here is an emergency stop: people had to come. The simulated lift stops at each travel command that \
     turns a moving car round; the report’s lift seems to have borne most of them.",
    "Hoistway holds the lift for longer than leases alone: a vehicle creeps to the door only when the car stands open \
     for it, and the door is held until the plant and the vehicle, back on the radio, both say that it is in, or out.",
    "Hoistway chooses vehicles itself, and brings one by lift where it is there soonest; in the other columns an order \
     waits half an hour for a vehicle of its own floor. Rides without a load are rides that others wait for.",
];

/// One row: what, then before, here and in the report, and after, by leases only, by Hoistway and in the report.
pub(super) struct Row {
    pub(super) label: &'static str,
    pub(super) cells: [String; 5],
}

/// All rows.
pub(super) fn rows(columns: [&Figures; 3]) -> Vec<Row> {
    let text = |it: &str| it.to_owned();
    let none = || text("–");
    let row = |label, of: &dyn Fn(&Figures) -> String, [before, after]: [&str; 2]| {
        let [ours_before, leases, hoistway] = columns.map(of);
        Row { label, cells: [ours_before, text(before), leases, hoistway, text(after)] }
    };
    let compared = |label, value: fn(&Figures) -> f64, after| {
        let [before, leases, hoistway] = columns.map(value);
        let (leases, hoistway) = (against(leases, before), against(hoistway, before));
        Row { label, cells: [format!("{before:.0}"), none(), leases, hoistway, text(after)] }
    };
    vec![
        row("conflicting commands a day", &|it| one(it.conflicts_per_day), ["about 23", "0"]),
        row("emergency stops a week", &|it| one(it.e_stops_per_week), ["about 4", "0"]),
        row("wait for the lease, ms", &|it| it.lease_wait_ms.map_or_else(none, one), ["–", "about 7"]),
        row(
            "leases granted, %",
            &|it| it.lease_success_pct.map_or_else(none, |it| format!("{it:.2}")),
            ["–", "99.97"],
        ),
        row("mean wait for the lift, min:s", &|it| clock(it.mean_wait), ["4:40", "2:20"]),
        compared("commands to the lift a day", |it| it.commands_per_day, "−40 %"),
        compared("utilization of the lift, %", |it| it.utilization_pct, "+30 %"),
        row("fault tickets a week", &|it| one(it.e_stops_per_week), ["3 to 4", "0.5"]),
        row("rides a day", &|it| format!("{:.0}", it.rides_per_day), ["–", "–"]),
    ]
}

/// The table for a terminal.
pub(super) fn text(columns: [&Figures; 3], days: u32) -> String {
    let heads = ["before", "(report)", "leases only", "Hoistway", "(report)"];
    let mut lines = vec![line("", heads.map(str::to_owned)), "-".repeat(112)];
    lines.extend(rows(columns).into_iter().map(|row| line(row.label, row.cells)));
    lines.push(String::new());
    lines.push(format!("{}.", span(days)));
    if columns.iter().any(|it| it.unserved > 0) {
        lines.push(format!("{}.", unserved(columns)));
    }
    lines.extend(NOTES.map(str::to_owned));
    lines.join("\n") + "\n"
}

/// How much Hoistway's own column ran.
pub(super) fn span(days: u32) -> String {
    let days = if days == 1 { "one day".to_owned() } else { format!("{days} days") };
    format!("Hoistway’s own column ran {days} in all, with one seed after the other")
}

/// Who never got the lift is in no mean.
pub(super) fn unserved(columns: [&Figures; 3]) -> String {
    let [before, leases, hoistway] = columns.map(|it| it.unserved);
    format!(
        "Vehicles that still waited when the days closed, and are in no mean: {before} before, {leases} with leases \
         only, {hoistway} with Hoistway"
    )
}

fn line(label: &str, cells: [String; 5]) -> String {
    let [before, reported_before, leases, hoistway, reported_after] = cells;
    format!(
        "{label:<40}{before:>10}{reported_before:>12}   {leases:>16}   {hoistway:>16}{reported_after:>12}"
    )
}

fn one(value: f64) -> String {
    format!("{value:.1}")
}

/// Minutes and seconds.
fn clock(span: Millis) -> String {
    let seconds = (span.0 + 500) / 1000;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

fn against(value: f64, before: f64) -> String {
    let change = if before > 0.0 { (value / before - 1.0) * 100.0 } else { 0.0 };
    let sign = if change < 0.0 { '−' } else { '+' };
    format!("{value:.0} ({sign}{:.0} %)", change.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_changes_are_written_as_people_read_them() {
        assert_eq!(clock(Millis(279_600)), "4:40");
        assert_eq!(clock(Millis(5_000)), "0:05");
        assert_eq!(against(60.0, 100.0), "60 (−40 %)");
        assert_eq!(against(130.0, 100.0), "130 (+30 %)");
        assert_eq!(against(1.0, 0.0), "1 (+0 %)");
    }
}
