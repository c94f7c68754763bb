//! The page: what lives in the body of its document.

use leptos::prelude::*;

use crate::boot::Boot;
use crate::components::alarms::alarm_strip;
use crate::components::drills::{drill_band, drill_panel};
use crate::components::header::header;
use crate::components::lift_panel::lift_panel;
use crate::components::section::section;
use crate::components::tasks::task_table;
use crate::components::veil::{not_live, veil};
use crate::i18n::Locale;
use crate::screen::Screen;

/// Id of the element that holds the boot data.
pub(crate) const BOOT_ID: &str = "boot";

/// The body: one overview of the site.
pub(crate) fn overview(boot: Boot) -> impl IntoView {
    let screen = Screen::new(boot);
    view! {
        <div class="screen" class:drill=move || screen.is_drill()>
            <a class="skip" href="#tasks">{screen.text(Locale::skip_to_tasks)}</a>
            {drill_band(screen)}
            {header(screen)}
            {alarm_strip(screen)}
            {not_live(screen)}
            <nav class="rail" aria-label=screen.text(Locale::pages)>
                <a href="/" aria-current="page">
                    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
                        <path d="M3 8h18M3 14h18M3 20h18M9 4v16M15 4v16"/>
                    </svg>
                    <span>{screen.text(Locale::overview)}</span>
                </a>
            </nav>
            <main class="main">
                {section(screen)}
                {lift_panel(screen)}
                {task_table(screen)}
                {drill_panel(screen)}
                {veil(screen)}
            </main>
        </div>
    }
}
