//! Bar charts as SVG, of our own making: no script, no font, nothing from elsewhere.
//!
//! Knows: numbers and names. Must not know what they stand for. Colors come from the page's style, by the classes
//! `bar-0`, `bar-1`, `bar-2`; the second kind is hollow too and the third dashed, so that the series are told apart
//! without color.

use std::fmt::Write as _;

use super::figures::number;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;
/// Of the room for one group of bars, so much stays free.
const GAP: f64 = 0.2;

/// One series: its name, and a value for each group; none where there is nothing to show.
pub(super) struct Series<'a> {
    pub(super) name: &'a str,
    pub(super) values: Vec<Option<f64>>,
}

/// A chart of grouped bars.
pub(super) struct Bars<'a> {
    /// What it shows: for those who do not see it.
    pub(super) title: &'a str,
    pub(super) x_name: &'a str,
    pub(super) y_name: &'a str,
    /// One for each group; an empty one is not written.
    pub(super) labels: Vec<String>,
    pub(super) series: Vec<Series<'a>>,
}

impl Bars<'_> {
    /// The chart with its legend.
    pub(super) fn svg(&self) -> String {
        let top = self.highest();
        let mut svg = String::new();
        self.legend(&mut svg);
        put(&mut svg, format_args!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\""));
        put(&mut svg, format_args!("{}\">\n", self.title));
        self.axes(&mut svg, top);
        for (idx, series) in (0_u64..).zip(&self.series) {
            self.bars(&mut svg, idx, series, top);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn legend(&self, svg: &mut String) {
        svg.push_str("<p class=\"legend\">");
        for (idx, series) in self.series.iter().enumerate() {
            put(svg, format_args!("<svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\">"));
            put(
                svg,
                format_args!("<rect class=\"bar-{idx}\" x=\"1\" y=\"1\" width=\"12\" height=\"12\"/></svg> "),
            );
            put(svg, format_args!("<span>{}</span> ", series.name));
        }
        svg.push_str("</p>\n");
    }

    fn axes(&self, svg: &mut String, top: f64) {
        let right = WIDTH - RIGHT;
        for tick in 0..=4_u32 {
            let value = top * f64::from(tick) / 4.0;
            let y = y_of(value, top);
            put(
                svg,
                format_args!(
                    "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
                ),
            );
            put(svg, format_args!("<text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">", LEFT - 6.0, y + 4.0));
            put(svg, format_args!("{}</text>\n", short(value)));
        }
        let room = self.room();
        for (idx, label) in (0_u64..).zip(&self.labels).filter(|(_, label)| !label.is_empty()) {
            let x = LEFT + room * (number(idx) + 0.5);
            put(svg, format_args!("<text class=\"mid\" x=\"{x:.1}\" y=\"{:.1}\">", HEIGHT - BOTTOM + 16.0));
            put(svg, format_args!("{label}</text>\n"));
        }
        let (middle, low) = (LEFT + (right - LEFT) / 2.0, HEIGHT - 8.0);
        put(
            svg,
            format_args!("<text class=\"mid\" x=\"{middle:.1}\" y=\"{low:.1}\">{}</text>\n", self.x_name),
        );
        let y = TOP + (HEIGHT - TOP - BOTTOM) / 2.0;
        put(
            svg,
            format_args!("<text class=\"mid\" x=\"12\" y=\"{y:.1}\" transform=\"rotate(-90 12 {y:.1})\">"),
        );
        put(svg, format_args!("{}</text>\n", self.y_name));
    }

    fn bars(&self, svg: &mut String, nth: u64, series: &Series<'_>, top: f64) {
        let width = self.room() * (1.0 - GAP) / number(self.series.len() as u64).max(1.0);
        for ((idx, value), label) in (0_u64..).zip(&series.values).zip(&self.labels) {
            let Some(value) = *value else { continue };
            let x = LEFT + self.room() * (number(idx) + GAP / 2.0) + width * number(nth);
            let y = y_of(value, top);
            let height = HEIGHT - BOTTOM - y;
            put(
                svg,
                format_args!(
                    "<rect class=\"bar-{nth}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" ",
                    width - 1.0
                ),
            );
            put(svg, format_args!("height=\"{height:.1}\"><title>{}, {label}: ", series.name));
            put(svg, format_args!("{value:.1}</title></rect>\n"));
        }
    }

    fn room(&self) -> f64 {
        (WIDTH - LEFT - RIGHT) / number(self.labels.len() as u64).max(1.0)
    }

    /// A round number that no bar exceeds.
    fn highest(&self) -> f64 {
        let values = self.series.iter().flat_map(|it| it.values.iter().flatten().copied());
        let most = values.fold(0.0, f64::max);
        let rounds = (0..7).flat_map(|power| [1.0, 2.0, 4.0, 6.0, 8.0].map(|it| it * 10_f64.powi(power - 1)));
        rounds.into_iter().find(|it| *it >= most).unwrap_or(most)
    }
}

fn y_of(value: f64, top: f64) -> f64 {
    HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top
}

/// As few digits as tell the ticks apart.
fn short(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}").trim_end_matches('0').to_owned()
    }
}

/// Writing to a text cannot fail.
pub(super) fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    let written = text.write_fmt(what);
    debug_assert!(written.is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: Vec<Option<f64>>) -> String {
        let labels = values.iter().map(|_| "x".to_owned()).collect();
        let series = vec![Series { name: "one", values }];
        Bars { title: "t", x_name: "x", y_name: "y", labels, series }.svg()
    }

    #[test]
    fn a_bar_is_as_high_as_its_value() {
        let svg = chart(vec![Some(40.0), Some(20.0), None]);
        // 192 is the height of the plot, and 40 its round top.
        assert!(svg.contains("height=\"192.0\""), "{svg}");
        assert!(svg.contains("height=\"96.0\""), "{svg}");
        assert_eq!(svg.matches("<title>").count(), 2);
    }

    #[test]
    fn nothing_to_show_is_no_error() {
        for values in [vec![], vec![None], vec![Some(0.0)]] {
            assert!(!chart(values).contains("NaN"));
        }
    }
}
