//! `/api/v1/tasks`: how orders are being carried out.

use axum::Json;
use axum::extract::{Path, State};
use kernel::ids::TaskId;
use kernel::wire::rest::{Page, Problem};
use kernel::wire::view::TaskView;

use super::find;
use crate::http::AppState;
use crate::http::paging::{self, ListQuery, ListWanted};
use crate::http::problem::Refused;

/// Tasks, newest first: all open ones and the 10,000 that ended last.
#[utoipa::path(get, path = "/tasks", operation_id = "listTasks", tag = "tasks", params(ListQuery), responses(
    (status = 200, body = Page<TaskView>),
    (status = 400, description = "`invalid_query`", body = Problem, content_type = "application/problem+json"),
))]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    wanted: ListWanted,
) -> Result<Json<Page<TaskView>>, Refused> {
    let before = wanted.before(|text| TaskId::try_new(text).ok())?;
    let listed = state.hub().tasks(before.as_ref(), wanted.limit, |view| wanted.wants(view.state.name()));
    Ok(Json(paging::page(listed)))
}

/// One task.
#[utoipa::path(get, path = "/tasks/{task}", operation_id = "readTask", tag = "tasks", params(("task" = TaskId, Path, description = "Its name.")),
    responses(
        (status = 200, body = TaskView),
        (status = 404, description = "`not_found`", body = Problem, content_type = "application/problem+json"),
    ))]
pub(in crate::http) async fn read(
    State(state): State<AppState>,
    Path(text): Path<String>,
) -> Result<Json<TaskView>, Refused> {
    find("task", &text, |text| TaskId::try_new(text).ok(), |id| state.hub().task(id)).map(Json)
}
