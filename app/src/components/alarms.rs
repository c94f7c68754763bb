//! The alarm strip: always there, most urgent first, calm when nothing stands.

use kernel::ids::AlarmId;
use kernel::wire::view::AlarmView;
use leptos::prelude::*;

use crate::components::icon::priority_mark;
use crate::i18n::Locale;
use crate::i18n::words::subject;
use crate::screen::Screen;

/// So many stand in the strip; the list behind the counter holds all.
const IN_STRIP: usize = 3;

/// The strip and the list behind it.
pub(crate) fn alarm_strip(screen: Screen) -> impl IntoView {
    let opened = RwSignal::new(false);
    let sorted = Memo::new(move |_| most_urgent_first(screen));
    let in_strip = move || sorted.get().into_iter().take(IN_STRIP).collect::<Vec<_>>();
    let none = move || sorted.read().is_empty();
    view! {
        <section class="alarms" aria-label=screen.text(Locale::alarms)>
            <p class="calm" hidden=move || !none()>{screen.text(Locale::no_alarms)}</p>
            <ol class="alarm-list" aria-live="polite">
                <For each=in_strip key=Clone::clone children=move |id| alarm_item(screen, id)/>
            </ol>
            <button type="button" class="alarm-count" hidden=none aria-controls="all-alarms"
                aria-expanded=move || opened.get().to_string()
                on:click=move |_| opened.update(|it| *it = !*it)>
                {move || screen.locale.get().standing(sorted.read().len())}
                <span class="chevron" aria-hidden="true"></span>
            </button>
        </section>
        <section class="all-alarms" id="all-alarms" aria-label=screen.text(Locale::all_alarms)
            hidden=move || !opened.get() || none()>
            <ol>
                <For each=move || sorted.get() key=Clone::clone children=move |id| alarm_item(screen, id)/>
            </ol>
        </section>
    }
}

/// One alarm: rank, what, with whom, what was seen, since when.
fn alarm_item(screen: Screen, id: AlarmId) -> impl IntoView {
    let alarm = screen.store.alarms.get_untracked().get(&id).cloned();
    let body = move || alarm.as_ref().map(|alarm| body(screen, &alarm.read()));
    view! { <li>{body}</li> }
}

fn body(screen: Screen, alarm: &AlarmView) -> impl IntoView + use<> {
    let (kind, detail, raised_at, priority) =
        (alarm.kind, alarm.detail.clone(), alarm.raised_at, alarm.priority);
    let subject = subject(&alarm.subject);
    view! {
        {priority_mark(priority)}
        <span class="hidden-label">{move || format!("{} {priority}", screen.locale.get().priority())}</span>
        <strong>{move || screen.locale.get().alarm(kind)} " " {subject}</strong>
        <span class="detail">{detail}</span>
        <time>{move || screen.clock.time_of_day(raised_at)}</time>
    }
}

fn most_urgent_first(screen: Screen) -> Vec<AlarmId> {
    let alarms = screen.store.alarms.read();
    let mut keys: Vec<_> = alarms
        .iter()
        .map(|(id, alarm)| {
            let alarm = alarm.read();
            (alarm.priority, std::cmp::Reverse(alarm.raised_at), id.clone())
        })
        .collect();
    keys.sort();
    keys.into_iter().map(|(_, _, id)| id).collect()
}
