//! What lies over the screen when it cannot be believed.

use leptos::prelude::*;

use crate::i18n::Locale;
use crate::live::Link;
use crate::screen::Screen;

/// A strip that says that the page is not live yet; gone with the first frame.
pub(crate) fn not_live(screen: Screen) -> impl IntoView {
    let when = move || screen.clock.time_of_day(screen.store.server_time.get());
    view! {
        <p class="not-live" id="not-live" hidden=move || screen.link.get() != Link::Connecting>
            <span>{screen.text(Locale::not_live)}</span>
            " "
            <span>{when}</span>
        </p>
    }
}

/// A grey veil over everything that has stopped. It lets through what was known, and nothing looks live.
pub(crate) fn veil(screen: Screen) -> impl IntoView {
    let hidden = move || match screen.link.get() {
        Link::Connecting | Link::Live => true,
        Link::Stale | Link::Lost | Link::Incompatible => false,
    };
    let what = move || match screen.link.get() {
        Link::Connecting | Link::Live => "",
        Link::Stale => screen.locale.get().data_stopped(),
        Link::Lost => screen.locale.get().connection_lost(),
        Link::Incompatible => screen.locale.get().other_version(),
    };
    let since = move || {
        let time = screen.clock.time_of_day(screen.store.server_time.get());
        screen.locale.get().since_when(&time)
    };
    view! {
        <div class="veil" role="alert" hidden=hidden>
            <div class="veil-card">
                <p class="veil-title">
                    <span>{what}</span>
                    " "
                    <span class="veil-since">{since}</span>
                </p>
                <p>{screen.text(Locale::old_data)}</p>
            </div>
        </div>
    }
}
