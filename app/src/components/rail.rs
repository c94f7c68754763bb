//! The rail: which page is shown, and the way to the others. Plain links: back, forward and a new tab work by themselves.

use kernel::ids::LiftId;
use leptos::prelude::*;

use crate::boot::Page;
use crate::i18n::Locale;
use crate::screen::Screen;

/// Where a lift's page is. Names need no escaping in an address.
pub(crate) fn lift_path(id: &LiftId) -> String {
    format!("/lifts/{id}")
}

/// The rail.
pub(crate) fn rail(screen: Screen, page: &Page) -> impl IntoView + use<> {
    let current = |is: bool| is.then_some("page");
    let on_overview = current(*page == Page::Overview);
    let on_lift = current(matches!(page, Page::Lift(_)));
    let first = move || screen.store.plant.read().lifts.keys().next().cloned();
    let lift = Memo::new(move |_| screen.shown_lift().or_else(first));
    let path = move || lift.read().as_ref().map(lift_path);
    view! {
        <nav class="rail" aria-label=screen.text(Locale::pages)>
            <a href="/" aria-current=on_overview>
                <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
                    <path d="M3 8h18M3 14h18M3 20h18M9 4v16M15 4v16"/>
                </svg>
                <span>{screen.text(Locale::overview)}</span>
            </a>
            <a href=path aria-current=on_lift hidden=move || lift.read().is_none()>
                <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
                    <path d="M5 2v20M19 2v20M8 9h8v8H8zM10 5l2-2 2 2M10 20l2 2 2-2"/>
                </svg>
                <span>{screen.text(Locale::lifts)}</span>
            </a>
        </nav>
    }
}
