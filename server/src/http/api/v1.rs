//! `/api/v1`.

pub(in crate::http) mod alarms;
pub(in crate::http) mod drills;
pub(in crate::http) mod lifts;
pub(in crate::http) mod nodes;
pub(in crate::http) mod orders;
pub(in crate::http) mod site;
pub(in crate::http) mod stream;
pub(in crate::http) mod tasks;
pub(in crate::http) mod vehicles;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::problem::{Code, Refused};

/// Every address below `/api/v1`.
pub(in crate::http) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(orders::list, orders::place))
        .routes(routes!(orders::read, orders::withdraw))
        .routes(routes!(tasks::list))
        .routes(routes!(tasks::read))
        .routes(routes!(vehicles::list))
        .routes(routes!(vehicles::read))
        .routes(routes!(lifts::list))
        .routes(routes!(lifts::read))
        .routes(routes!(lifts::health))
        .routes(routes!(nodes::list))
        .routes(routes!(nodes::read))
        .routes(routes!(alarms::list))
        .routes(routes!(drills::list, drills::start))
        .routes(routes!(drills::read, drills::end))
        .routes(routes!(site::read))
        .routes(routes!(stream::follow))
}

/// Looks one entity up by the name in the path.
fn find<I, V>(
    kind: &str,
    text: &str,
    name: impl Fn(&str) -> Option<I>,
    get: impl Fn(&I) -> Option<V>,
) -> Result<V, Refused> {
    name(text).as_ref().and_then(get).ok_or_else(|| {
        Refused::new(
            Code::NotFound,
            format!("There is no {kind} {text:?}; GET /api/v1/{kind}s lists those that are known."),
        )
    })
}
