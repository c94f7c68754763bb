//! Drills: the band over every screen of a drill run, and the panel that injects faults. An ordinary run has neither.

use kernel::drill::{DrillFault, DrillGroup, DrillPlace};
use kernel::ids::DrillId;
use kernel::time::Millis;
use kernel::wire::drill::{DrillView, StartDrill};
use leptos::prelude::*;

use crate::i18n::Locale;
use crate::rest::{self, Failure};
use crate::screen::Screen;

const DRILLS_PATH: &str = "/api/v1/drills";
/// The lengths that the panel offers, in seconds: the shortest shows a fault, the longest outlasts every deadline.
const LENGTHS_S: [u64; 7] = [10, 20, 30, 60, 120, 300, 600];
/// Ended drills that the panel lists.
const ENDED_SHOWN: usize = 5;

/// What the form holds.
#[derive(Clone, Copy)]
struct Form {
    fault: RwSignal<DrillFault>,
    place: RwSignal<usize>,
    length_s: RwSignal<u64>,
    asking: RwSignal<bool>,
    failure: RwSignal<Option<Failure>>,
}

/// The band: it stays, whatever else the screen shows.
pub(crate) fn drill_band(screen: Screen) -> impl IntoView {
    let n_running = move || screen.store.drills.read().iter().filter(|it| it.end.is_none()).count();
    view! {
        <Show when=move || screen.is_drill()>
            <div class="drill-band" role="status">
                <span class="drill-edge" aria-hidden="true"></span>
                <strong>{screen.text(Locale::drill)}</strong>
                <span class="drill-meaning">{screen.text(Locale::drill_band)}</span>
                <span class="drill-count">{move || screen.locale.get().drills_running(n_running())}</span>
                <a href="/#drills">{screen.text(Locale::to_drills)}</a>
                <span class="drill-edge" aria-hidden="true"></span>
            </div>
        </Show>
    }
}

/// The panel.
pub(crate) fn drill_panel(screen: Screen) -> impl IntoView {
    let form = Form {
        fault: RwSignal::new(DrillFault::DoorStuck),
        place: RwSignal::new(0),
        length_s: RwSignal::new(30),
        asking: RwSignal::new(false),
        failure: RwSignal::new(None),
    };
    view! {
        <Show when=move || screen.is_drill()>
            <section class="drills" id="drills" tabindex="-1" aria-labelledby="drills-title">
                <h2 id="drills-title">{screen.text(Locale::drills)}</h2>
                {drill_form(screen, form)}
                {standing(screen, form)}
                {ended(screen)}
            </section>
        </Show>
    }
}

fn drill_form(screen: Screen, form: Form) -> impl IntoView {
    let sentence = move || {
        let locale = screen.locale.get();
        let (fault, place) = (form.fault.get(), chosen_place(screen, form));
        let place = place.map(|it| locale.drill_place(&it)).unwrap_or_default();
        format!("{place}: {}", locale.drill_effect(fault))
    };
    let failure = move || {
        form.failure.get().map(|it| match it {
            Failure::Refused { code, detail } => {
                screen.locale.get().drill_refusal(&code).map_or(detail, str::to_owned)
            }
            Failure::NoAnswer => screen.locale.get().drill_no_answer().to_owned(),
        })
    };
    // Not `disabled`: the focus would be lost in the middle of the work.
    let idle = move || screen.is_live() && !form.asking.get();
    view! {
        <form class="drill-form" on:submit=move |event| {
            event.prevent_default();
            if idle() {
                start(screen, form);
            }
        }>
            <label class="drill-what"><span>{screen.text(Locale::drill_what)}</span>{fault_select(screen, form)}</label>
            <label><span>{screen.text(Locale::drill_where)}</span>{place_select(screen, form)}</label>
            <label class="drill-length"><span class="hidden-label">{screen.text(Locale::drill_length)}</span>{length_select(screen, form)}</label>
            <p class="drill-sentence" aria-live="polite">{sentence}</p>
            <button type="submit" aria-disabled=move || (!idle()).to_string()>
                {move || match (screen.is_live(), form.asking.get()) {
                    (false, _) => screen.locale.get().drill_not_live(),
                    (true, true) => screen.locale.get().drill_starting(),
                    (true, false) => screen.locale.get().drill_start(),
                }}
            </button>
            <p class="drill-failure" role="alert" hidden=move || form.failure.read().is_none()>{failure}</p>
        </form>
    }
}

fn fault_select(screen: Screen, form: Form) -> impl IntoView {
    let group = move |group: DrillGroup| {
        let options = DrillFault::ALL.into_iter().enumerate().filter(move |(_, it)| it.group() == group);
        let options = options.map(|(idx, fault)| {
            view! {
                <option value=idx.to_string() selected=move || form.fault.get() == fault>
                    {move || screen.locale.get().drill_fault(fault)}
                </option>
            }
        });
        let options = options.collect_view();
        view! { <optgroup label=move || screen.locale.get().drill_group(group)>{options}</optgroup> }
    };
    let mut groups: Vec<DrillGroup> = DrillFault::ALL.into_iter().map(DrillFault::group).collect();
    groups.dedup();
    let groups = groups.into_iter().map(group).collect_view();
    let choose = move |text: String| {
        let chosen = text.parse().ok().and_then(|idx: usize| DrillFault::ALL.get(idx).copied());
        if let Some(fault) = chosen {
            form.fault.set(fault);
            form.place.set(0);
            form.failure.set(None);
        }
    };
    view! {
        <select id="drill-fault" on:change=move |event| choose(event_target_value(&event))>{groups}</select>
    }
}

fn place_select(screen: Screen, form: Form) -> impl IntoView {
    let options = move || {
        let places = form.fault.get().places(&screen.store.plant.read());
        let option = move |(idx, place): (usize, DrillPlace)| {
            view! {
                <option value=idx.to_string() selected=move || form.place.get() == idx>
                    {move || screen.locale.get().drill_place(&place)}
                </option>
            }
        };
        places.into_iter().enumerate().map(option).collect_view()
    };
    let choose = move |text: String| {
        form.place.set(text.parse().unwrap_or_default());
        form.failure.set(None);
    };
    view! {
        <select id="drill-place" on:change=move |event| choose(event_target_value(&event))>{options}</select>
    }
}

/// What happens at once has no length.
fn length_select(screen: Screen, form: Form) -> impl IntoView {
    let options = move || {
        if !form.fault.get().lasts() {
            return view! { <option>{screen.text(Locale::drill_at_once)}</option> }.into_any();
        }
        let option = |seconds: u64| {
            view! {
                <option value=seconds.to_string() selected=move || length_s(form) == seconds>
                    {move || screen.locale.get().span(seconds)}
                </option>
            }
        };
        let longest = form.fault.get().longest();
        let fitting = LENGTHS_S.into_iter().filter(move |it| Millis::seconds(*it) <= longest);
        fitting.map(option).collect_view().into_any()
    };
    let choose = move |text: String| {
        if let Ok(seconds) = text.parse() {
            form.length_s.set(seconds);
        }
    };
    view! {
        <select id="drill-length" on:change=move |event| choose(event_target_value(&event))
            disabled=move || !form.fault.get().lasts()>{options}</select>
    }
}

/// What was chosen, or the longest that the panel offers for a fault that cannot stand so long.
fn length_s(form: Form) -> u64 {
    let (chosen, longest) = (form.length_s.get(), form.fault.get().longest());
    let fits = |it: &u64| *it <= chosen && Millis::seconds(*it) <= longest;
    LENGTHS_S.into_iter().rfind(fits).unwrap_or(chosen)
}

fn chosen_place(screen: Screen, form: Form) -> Option<DrillPlace> {
    let places = form.fault.get().places(&screen.store.plant.read());
    places.into_iter().nth(form.place.get())
}

fn start(screen: Screen, form: Form) {
    let fault = form.fault.get_untracked();
    let place = untrack(move || chosen_place(screen, form));
    let for_ms = fault.lasts().then(|| Millis::seconds(untrack(move || length_s(form))));
    let body = place.and_then(|at| serde_json::to_string(&StartDrill { fault, at, for_ms }).ok());
    let Some(body) = body else { return };
    ask(form, "POST", DRILLS_PATH, Some(&body));
}

fn ask(form: Form, method: &str, path: &str, body: Option<&str>) {
    form.asking.set(true);
    form.failure.set(None);
    rest::send(method, path, body, move |came| {
        form.asking.set(false);
        form.failure.set(came.err());
    });
}

fn standing(screen: Screen, form: Form) -> impl IntoView {
    let running = Memo::new(move |_| {
        let drills = screen.store.drills.read();
        drills.iter().filter(|it| it.end.is_none()).cloned().collect::<Vec<_>>()
    });
    view! {
        <h3>{screen.text(Locale::drills_standing)}</h3>
        <p class="quiet pad" hidden=move || !running.read().is_empty()>{screen.text(Locale::no_drills)}</p>
        <ol class="drill-list" aria-live="polite">
            <For each=move || running.get() key=|it| it.id.clone()
                children=move |view| standing_drill(screen, form, view)/>
        </ol>
    }
}

fn standing_drill(screen: Screen, form: Form, view: DrillView) -> impl IntoView {
    let id = view.id.clone();
    let name = id.to_string();
    let ends_at = view.ends_at;
    let left = move || {
        let locale = screen.locale.get();
        let seconds = ends_at.and_then(|it| screen.clock.seconds_until(it));
        seconds.map(|it| locale.left(&locale.span(it))).unwrap_or_default()
    };
    view! {
        <li data-drill=name>
            {what(screen, view)}
            <span class="drill-left">{left}</span>
            <button type="button" on:click=move |_| end(form, &id)>{screen.text(Locale::drill_stop)}</button>
        </li>
    }
}

fn end(form: Form, id: &DrillId) {
    ask(form, "DELETE", &format!("{DRILLS_PATH}/{id}"), None);
}

fn ended(screen: Screen) -> impl IntoView {
    let last = Memo::new(move |_| {
        let drills = screen.store.drills.read();
        drills.iter().rev().filter(|it| it.end.is_some()).take(ENDED_SHOWN).cloned().collect::<Vec<_>>()
    });
    let item = move |view: DrillView| {
        let (at, why) = (view.ended_at, view.end);
        let end = move || {
            let time = at.map(|it| screen.clock.time_of_day(it)).unwrap_or_default();
            let why = why.map(|it| screen.locale.get().drill_end(it)).unwrap_or_default();
            format!("{why} {time}")
        };
        view! { <li>{what(screen, view)}<span class="drill-left">{end}</span></li> }
    };
    view! {
        <h3 hidden=move || last.read().is_empty()>{screen.text(Locale::drills_ended)}</h3>
        <ol class="drill-list ended-drills"><For each=move || last.get() key=|it| it.id.clone() children=item/></ol>
    }
}

fn what(screen: Screen, view: DrillView) -> impl IntoView {
    view! {
        <span class="quiet">{view.id.to_string()}</span>
        <span class="drill-name">
            <strong>{move || screen.locale.get().drill_fault(view.fault)}</strong>
            " · "
            {move || screen.locale.get().drill_place(&view.at)}
        </span>
    }
}
