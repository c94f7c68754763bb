//! The task table: where each task stands, how sure that is, what goes on, and what is left of its budget.

use std::cmp::Reverse;

use kernel::ids::TaskId;
use kernel::task::{ResumePoint, SuspendCause, TaskState};
use kernel::timing::DELIVERIES_MAX;
use kernel::wire::view::{Knowledge, TaskView};
use leptos::prelude::*;

use crate::components::budget;
use crate::components::icon::task_icon;
use crate::components::nodes::claimant;
use crate::i18n::Locale;
use crate::screen::Screen;

/// Most rows: the table is for eyes; REST lists the rest.
const ROWS_MAX: usize = 200;

/// The table, or what to do when there is nothing in it.
pub(crate) fn task_table(screen: Screen) -> impl IntoView {
    let sorted = Memo::new(move |_| open_first(screen));
    let rows = move || sorted.read().iter().take(ROWS_MAX).map(|(_, id)| id.clone()).collect::<Vec<_>>();
    let none = move || sorted.read().is_empty();
    let counts = move || {
        let n_open = sorted.read().iter().filter(|(ended, _)| !ended).count();
        screen.locale.get().task_counts(n_open, sorted.read().len() - n_open)
    };
    let left_out = move || {
        let n = sorted.read().len().saturating_sub(ROWS_MAX);
        (n > 0).then(|| view! { <p class="quiet pad">{screen.locale.get().rows_left_out(n)}</p> })
    };
    let whole =
        move || screen.locale.get().span(screen.store.plant.read().link_budget.ack_deadline().0 / 1000);
    view! {
        <section class="tasks" id="tasks" tabindex="-1" aria-labelledby="tasks-title">
            <h2 id="tasks-title">
                <span>{screen.text(Locale::tasks)}</span>
                <span class="counts">{counts}</span>
            </h2>
            <div class="scroll" tabindex="0" role="region" aria-labelledby="tasks-title" hidden=none>
                <table>
                    <thead><tr>
                        <th scope="col">{screen.text(Locale::task)}</th>
                        <th scope="col">{screen.text(Locale::vehicle)}</th>
                        <th scope="col" hidden=move || !screen.has_peers()>{screen.text(Locale::claimed_by)}</th>
                        <th scope="col">{screen.text(Locale::way)}</th>
                        <th scope="col">{screen.text(Locale::state_of_task)}</th>
                        <th scope="col">{screen.text(Locale::known)}</th>
                        <th scope="col">{screen.text(Locale::now)}</th>
                        <th scope="col">{screen.text(Locale::since)}</th>
                        <th scope="col">{screen.text(Locale::budget)} " " {whole}</th>
                    </tr></thead>
                    <tbody>
                        <For each=rows key=Clone::clone children=move |id| task_row(screen, id)/>
                    </tbody>
                </table>
                {left_out}
            </div>
            <div class="empty" hidden=move || !none()>{how_to_order(screen)}</div>
        </section>
    }
}

fn task_row(screen: Screen, id: TaskId) -> impl IntoView {
    let signal = screen.store.tasks.get_untracked().get(&id).cloned();
    let name = id.to_string();
    let view = Memo::new(move |_| signal.as_ref().map(|it| it.get()));
    let cells = move || view.get().map(|task| cells(screen, task));
    let ended = move || view.read().as_ref().is_some_and(|task| task.state.is_terminal());
    let state = move || view.read().as_ref().map(|task| task.state.name());
    view! { <tr class:ended=ended data-task=name data-state=state>{cells}</tr> }
}

fn cells(screen: Screen, task: TaskView) -> impl IntoView {
    let vehicle = task.vehicle.as_ref().map(ToString::to_string);
    let state_class = match &task.state {
        TaskState::Failed { .. } => "alert p3",
        TaskState::Suspended { cause: SuspendCause::Person | SuspendCause::Fault, .. } => "strong",
        TaskState::Suspended { cause: SuspendCause::Link | SuspendCause::Lift { .. }, .. }
        | TaskState::Created
        | TaskState::Issued { .. }
        | TaskState::Acknowledged { .. }
        | TaskState::Executing { .. }
        | TaskState::Completed
        | TaskState::Withdrawn { .. } => "",
    };
    let known_class = match task.knowledge {
        Knowledge::Confirmed | Knowledge::Assumed => "",
        Knowledge::Unknown => "strong",
        Knowledge::Contradicted => "alert p2",
    };
    let icon = task_icon(&task.state);
    let (state, knowledge, since) = (task.state.clone(), task.knowledge, task.since);
    let (for_now, for_budget, claimed_by) = (task.clone(), task.clone(), task.claimed_by.clone());
    view! {
        <th scope="row">{task.id.to_string()}</th>
        <td>{move || vehicle.clone().unwrap_or_else(|| screen.locale.get().no_vehicle().to_owned())}</td>
        <td class="claim" hidden=move || !screen.has_peers()>
            {move || claimed_by.as_ref().map(|id| claimant(screen, id))}
        </td>
        <td>{format!("{} → {}", task.from, task.to)}</td>
        <td><span class=format!("state {state_class}")>
            {icon}
            <span>{move || screen.locale.get().task_state(&state)}</span>
        </span></td>
        <td><span class=known_class>{move || screen.locale.get().knowledge(knowledge)}</span></td>
        <td>{move || what_goes_on(screen, &for_now)}</td>
        <td class="figure-left">{move || screen.clock.span_since(since, screen.locale.get())}</td>
        <td>{move || budget_cell(screen, &for_budget)}</td>
    }
}

/// What goes on, in words, and what is to follow.
fn what_goes_on(screen: Screen, task: &TaskView) -> String {
    let now = goes_on(screen, task);
    if task.withdrawal_asked { format!("{now} · {}", screen.locale.get().withdrawal_asked()) } else { now }
}

/// Why it waits or failed comes before what it would do.
fn goes_on(screen: Screen, task: &TaskView) -> String {
    let locale = screen.locale.get();
    match &task.state {
        TaskState::Suspended { cause: SuspendCause::Link, .. } if task.knowledge == Knowledge::Assumed => {
            format!("{} · {}", locale.activity(&task.activity), locale.silent_as_expected())
        }
        // A delivery that is due again says more than the cause; one that is overdue waits for the vehicle.
        TaskState::Suspended { cause, resume } => match (resume, next_delivery(screen, task)) {
            (ResumePoint::Command { attempt, .. }, Some(next)) => {
                format!("{} · {next}", locale.attempt(*attempt, DELIVERIES_MAX))
            }
            (ResumePoint::Command { .. } | ResumePoint::NextCommand, _) => locale.suspend_cause(cause),
        },
        TaskState::Issued { attempt, .. } if *attempt > 1 => {
            let attempt = locale.attempt(*attempt, DELIVERIES_MAX);
            [Some(attempt), next_delivery(screen, task)].into_iter().flatten().collect::<Vec<_>>().join(" · ")
        }
        TaskState::Failed { reason } | TaskState::Withdrawn { reason } => reason.clone(),
        TaskState::Completed => screen.clock.time_of_day(task.since),
        TaskState::Created
        | TaskState::Issued { .. }
        | TaskState::Acknowledged { .. }
        | TaskState::Executing { .. } => locale.activity(&task.activity),
    }
}

fn next_delivery(screen: Screen, task: &TaskView) -> Option<String> {
    let seconds = screen.clock.seconds_until(task.next_delivery_at?).filter(|seconds| *seconds > 0)?;
    let locale = screen.locale.get();
    Some(locale.next_in(&locale.span(seconds)))
}

/// The bar runs while an acknowledgement is due; afterwards there is nothing to wait for. Of a suspended task the timers
/// are frozen, and so is the bar.
fn budget_cell(screen: Screen, task: &TaskView) -> Option<impl IntoView + use<>> {
    let waits = match &task.state {
        TaskState::Issued { .. } => true,
        TaskState::Created
        | TaskState::Acknowledged { .. }
        | TaskState::Executing { .. }
        | TaskState::Suspended { .. } => false,
        TaskState::Completed | TaskState::Failed { .. } | TaskState::Withdrawn { .. } => return None,
    };
    let locale = screen.locale.get();
    let used_ms = if waits { screen.clock.ms_since(task.since).unwrap_or(0) } else { 0 };
    let label = locale.used_of(&locale.span(used_ms / 1000), &locale.span(task.ack_budget_ms.0 / 1000));
    Some(budget::bar(budget::parts(&screen.store.plant.read().link_budget, used_ms), locale, label))
}

/// A command line that places an order between two stations of this very site.
fn how_to_order(screen: Screen) -> impl IntoView {
    let origin = RwSignal::new(String::from("http://ADDRESS"));
    Effect::new(move |_| {
        if let Some(Ok(here)) = web_sys::window().map(|window| window.location().origin()) {
            origin.set(here);
        }
    });
    let example = move || {
        let plant = screen.store.plant.read();
        let (from, to) = (plant.stations.keys().next_back()?, plant.stations.keys().next()?);
        (from != to).then(|| {
            format!(
                "curl -i {}/api/v1/orders -H 'Content-Type: application/json' -H 'Idempotency-Key: first' \\\n  \
                 -d '{{\"from\": \"{from}\", \"to\": \"{to}\"}}'",
                origin.get()
            )
        })
    };
    view! {
        <p>{screen.text(Locale::no_tasks)}</p>
        {move || match example() {
            Some(text) => view! {
                <p>{screen.text(Locale::no_tasks_hint)}</p>
                <pre tabindex="0">{text}</pre>
            }.into_any(),
            None => view! { <p>{screen.text(Locale::no_stations)}</p> }.into_any(),
        }}
    }
}

/// Open tasks first, then those that ended; within each the newest first. A row moves only when its task ends.
fn open_first(screen: Screen) -> Vec<(bool, TaskId)> {
    let tasks = screen.store.tasks.read();
    let mut keys: Vec<_> = tasks
        .iter()
        .map(|(id, task)| (task.read().state.is_terminal(), Reverse((id.as_str().len(), id.clone()))))
        .collect();
    keys.sort();
    keys.into_iter().map(|(ended, Reverse((_, id)))| (ended, id)).collect()
}
