//! `/api/v1/orders`: what a WMS asks for.

mod place;
mod refusal;
mod withdraw;

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use kernel::ids::OrderId;
use kernel::wire::rest::{Page, Problem};
use kernel::wire::view::OrderView;

use crate::http::AppState;
use crate::http::paging::{self, ListQuery, ListWanted};
use crate::http::problem::{Code, Refused};
use crate::live::hub::ENDED_ORDERS_KEPT;

pub(in crate::http) use place::*;
pub(in crate::http) use withdraw::*;

/// A node follows what another has stored within this.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(1);

/// Orders, newest first: all open ones and the 10,000 that ended last.
#[utoipa::path(get, path = "/orders", operation_id = "listOrders", tag = "orders", params(ListQuery), responses(
    (status = 200, body = Page<OrderView>),
    (status = 400, description = "`invalid_query`", body = Problem, content_type = "application/problem+json"),
))]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    wanted: ListWanted,
) -> Result<Json<Page<OrderView>>, Refused> {
    let before = wanted.before(|text| OrderId::try_new(text).ok())?;
    let listed = state.hub().orders(before.as_ref(), wanted.limit, |view| wanted.wants(view.state.name()));
    Ok(Json(paging::page(listed)))
}

/// One order.
#[utoipa::path(get, path = "/orders/{order}", operation_id = "readOrder", tag = "orders", params(("order" = OrderId, Path, description = "Its name.")),
    responses(
        (status = 200, body = OrderView),
        (status = 404, description = "`not_found`", body = Problem, content_type = "application/problem+json"),
    ))]
pub(in crate::http) async fn read(
    State(state): State<AppState>,
    Path(text): Path<String>,
) -> Result<Json<OrderView>, Refused> {
    let id = OrderId::try_new(&text).map_err(|_| unknown(&text))?;
    // Another node may have accepted it a moment ago.
    let found = state.hub().order_shown(&id, FOLLOWED_WITHIN).await;
    found.map(Json).ok_or_else(|| unknown(&text))
}

fn unknown(text: &str) -> Refused {
    Refused::new(
        Code::NotFound,
        format!(
            "There is no order {text:?}. GET /api/v1/orders lists those that are kept: all open ones and the \
             {ENDED_ORDERS_KEPT} that ended last."
        ),
    )
}
