//! The pages: what lives in the body of a document.

use kernel::ids::LiftId;
use leptos::prelude::*;

use crate::boot::{Boot, Page};
use crate::components::alarms::alarm_strip;
use crate::components::drills::{drill_band, drill_panel};
use crate::components::edge_strip::edge_strip;
use crate::components::header::header;
use crate::components::lift_page::{lift_page, no_such_lift};
use crate::components::lift_panel::lift_panel;
use crate::components::rail::rail;
use crate::components::section::section;
use crate::components::tasks::task_table;
use crate::components::veil::{not_live, veil};
use crate::i18n::Locale;
use crate::screen::Screen;

/// Id of the element that holds the boot data.
pub(crate) const BOOT_ID: &str = "boot";

/// The body: the same frame around each page.
pub(crate) fn body(boot: Boot) -> impl IntoView {
    let page = boot.page.clone();
    let screen = Screen::new(boot);
    let (skip_to, skip): (_, fn(Locale) -> &'static str) = match &page {
        Page::Overview => ("#tasks", Locale::skip_to_tasks),
        Page::Lift(_) | Page::NoSuchLift(_) => ("#lift", Locale::skip_to_lift),
    };
    let main = match &page {
        Page::Overview => overview(screen).into_any(),
        Page::Lift(id) => one_lift(screen, id.clone()).into_any(),
        Page::NoSuchLift(name) => no_such_lift(screen, name.clone()).into_any(),
    };
    view! {
        <div class="screen" class:drill=move || screen.is_drill()>
            <a class="skip" href=skip_to>{screen.text(skip)}</a>
            {drill_band(screen)}
            {header(screen)}
            {alarm_strip(screen)}
            {edge_strip(screen)}
            {not_live(screen)}
            {rail(screen, &page)}
            {main}
        </div>
    }
}

/// The whole site. Each part stands for itself, so that their types do not nest.
fn overview(screen: Screen) -> impl IntoView {
    view! {
        <main class="main">
            {section(screen).into_any()}
            {lift_panel(screen).into_any()}
            {task_table(screen).into_any()}
            {drill_panel(screen).into_any()}
            {veil(screen).into_any()}
        </main>
    }
}

/// One lift. A site file that is changed may take it away under an open page.
fn one_lift(screen: Screen, id: LiftId) -> impl IntoView {
    let stands = {
        let id = id.clone();
        Memo::new(move |_| screen.store.plant.read().lifts.contains_key(&id))
    };
    move || {
        if stands.get() {
            lift_page(screen, id.clone()).into_any()
        } else {
            no_such_lift(screen, id.to_string()).into_any()
        }
    }
}
