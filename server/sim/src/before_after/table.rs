//! The report's table, with the report's own figures beside ours, honest where they differ.
//!
//! Knows: figures. Must not know how they came about.

use kernel::time::Millis;

use super::figures::Figures;

/// Why a figure of Hoistway itself is not there yet.
pub(super) const PENDING: &str = "pending: a policy that runs the control nodes that ship";

/// What has to be said of figures that look comparable and are not.
pub(super) const NOTES: [&str; 4] = [
    "Fitted are the two mean waits alone, by three constants; everything else fell out.",
    "The report's −40 % commands is what its call record stopped; ours is column against column.",
    "The report's +30 % utilization is against its own first lease, held for a whole ride; ours is the share of the \
     time in which the lift was wanted that it served and held a vehicle.",
    "A ticket here is an emergency stop: people had to come. The simulated lift stops at each travel command that \
     turns a moving car round; the report's lift seems to have borne most of them.",
];

/// One row: what, then here and in the report for each column.
pub(super) struct Row {
    pub(super) label: &'static str,
    pub(super) cells: [String; 4],
}

/// All rows.
pub(super) fn rows(before: &Figures, leases: &Figures) -> Vec<Row> {
    let row = |label, cells: [String; 4]| Row { label, cells };
    let text = str::to_owned;
    let lease_wait = leases.lease_wait_ms.map_or_else(|| text("–"), |it| format!("{it:.1}"));
    let success = leases.lease_success_pct.map_or_else(|| text("–"), |it| format!("{it:.2}"));
    let one = |value: f64| format!("{value:.1}");
    let (tickets_before, tickets_leases) = (before.e_stops_per_week, leases.e_stops_per_week);
    vec![
        row(
            "conflicting commands a day",
            [one(before.conflicts_per_day), text("about 23"), one(leases.conflicts_per_day), text("0")],
        ),
        row(
            "emergency stops a week",
            [one(before.e_stops_per_week), text("about 4"), one(leases.e_stops_per_week), text("0")],
        ),
        row("wait for the lease, ms", [text("–"), text("–"), lease_wait, text("about 7")]),
        row("leases granted, %", [text("–"), text("–"), success, text("99.97")]),
        row(
            "mean wait for the lift, min:s (fitted)",
            [clock(before.mean_wait), text("4:40"), clock(leases.mean_wait), text("2:20")],
        ),
        row(
            "commands to the lift a day",
            [
                format!("{:.0}", before.commands_per_day),
                text("–"),
                against(leases.commands_per_day, before.commands_per_day),
                text("−40 %"),
            ],
        ),
        row(
            "utilization of the lift, %",
            [
                format!("{:.0}", before.utilization_pct),
                text("–"),
                against(leases.utilization_pct, before.utilization_pct),
                text("+30 %"),
            ],
        ),
        row("fault tickets a week", [one(tickets_before), text("3 to 4"), one(tickets_leases), text("0.5")]),
        row(
            "rides a day",
            [
                format!("{:.0}", before.rides_per_day),
                text("–"),
                format!("{:.0}", leases.rides_per_day),
                text("–"),
            ],
        ),
    ]
}

/// The table for a terminal.
pub(super) fn text(before: &Figures, leases: &Figures) -> String {
    let mut lines = vec![
        line("", ["before", "(report)", "leases only", "(report)"].map(str::to_owned), "Hoistway"),
        "-".repeat(112),
    ];
    for row in rows(before, leases) {
        lines.push(line(row.label, row.cells, "pending"));
    }
    lines.push(String::new());
    lines.push(format!("Hoistway is {PENDING}."));
    if before.unserved > 0 || leases.unserved > 0 {
        lines.push(format!("{}.", unserved(before, leases)));
    }
    lines.extend(NOTES.map(str::to_owned));
    lines.join("\n") + "\n"
}

/// Who never got the lift is in no mean.
pub(super) fn unserved(before: &Figures, leases: &Figures) -> String {
    format!(
        "Vehicles that still waited when the days closed, and are in no mean: {} before, {} with leases only",
        before.unserved, leases.unserved
    )
}

fn line(label: &str, cells: [String; 4], own: &str) -> String {
    let [before, reported_before, leases, reported_leases] = cells;
    format!("{label:<40}{before:>10}{reported_before:>12}   {leases:>16}{reported_leases:>12}   {own:>10}")
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
