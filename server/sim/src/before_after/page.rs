//! The comparison as one page that needs nothing else: text, table, three charts, light and dark.

use super::figures::{Figures, WAIT_BARS};
use super::load::DAY_STARTS_H;
use super::plot::{Bars, Series, put};
use super::{calibration, table};

const BEFORE: &str = "before: two nodes, no lease";
const LEASES: &str = "leases only, first come first served";
const HOISTWAY: &str = "Hoistway";

const STYLE: &str = "
:root { --canvas: #f4f5f6; --ink: #1f2326; --ink-2: #454b50; --line: #9ea3a7; --grid: #d3d6d9;
  --bar-0: #9c3d00; --bar-1: #005072; --bar-2: #1d6b2c; }
@media (prefers-color-scheme: dark) { :root { color-scheme: dark; --canvas: #24282b; --ink: #e6e8ea;
  --ink-2: #b6bbc0; --line: #565c62; --grid: #3d4348; --bar-0: #ff9f43; --bar-1: #5bc0eb;
  --bar-2: #7bd88f; } }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem; background: var(--canvas); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; font-weight: 400; }
thead th { font-weight: 600; } th:first-child { text-align: left; }
.report { color: var(--ink-2); }
svg { width: 100%; height: auto; display: block; } svg.key { width: 0.9rem; display: inline-block; }
svg text { fill: var(--ink-2); font-size: 12px; } .end { text-anchor: end; } .mid { text-anchor: middle; }
.grid { stroke: var(--grid); } .legend span { margin-right: 1.5rem; }
.bar-0 { fill: var(--bar-0); stroke: var(--bar-0); }
.bar-1 { fill: var(--bar-1); fill-opacity: 0.25; stroke: var(--bar-1); stroke-width: 1.5; }
.bar-2 { fill: none; stroke: var(--bar-2); stroke-width: 2; stroke-dasharray: 4 2; }
";

/// The page as HTML.
pub(super) fn html(columns: [&Figures; 3], days: u32, n_seeds: usize) -> String {
    let mut page = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    put(
        &mut page,
        format_args!("<title>Before and after</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"),
    );
    page.push_str(
        "<h1>Before and after</h1>\n<p>The first field report’s site in virtual time: twelve vehicles, one ",
    );
    page.push_str(
        "freight lift over three floors, two active dispatch nodes, a flood of orders in the afternoon. ",
    );
    put(
        &mut page,
        format_args!("The first two columns ran {days} working days with each of {n_seeds} seeds. "),
    );
    put(&mut page, format_args!("{}.</p>\n", table::span(days)));
    figures(&mut page, columns);
    for (heading, chart) in charts(columns) {
        put(&mut page, format_args!("<h2>{heading}</h2>\n{}", chart.svg()));
    }
    page.push_str("<h2>How the constants were found</h2>\n");
    for paragraph in calibration::HOW {
        put(&mut page, format_args!("<p>{paragraph}</p>\n"));
    }
    page.push_str("<ul>\n");
    for knob in calibration::knobs() {
        put(&mut page, format_args!("<li>{}: {} {}, ", knob.name, knob.value, knob.unit));
        put(&mut page, format_args!("allowed {} to {}. {}</li>\n", knob.least, knob.most, knob.source));
    }
    page.push_str("</ul>\n</body>\n</html>\n");
    page
}

fn figures(page: &mut String, columns: [&Figures; 3]) {
    page.push_str("<div class=\"wide\"><table>\n<thead><tr><th></th><th>before</th>");
    page.push_str("<th class=\"report\">report, before</th><th>leases only</th><th>Hoistway</th>");
    page.push_str("<th class=\"report\">report, after</th></tr></thead>\n<tbody>\n");
    for row in table::rows(columns) {
        let [before, reported_before, leases, hoistway, reported_after] = row.cells;
        put(page, format_args!("<tr><th scope=\"row\">{}</th><td>{before}</td>", row.label));
        put(page, format_args!("<td class=\"report\">{reported_before}</td><td>{leases}</td>"));
        put(page, format_args!("<td>{hoistway}</td><td class=\"report\">{reported_after}</td></tr>\n"));
    }
    page.push_str("</tbody>\n</table></div>\n");
    put(page, format_args!("<p>{}.</p>\n<ul>\n", table::unserved(columns)));
    for note in table::NOTES {
        put(page, format_args!("<li>{note}</li>\n"));
    }
    page.push_str("</ul>\n");
}

fn charts<'a>(columns: [&Figures; 3]) -> [(&'a str, Bars<'a>); 3] {
    let series = |of: fn(&Figures) -> Vec<Option<f64>>| {
        let named = [BEFORE, LEASES, HOISTWAY].into_iter().zip(columns);
        named.map(|(name, it)| Series { name, values: of(it) }).collect::<Vec<_>>()
    };
    let [before, ..] = columns;
    let minutes = (1..=WAIT_BARS).map(|it| if it == WAIT_BARS { "more".to_owned() } else { it.to_string() });
    let hours =
        || (0_u64..).zip(&before.conflicts_by_hour).map(|(it, _)| format!("{}:00", DAY_STARTS_H + it));
    let waits = Bars {
        title: "Rides by the length of their wait",
        x_name: "wait for the lift, up to so many minutes",
        y_name: "rides, %",
        labels: minutes.collect(),
        series: series(|it| it.waits_pct.iter().copied().map(Some).collect()),
    };
    let over_the_day = Bars {
        title: "Mean wait by the hour in which it began",
        x_name: "hour in which the wait began",
        y_name: "mean wait, min",
        labels: hours().collect(),
        series: series(|it| it.wait_by_hour_min.clone()),
    };
    let conflicts = Bars {
        title: "Conflicting commands by the hour",
        x_name: "hour",
        y_name: "a day",
        labels: hours().collect(),
        series: series(|it| it.conflicts_by_hour.iter().copied().map(Some).collect()),
    };
    [
        ("How long vehicles waited", waits),
        ("Waits over the day", over_the_day),
        ("Commands that contradict each other, over the day", conflicts),
    ]
}
