//! Shapes that say by form what colour only repeats.

use kernel::task::TaskState;
use leptos::prelude::*;

/// Rank of an alarm: square, triangle, diamond, circle, each with its digit.
pub(crate) fn priority_mark(priority: u8) -> impl IntoView {
    let shape = match priority {
        1 => "M2 2h20v20H2z",
        2 => "M12 1 23.5 22H.5z",
        3 => "M12 .5 23.5 12 12 23.5.5 12z",
        _ => "M12 1a11 11 0 1 0 .01 0z",
    };
    view! {
        <svg class=format!("mark p{priority}") viewBox="0 0 24 24" aria-hidden="true">
            <path d=shape/>
            <text x="12" y=if priority == 2 { "19" } else { "16.5" }>{priority}</text>
        </svg>
    }
}

/// State of a task.
pub(crate) fn task_icon(state: &TaskState) -> impl IntoView + use<> {
    let (shape, class) = match state {
        TaskState::Created => ("M8 3.5a4.5 4.5 0 1 0 .01 0z", "icon line"),
        TaskState::Issued { .. } => ("M4 3l9 5-9 5z", "icon line"),
        TaskState::Acknowledged { .. } => ("M3 8.5l3.5 3.5L13 4.5", "icon line"),
        TaskState::Executing { .. } => ("M4 3l9 5-9 5z", "icon solid"),
        TaskState::Suspended { .. } => ("M4 3h3v10H4zM9 3h3v10H9z", "icon solid"),
        TaskState::Completed => ("M3.5 3.5h9v9h-9z", "icon solid"),
        TaskState::Failed { .. } => ("M4 4l8 8M12 4l-8 8", "icon line"),
        TaskState::Withdrawn { .. } => ("M12 12V7H4m3-3L4 7l3 3", "icon line"),
    };
    view! {
        <svg class=class viewBox="0 0 16 16" aria-hidden="true">
            <path d=shape/>
        </svg>
    }
}
