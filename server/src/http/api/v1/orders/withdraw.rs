//! Taking an order back.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use kernel::control::TakenBack;
use kernel::ids::OrderId;
use kernel::task::TaskState;
use kernel::wire::rest::{Problem, WithdrawalRefusal};
use kernel::wire::view::OrderView;

use super::{refusal, unknown};
use crate::http::AppState;
use crate::http::problem::{Code, Refused};
use crate::shell::ControlUnavailable;

/// The control loop shows a withdrawal right after it was stored.
const SHOWN_DEADLINE: Duration = Duration::from_secs(1);

/// Takes an order back, as long as its load stands where it stood. A vehicle that is on its way to the load finishes what
/// it was told; during a ride the wish is kept and followed when that is over. Answered once it is durable; asked again, it
/// is answered alike.
#[utoipa::path(delete, path = "/orders/{order}", operation_id = "withdrawOrder", tag = "orders",
    params(("order" = OrderId, Path, description = "Its name.")),
    responses(
        (status = 200, description = "It is withdrawn.", body = OrderView),
        (status = 202, description = "Its vehicle rides a lift to the load: it is withdrawn when that is out, before it is told \
            anything else; `withdrawalAsked` is true until then. If the ride fails, so does the order.", body = OrderView),
        (status = 404, description = "`not_found`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`order_over`: completed or failed. `load_on_its_way`: the load is aboard, or its \
            vehicle is about to take it up, so a person has to decide. `needs_person`: its vehicle has refused the ride to the load \
            or never acknowledged it, and does not stand clear of the lift.", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "`ledger_unavailable`, `control_unavailable`", body = Problem,
            content_type = "application/problem+json"),
    ))]
pub(in crate::http) async fn withdraw(
    State(state): State<AppState>,
    Path(text): Path<String>,
) -> Result<(StatusCode, Json<OrderView>), Refused> {
    let order = OrderId::try_new(&text).map_err(|_| unknown(&text))?;
    let decided = state.control().withdraw_order(order.clone()).await;
    let decided = decided.map_err(|error| unanswered(&error))?.map_err(|reason| refused(&reason))?;
    let withdrawn = |it: &OrderView| matches!(it.state, TaskState::Withdrawn { .. });
    let as_decided = |it: &OrderView| match &decided {
        TakenBack::Withdrawn(_) => withdrawn(it),
        // The ride may be over by now.
        TakenBack::Asked(_) => it.withdrawal_asked || it.state.is_terminal(),
    };
    let shown = state.hub().order_shown_as(&order, SHOWN_DEADLINE, as_decided).await;
    let view = shown.ok_or_else(|| not_shown(&order))?;
    match &view.state {
        TaskState::Withdrawn { .. } => Ok((StatusCode::OK, Json(view))),
        // The ride has failed meanwhile.
        TaskState::Completed | TaskState::Failed { .. } => {
            Err(refused(&WithdrawalRefusal::Over { order, state: view.state.name() }))
        }
        TaskState::Created
        | TaskState::Issued { .. }
        | TaskState::Acknowledged { .. }
        | TaskState::Executing { .. }
        | TaskState::Suspended { .. } => Ok((StatusCode::ACCEPTED, Json(view))),
    }
}

/// The control loop gave no answer.
fn unanswered(error: &ControlUnavailable) -> Refused {
    let what = match error {
        ControlUnavailable::Busy | ControlUnavailable::Stopped => "Nothing was taken back",
        ControlUnavailable::NoAnswer => "Whether the order was taken back is not known",
    };
    let detail = format!("{what}: {error}. Send it again later; it is answered alike.");
    Refused::new(Code::ControlUnavailable, detail).retry_after_s(refusal::RETRY_WHEN_DOWN_S)
}

/// The ledger has it, and this node shows it late.
fn not_shown(order: &OrderId) -> Refused {
    tracing::warn!(%order, "a withdrawal is stored and not shown yet");
    let detail = format!(
        "The withdrawal of order {order} is stored, and this node does not show it yet. Send it again later."
    );
    Refused::new(Code::ControlUnavailable, detail).retry_after_s(refusal::RETRY_WHEN_DOWN_S)
}

fn refused(reason: &WithdrawalRefusal) -> Refused {
    match reason {
        WithdrawalRefusal::Unknown(order) => unknown(order.as_str()),
        WithdrawalRefusal::Over { order, state } => Refused::new(
            Code::OrderOver,
            format!("Order {order} is {state}; nothing of it can be taken back."),
        ),
        WithdrawalRefusal::LoadOnItsWay(order) => Refused::new(
            Code::LoadOnItsWay,
            format!(
                "The load of order {order} is aboard, or its vehicle is about to take it up and cannot be called back. Let \
                 it be brought, or ask the control room."
            ),
        ),
        WithdrawalRefusal::NeedsPerson(order) => Refused::new(
            Code::NeedsPerson,
            format!(
                "The vehicle of order {order} has refused the ride to the load or never acknowledged it, and does not say that it \
                 stands clear of the lift. Ask the control room; once it does, ask again."
            ),
        ),
        WithdrawalRefusal::LedgerUnavailable(cause) => Refused::new(
            Code::LedgerUnavailable,
            format!("The withdrawal was not stored: {cause}. The order stands; ask again later."),
        )
        .retry_after_s(refusal::RETRY_WHEN_DOWN_S),
    }
}
