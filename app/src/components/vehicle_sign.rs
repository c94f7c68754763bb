//! A vehicle: a small box with its name, its load on top, dashed when it is not heard.

use kernel::ids::VehicleId;
use kernel::wire::vehicle::WorkState;
use kernel::wire::view::{Hearing, VehicleView};
use leptos::prelude::*;

use crate::components::section::{Drawing, pct};
use crate::i18n::Locale;
use crate::screen::Screen;

/// Height of one sign with its load and a caption: how far a second one at the same place is raised.
const TIER_PX: u32 = 46;
/// Longest name inside the box.
const NAME_CHARS: usize = 6;

/// A vehicle on a floor. Never moved by anything but a report.
pub(crate) fn standing_vehicle(screen: Screen, drawing: Drawing, id: VehicleId) -> impl IntoView {
    let signal = screen.store.vehicles.get_untracked().get(&id).cloned();
    let spot = Memo::new({
        let id = id.clone();
        move |_| drawing.spots.read().get(&id).copied()
    });
    move || {
        let (spot, vehicle) = (spot.get()?, signal.as_ref()?.get());
        let line = drawing.lines.read().get(&id).cloned();
        let caption =
            caption(screen, &vehicle).or_else(|| line.map(|(lift, place)| format!("{lift} #{place}")));
        let up = -f64::from(u32::from(spot.tier) * TIER_PX);
        // A raised sign stays tied to its place.
        let stem = (spot.tier > 0).then(|| view! { <line class="stem" x1="0" x2="0" y1="0" y2=up - 3.0/> });
        Some(view! {
            <svg x=pct(spot.x_pct) y=pct(spot.y_pct) overflow="visible">
                <g class="k">
                    {stem}
                    <g transform=format!("translate(0 {up})")>{vehicle_box(screen, &vehicle, caption)}</g>
                </g>
            </svg>
        })
    }
}

/// The box itself, standing on the origin.
pub(crate) fn vehicle_box(
    screen: Screen,
    vehicle: &VehicleView,
    caption: Option<String>,
) -> impl IntoView + use<> {
    let class = match (vehicle.hearing, vehicle.work) {
        (Hearing::Silent | Hearing::Never, _) => "vehicle silent",
        (Hearing::Heard, WorkState::Faulted) => "vehicle faulted",
        (Hearing::Heard, WorkState::Idle | WorkState::Driving | WorkState::Handling | WorkState::Waiting) => {
            "vehicle"
        }
    };
    let name: String = vehicle.id.as_str().chars().take(NAME_CHARS).collect();
    let load =
        vehicle.load.is_some().then(|| view! { <rect class="load" x="-9" y="-33" width="18" height="8"/> });
    let caption_y = if vehicle.load.is_some() { "-38" } else { "-30" };
    view! {
        <g class=class>
            <title>{description(screen.locale.get(), vehicle)}</title>
            {load}
            <rect class="body" x="-22" y="-25" width="44" height="22" rx="4"/>
            <text class="vehicle-name" y="-9.5">{name}</text>
            {caption.map(|text| view! { <text class="caption" y=caption_y>{text}</text> })}
        </g>
    }
}

/// What is said over a vehicle that is not heard or reports a fault.
pub(crate) fn caption(screen: Screen, vehicle: &VehicleView) -> Option<String> {
    let locale = screen.locale.get();
    match vehicle.hearing {
        Hearing::Never => Some(locale.never_heard().to_owned()),
        Hearing::Silent => {
            let span = vehicle.heard_at.map(|at| screen.clock.span_since(at, locale)).unwrap_or_default();
            Some(span).filter(|span| !span.is_empty()).map(|span| locale.age(&span))
        }
        Hearing::Heard if vehicle.work == WorkState::Faulted => Some(locale.work(vehicle.work).to_owned()),
        Hearing::Heard => None,
    }
}

fn description(locale: Locale, vehicle: &VehicleView) -> String {
    let mut text = format!("{} · {}", vehicle.id, locale.work(vehicle.work));
    if let Some(order) = &vehicle.load {
        text.push_str(&format!(" · {} {order}", locale.carries()));
    }
    if let Some(pct) = vehicle.battery_pct {
        text.push_str(&format!(" · {} {pct} %", locale.battery()));
    }
    if let Some(dbm) = vehicle.rssi_dbm {
        text.push_str(&format!(" · {dbm} dBm"));
    }
    text
}
