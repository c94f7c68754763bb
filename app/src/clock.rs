//! The server's clock on this screen. Ages need it, so they appear after hydration; until then times are absolute.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use js_sys::{Date, Intl, Object, Reflect};
use leptos::prelude::*;

use crate::i18n::Locale;

/// How often ages move on. Half a second, so that a whole second is never shown for longer than one and a half.
const PERIOD: Duration = Duration::from_millis(500);

/// The server's clock, carried on between two frames by the browser's own steady clock.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    /// None until hydration is over.
    now: RwSignal<Option<DateTime<Utc>>>,
    /// Seconds by which the site's wall clock is ahead of UTC; none until hydration is over.
    offset_s: RwSignal<Option<i64>>,
    /// The server's clock at the newest frame, and the browser's at its arrival.
    heard: StoredValue<Option<(DateTime<Utc>, f64)>>,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { now: RwSignal::new(None), offset_s: RwSignal::new(None), heard: StoredValue::new(None) }
    }

    /// A frame came.
    pub(crate) fn hear(self, server_time: DateTime<Utc>) {
        self.heard.set_value(steady_ms().map(|ms| (server_time, ms)));
        self.advance();
    }

    /// Runs from here on; for the browser alone.
    pub(crate) fn start(self, time_zone: &str) {
        let zone = time_zone.to_owned();
        self.offset_s.set(Some(offset_of(&zone)));
        self.advance();
        set_interval(move || self.advance(), PERIOD);
        // Daylight saving may begin while the screen runs.
        set_interval(move || self.offset_s.set(Some(offset_of(&zone))), Duration::from_secs(60));
    }

    fn advance(self) {
        if let (Some((server_time, at)), Some(ms)) = (self.heard.get_value(), steady_ms()) {
            self.now.set(Some(server_time + TimeDelta::milliseconds((ms - at) as i64)));
        }
    }

    /// Seconds since `at`; none before the first frame.
    pub(crate) fn seconds_since(self, at: DateTime<Utc>) -> Option<u64> {
        let ms = (self.now.get()? - at).num_milliseconds();
        Some(u64::try_from(ms.max(0)).unwrap_or_default() / 1000)
    }

    /// Milliseconds since `at`; none before the first frame.
    pub(crate) fn ms_since(self, at: DateTime<Utc>) -> Option<u64> {
        let ms = (self.now.get()? - at).num_milliseconds();
        u64::try_from(ms.max(0)).ok()
    }

    /// Seconds until `at`, zero when it is past; none before the first frame.
    pub(crate) fn seconds_until(self, at: DateTime<Utc>) -> Option<u64> {
        let ms = (at - self.now.get()?).num_milliseconds();
        Some(u64::try_from(ms.max(0)).unwrap_or_default().div_ceil(1000))
    }

    /// How long ago `at` was, in words; empty before the first frame.
    pub(crate) fn span_since(self, at: DateTime<Utc>, locale: Locale) -> String {
        self.seconds_since(at).map(|seconds| locale.span(seconds)).unwrap_or_default()
    }

    /// The site's wall clock; before hydration ISO 8601 in UTC, which is the same on both sides.
    pub(crate) fn time_of_day(self, at: DateTime<Utc>) -> String {
        match self.offset_s.get() {
            Some(offset_s) => (at + TimeDelta::seconds(offset_s)).format("%H:%M:%S").to_string(),
            None => at.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }
    }

    /// Which time that is; none before hydration, when times name their zone themselves.
    pub(crate) fn zone(self) -> Option<String> {
        self.offset_s.get().map(zone_label)
    }

    /// Like [`Self::time_of_day`], with milliseconds, for what happens within one scan of a PLC.
    pub(crate) fn exact_time_of_day(self, at: DateTime<Utc>) -> String {
        match self.offset_s.get() {
            Some(offset_s) => (at + TimeDelta::seconds(offset_s)).format("%H:%M:%S%.3f").to_string(),
            None => at.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }
    }
}

/// Milliseconds of the browser's steady clock.
pub(crate) fn steady_ms() -> Option<f64> {
    Some(web_sys::window()?.performance()?.now())
}

/// Asks the browser how far a zone is ahead of UTC now; UTC when it does not know the zone.
fn offset_of(time_zone: &str) -> i64 {
    let options = Object::new();
    let set = |key: &str, value: &str| Reflect::set(&options, &key.into(), &value.into()).is_ok();
    if !(set("timeZone", time_zone) && set("timeZoneName", "longOffset")) {
        return 0;
    }
    zone_name(&options).and_then(|name| parse_offset(&name)).unwrap_or(0)
}

fn zone_name(options: &Object) -> Option<String> {
    // A zone that the browser does not know throws, which the binding of `new` cannot catch.
    let intl = Reflect::get(&js_sys::global(), &"Intl".into()).ok()?;
    let constructor: js_sys::Function =
        wasm_bindgen::JsCast::dyn_into(Reflect::get(&intl, &"DateTimeFormat".into()).ok()?).ok()?;
    let arguments = js_sys::Array::of2(&"en".into(), options);
    let format: Intl::DateTimeFormat =
        wasm_bindgen::JsCast::unchecked_into(Reflect::construct(&constructor, &arguments).ok()?);
    let parts = format.format_to_parts(&Date::new_0());
    let part = parts.iter().find(|part| field(part, "type").as_deref() == Some("timeZoneName"))?;
    field(&part, "value")
}

fn field(object: &wasm_bindgen::JsValue, name: &str) -> Option<String> {
    Reflect::get(object, &name.into()).ok()?.as_string()
}

/// Seconds of a name such as `GMT+08:00` or `GMT`.
fn parse_offset(name: &str) -> Option<i64> {
    let rest = name.strip_prefix("GMT")?;
    if rest.is_empty() {
        return Some(0);
    }
    let (sign, digits) = match (rest.strip_prefix('+'), rest.strip_prefix('-').or(rest.strip_prefix('−'))) {
        (Some(digits), _) => (1, digits),
        (None, Some(digits)) => (-1, digits),
        (None, None) => return None,
    };
    let mut parts = digits.split(':');
    let hours: i64 = parts.next()?.parse().ok()?;
    let minutes: i64 = parts.next().map_or(Some(0), |text| text.parse().ok())?;
    Some(sign * (hours * 3600 + minutes * 60))
}

/// An offset as people write it: `UTC+8`, `UTC−3:30`.
fn zone_label(offset_s: i64) -> String {
    let (sign, minutes) = (if offset_s < 0 { '−' } else { '+' }, offset_s.abs() / 60);
    match (minutes / 60, minutes % 60) {
        (0, 0) => "UTC".to_owned(),
        (hours, 0) => format!("UTC{sign}{hours}"),
        (hours, minutes) => format!("UTC{sign}{hours}:{minutes:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_from_what_browsers_call_a_zone() {
        let rows = [
            ("GMT+08:00", Some(28_800)),
            ("GMT-03:30", Some(-12_600)),
            ("GMT−5", Some(-18_000)),
            ("GMT", Some(0)),
            ("CET", None),
            ("GMT+x", None),
        ];
        for (name, expected) in rows {
            assert_eq!(parse_offset(name), expected, "{name}");
        }
    }

    #[test]
    fn a_zone_is_said_by_its_offset() {
        let rows = [(28_800, "UTC+8"), (-12_600, "UTC−3:30"), (0, "UTC"), (20_700, "UTC+5:45")];
        for (offset_s, expected) in rows {
            assert_eq!(zone_label(offset_s), expected);
        }
    }
}
