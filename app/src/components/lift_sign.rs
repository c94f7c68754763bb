//! A lift in section: its shaft, and the car at the floor that was last read. It never moves by itself.

use kernel::ids::LiftId;
use kernel::lift::{DoorState, LiftStatus, Motion};
use kernel::wire::view::LiftView;
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

use crate::components::section::{Drawing, pct};
use crate::components::vehicle_sign::{caption, vehicle_box};
use crate::layout::Shaft;
use crate::reading::Trust;
use crate::screen::Screen;

/// Side by side in a car; more are counted.
const RIDERS_DRAWN: usize = 2;
/// Distance of two vehicles in a car.
const RIDER_PX: f64 = 47.0;

/// Shaft, car, door, direction, age. Where a person picks among lifts it is a button, which shows its details.
pub(crate) fn lift_sign(screen: Screen, drawing: Drawing, id: LiftId) -> impl IntoView {
    let signal = screen.store.lifts.get_untracked().get(&id).cloned();
    let shaft = Memo::new({
        let id = id.clone();
        move |_| drawing.layout.read().shafts.iter().find(|it| it.lift == id).cloned()
    });
    let view = move || signal.as_ref().map(|it| it.get());
    let trust = Memo::new({
        let view = view.clone();
        move |_| view().map(|view| Trust::of(&view, view.read_at.and_then(|at| screen.clock.ms_since(at))))
    });
    let label = {
        let (id, view) = (id.clone(), view.clone());
        move || {
            view().map(|view| {
                format!("{} {id}: {}", screen.locale.get().lift(), summary(screen, &view, trust.get()))
            })
        }
    };
    let car = move || {
        let (view, trust, shaft) = (view()?, trust.get()?, shaft.get()?);
        view.status.clone().map(|status| draw_car(screen, drawing, &view, &status, trust, &shaft))
    };
    let name = id.to_string();
    let class = {
        let id = id.clone();
        move || {
            let picks = match (drawing.picks, is_shown(screen, &id)) {
                (true, true) => " picks shown",
                (true, false) => " picks",
                (false, _) => "",
            };
            format!("lift {}{picks}", trust.get().map_or("", Trust::class))
        }
    };
    let button = drawing.picks.then(|| pick_button(screen, shaft, id.clone(), label));
    let pick = move |_| {
        if drawing.picks {
            screen.selected.set(Some(id.clone()));
        }
    };
    view! {
        <g class=class on:click=pick>
            {button}
            {move || shaft.get().map(|shaft| draw_shaft(&shaft, trust.get(), name.clone()))}
            {car}
        </g>
    }
}

/// A rectangle without text that outlives what is drawn over it, so that focus stays.
fn pick_button(
    screen: Screen,
    shaft: Memo<Option<Shaft>>,
    id: LiftId,
    label: impl Fn() -> Option<String> + Send + Sync + 'static,
) -> impl IntoView {
    let pressed = {
        let id = id.clone();
        move || is_shown(screen, &id).to_string()
    };
    let on_key = move |event: KeyboardEvent| {
        if matches!(event.key().as_str(), "Enter" | " ") {
            event.prevent_default();
            screen.selected.set(Some(id.clone()));
        }
    };
    let edge = move |edge: fn(&Shaft) -> f64| move || shaft.read().as_ref().map(|shaft| pct(edge(shaft)));
    view! {
        <rect class="hit" role="button" tabindex="0" aria-pressed=pressed aria-label=label on:keydown=on_key
            x=edge(|it| it.left_pct) y=edge(|it| it.top_pct)
            width=edge(|it| it.width_pct) height=edge(|it| it.height_pct)/>
    }
}

fn is_shown(screen: Screen, id: &LiftId) -> bool {
    screen.shown_lift().is_some_and(|shown| shown == *id)
}

/// What a lift does, in words.
pub(crate) fn summary(screen: Screen, view: &LiftView, trust: Option<Trust>) -> String {
    let locale = screen.locale.get();
    let trust_word = match trust {
        None | Some(Trust::Fresh | Trust::Stale) => None,
        Some(Trust::NeverRead) => Some(locale.not_read_yet()),
        Some(Trust::Unreachable) => Some(locale.unreachable()),
        Some(Trust::Verifying) => Some(locale.verifying()),
    };
    let place = view.status.as_ref().map(|status| {
        let floor = status.floor.to_string();
        let place = match status.motion {
            Motion::Still => locale.floor(&floor),
            Motion::Up => locale.towards(&floor, true),
            Motion::Down => locale.towards(&floor, false),
        };
        format!("{place} · {}", locale.door(status.door))
    });
    [trust_word.map(str::to_owned), place].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn draw_shaft(shaft: &Shaft, trust: Option<Trust>, name: String) -> impl IntoView + use<> {
    let hatched = trust.is_some_and(Trust::is_old);
    let (top, height) = (pct(shaft.top_pct), pct(shaft.height_pct));
    let stop = |(_, y): &(kernel::ids::FloorId, f64)| {
        view! { <line class="stop-line" x1="0" x2="100%" y1=pct(*y) y2=pct(*y)/> }
    };
    view! {
        <svg x=pct(shaft.left_pct) width=pct(shaft.width_pct) overflow="visible">
            <rect class="shaft" x="0" width="100%" y=top.clone() height=height.clone()/>
            {hatched.then(|| view! { <rect class="shaft-hatch" x="0" width="100%" y=top height=height/> })}
            {shaft.stops.iter().map(stop).collect_view()}
        </svg>
        <svg x=pct(shaft.left_pct + shaft.width_pct / 2.0) y=pct(shaft.top_pct) overflow="visible">
            <g class="k"><text class="lift-name" y="-8">{name}</text></g>
        </svg>
    }
}

fn draw_car(
    screen: Screen,
    drawing: Drawing,
    view: &LiftView,
    status: &LiftStatus,
    trust: Trust,
    shaft: &Shaft,
) -> Option<impl IntoView + use<>> {
    let y = pct(drawing.layout.read().floor(&status.floor)?);
    let middle = pct(shaft.left_pct + shaft.width_pct / 2.0);
    let left = pct(shaft.left_pct);
    let width = pct(shaft.width_pct);
    // How much of the opening each leaf covers.
    let leaf = match status.door {
        DoorState::Closed => "41%",
        DoorState::Opening | DoorState::Closing => "22%",
        DoorState::Obstructed => "30%",
        DoorState::Open => "6%",
    };
    let right_leaf_x = match status.door {
        DoorState::Closed => "50%",
        DoorState::Opening | DoorState::Closing => "69%",
        DoorState::Obstructed => "61%",
        DoorState::Open => "85%",
    };
    Some(view! {
        <svg x=left y=y.clone() width=width overflow="visible">
            <rect class="car" x="9%" width="82%"/>
            {trust.is_old().then(|| view! { <rect class="car-hatch" x="9%" width="82%"/> })}
            <rect class="leaf" x="9%" width=leaf/>
            <rect class="leaf" x=right_leaf_x width=leaf/>
        </svg>
        <svg x=middle y=y overflow="visible">
            <g class="k">
                {captions(screen, view, status, trust)}
                {(trust == Trust::Verifying).then(|| view! { <text class="question" y="-22">"?"</text> })}
                {riders(screen, drawing, view)}
            </g>
        </svg>
    })
}

/// Two lines over the car: what it does, and how old that is once it is older than two reads.
fn captions(screen: Screen, view: &LiftView, status: &LiftStatus, trust: Trust) -> impl IntoView + use<> {
    let locale = screen.locale.get();
    let age = view.read_at.and_then(|at| screen.clock.seconds_since(at)).filter(|seconds| *seconds > 0);
    let first = match trust {
        Trust::Unreachable => locale.unreachable().to_owned(),
        Trust::Verifying => locale.verifying().to_owned(),
        Trust::NeverRead => locale.not_read_yet().to_owned(),
        Trust::Fresh | Trust::Stale => match status.motion {
            Motion::Still => locale.door(status.door).to_owned(),
            Motion::Up | Motion::Down => String::new(),
        },
    };
    let arrow = match status.motion {
        Motion::Still => None,
        Motion::Up => Some("M-9 -82 0 -93 9 -82"),
        Motion::Down => Some("M-9 -93 0 -82 9 -93"),
    };
    view! {
        <text class="car-state" y="-83">{first}</text>
        {arrow.map(|shape| view! { <path class="arrow" d=shape/> })}
        <text class="caption" y="-70">{age.map(|seconds| locale.age(&locale.span(seconds)))}</text>
    }
}

fn riders(screen: Screen, drawing: Drawing, view: &LiftView) -> impl IntoView + use<> {
    let ids = drawing.riders.read().get(&view.id).cloned().unwrap_or_default();
    let n_drawn = ids.len().min(RIDERS_DRAWN);
    let vehicles = screen.store.vehicles.read();
    let sign = |(idx, id): (usize, &kernel::ids::VehicleId)| {
        let vehicle = vehicles.get(id)?.get();
        let x = (idx as f64 - (n_drawn as f64 - 1.0) / 2.0) * RIDER_PX;
        let caption = caption(screen, &vehicle);
        Some(
            view! { <g transform=format!("translate({x:.1} -2)")>{vehicle_box(screen, &vehicle, caption)}</g> },
        )
    };
    let drawn = ids.iter().take(RIDERS_DRAWN).enumerate().filter_map(sign).collect_view();
    let more = ids.len().saturating_sub(RIDERS_DRAWN);
    view! {
        {drawn}
        {(more > 0).then(|| view! { <text class="caption" y="-46">{format!("+{more}")}</text> })}
    }
}
