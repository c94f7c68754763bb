//! The site in section: floors stacked, lift shafts, stations, and every vehicle at its last reported place.

use std::collections::BTreeMap;

use kernel::ids::{LiftId, VehicleId};
use kernel::wire::vehicle::Place;
use leptos::prelude::*;

use crate::components::lift_sign::lift_sign;
use crate::components::vehicle_sign::standing_vehicle;
use crate::i18n::Locale;
use crate::layout::{Layout, Spot};
use crate::screen::Screen;

/// What all signs of the drawing share.
#[derive(Clone, Copy)]
pub(crate) struct Drawing {
    pub(crate) layout: Memo<Layout>,
    /// Signs of vehicles that stand on a floor.
    pub(crate) spots: Memo<BTreeMap<VehicleId, Spot>>,
    /// Vehicles in each car, by name.
    pub(crate) riders: Memo<BTreeMap<LiftId, Vec<VehicleId>>>,
    /// For which lift a vehicle waits, and at which place in the line, from 1.
    pub(crate) lines: Memo<BTreeMap<VehicleId, (LiftId, usize)>>,
    /// A person picks among its lifts.
    pub(crate) picks: bool,
}

impl Drawing {
    pub(crate) fn new(screen: Screen, layout: Memo<Layout>, picks: bool) -> Self {
        let places = Memo::new(move |_| places(screen));
        Self {
            layout,
            spots: Memo::new(move |_| layout.read().spots(&places.read())),
            riders: Memo::new(move |_| riders(&places.read())),
            lines: Memo::new(move |_| lines(screen)),
            picks,
        }
    }
}

/// The drawing of the whole site.
pub(crate) fn section(screen: Screen) -> impl IntoView {
    let layout = Memo::new(move |_| Layout::new(&screen.store.plant.read()));
    let drawing = Drawing::new(screen, layout, true);
    let lifts = move || screen.store.lifts.read().keys().cloned().collect::<Vec<_>>();
    view! {
        <section class="section" aria-label=screen.text(Locale::section)>
            {lost_vehicles(screen)}
            {building(screen, drawing, Locale::section, lifts).into_any()}
        </section>
    }
}

/// A building with some of its lifts, and every vehicle that stands in it.
pub(crate) fn building(
    screen: Screen,
    drawing: Drawing,
    name: fn(Locale) -> &'static str,
    lifts: impl Fn() -> Vec<LiftId> + Send + Sync + 'static,
) -> impl IntoView {
    // One for each floor: they keep the drawing high enough, and it scrolls when the screen is not.
    let rooms = move || {
        let n_floors = drawing.layout.read().floors.len();
        (0..n_floors).map(|_| view! { <div class="floor-room"></div> }).collect_view()
    };
    let vehicles = move || screen.store.vehicles.read().keys().cloned().collect::<Vec<_>>();
    view! {
        <div class="building">
            {rooms}
            <svg class="drawing" role="group" aria-label=screen.text(name)>
                {patterns()}
                {halls(screen, drawing)}
                <For each=lifts key=Clone::clone children=move |id| lift_sign(screen, drawing, id)/>
                <For each=vehicles key=Clone::clone
                    children=move |id| standing_vehicle(screen, drawing, id)/>
            </svg>
        </div>
    }
}

/// The hatch over what is old.
fn patterns() -> impl IntoView {
    view! {
        <defs>
            <pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                <line class="hatch-line" x1="0" y1="0" x2="0" y2="7"/>
            </pattern>
        </defs>
    }
}

/// Floors, stations and waiting points: what changes only with the site file.
fn halls(screen: Screen, drawing: Drawing) -> impl IntoView {
    let floors = move || {
        let line = |floor: &crate::layout::FloorLine| {
            let (top, y) = (pct(floor.top_pct), pct(floor.y_pct));
            let name = floor.name.clone();
            view! {
                <svg x="1.2%" y=top overflow="visible">
                    <g class="k"><text class="floor-name" y="22">{name}</text></g>
                </svg>
                <line class="floor-line" x1="1.2%" x2="98.8%" y1=y.clone() y2=y/>
            }
        };
        drawing.layout.read().floors.iter().map(line).collect_view()
    };
    let stations = move || {
        let sign = |sign: &crate::layout::StationSign| {
            let name = sign.id.to_string();
            view! {
                <svg x=pct(sign.x_pct) y=pct(sign.y_pct) overflow="visible">
                    <g class="k">
                        <title>{format!("{} {name}", screen.locale.get().station())}</title>
                        <rect class="station" x="-15" y="4" width="30" height="6"/>
                        <text class="station-name" y=if sign.row == 0 { "25" } else { "39" }>{name.clone()}</text>
                    </g>
                </svg>
            }
        };
        drawing.layout.read().stations.iter().map(sign).collect_view()
    };
    let waiting = move || {
        let sign = |(id, x, y): &(kernel::ids::PointId, f64, f64)| {
            view! {
                <svg x=pct(*x) y=pct(*y) overflow="visible">
                    <g class="k">
                        <title>{format!("{} {id}", screen.locale.get().waiting_point())}</title>
                        <circle class="waiting-point" cy="-7" r="5"/>
                    </g>
                </svg>
            }
        };
        drawing.layout.read().waiting.iter().map(sign).collect_view()
    };
    view! { {floors} {stations} {waiting} }
}

/// Vehicles whose place nobody knows are named, not drawn.
fn lost_vehicles(screen: Screen) -> impl IntoView {
    let names = Memo::new(move |_| {
        let vehicles = screen.store.vehicles.read();
        let lost = vehicles.values().filter(|it| it.read().place == Place::Unknown);
        lost.map(|it| it.read().id.to_string()).collect::<Vec<_>>().join(" ")
    });
    view! {
        <p class="lost-vehicles" hidden=move || names.read().is_empty()>
            <span>{screen.text(Locale::place_unknown)}</span>
            ": "
            <strong>{move || names.get()}</strong>
        </p>
    }
}

/// A coordinate for SVG.
pub(crate) fn pct(value: f64) -> String {
    format!("{value:.2}%")
}

fn places(screen: Screen) -> Vec<(VehicleId, Place)> {
    let vehicles = screen.store.vehicles.read();
    vehicles.iter().map(|(id, vehicle)| (id.clone(), vehicle.read().place.clone())).collect()
}

fn riders(places: &[(VehicleId, Place)]) -> BTreeMap<LiftId, Vec<VehicleId>> {
    let mut riders: BTreeMap<LiftId, Vec<VehicleId>> = BTreeMap::new();
    for (id, place) in places {
        match place {
            Place::InCar { lift } => riders.entry(lift.clone()).or_default().push(id.clone()),
            Place::Unknown | Place::At { .. } | Place::Between { .. } => {}
        }
    }
    riders
}

fn lines(screen: Screen) -> BTreeMap<VehicleId, (LiftId, usize)> {
    let mut lines = BTreeMap::new();
    for (id, lift) in screen.store.lifts.read().iter() {
        for (idx, session) in lift.read().waiting.iter().enumerate() {
            lines.insert(session.vehicle.clone(), (id.clone(), idx + 1));
        }
    }
    lines
}
