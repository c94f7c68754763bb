//! Taking orders back: told as withdrawn when it is shown so, and otherwise refused with the reason.

use kernel::ids::OrderId;
use kernel::task::TaskState;
use kernel::wire::live::Change;
use kernel::wire::rest::WithdrawalRefusal;
use kernel::wire::view::OrderView;
use reqwest::Response;
use serde_json::Value;

use crate::web::{Control, Web, client, nth_order};

async fn delete(web: &Web, order: &str) -> Response {
    client().delete(web.url(&format!("/api/v1/orders/{order}"))).send().await.unwrap()
}

/// Status, code, whether it is to be tried again, and the explanation.
async fn told(response: Response) -> (u16, String, bool, String) {
    let status = response.status().as_u16();
    let again = response.headers().contains_key("retry-after");
    let body: Value = response.json().await.unwrap();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    (status, text("code"), again, text("detail"))
}

#[tokio::test]
async fn each_refusal_of_a_withdrawal_is_a_problem() {
    let order = || OrderId::try_new("A-1").unwrap();
    let over = WithdrawalRefusal::Over { order: order(), state: "completed" };
    let away = WithdrawalRefusal::LedgerUnavailable("disk full".to_owned());
    let rows = [
        (Control::Keeps(WithdrawalRefusal::Unknown(order())), 404, "not_found", false, "A-1"),
        (Control::Keeps(over), 409, "order_over", false, "is completed"),
        (Control::Keeps(WithdrawalRefusal::LoadOnItsWay(order())), 409, "load_on_its_way", false, "aboard"),
        (Control::Keeps(WithdrawalRefusal::NeedsPerson(order())), 409, "needs_person", false, "control room"),
        (Control::Keeps(away), 503, "ledger_unavailable", true, "The order stands"),
        (Control::Hangs, 503, "control_unavailable", true, "is not known"),
        (Control::ShowsLate, 503, "control_unavailable", true, "is stored"),
    ];
    for (control, status, code, again, detail) in rows {
        let name = format!("{control:?}");
        let web = Web::start(control).await;
        web.hub.show(Change::Order(nth_order(1, TaskState::Created)));
        let (told_status, told_code, told_again, told_detail) = told(delete(&web, "A-1").await).await;
        assert_eq!((told_status, told_code.as_str(), told_again), (status, code, again), "{name}");
        assert!(told_detail.contains(detail), "{name}: {told_detail}");
    }
}

/// What is shown by the time of the answer, its status, and what it says.
#[tokio::test]
async fn a_withdrawal_during_a_ride_is_accepted_and_shown() {
    let order = |state, withdrawal_asked| OrderView { withdrawal_asked, ..nth_order(1, state) };
    let rows = [
        (order(TaskState::Created, true), 202, "withdrawalAsked", Value::from(true)),
        (
            order(TaskState::Failed { reason: "wheel blocked".to_owned() }, false),
            409,
            "code",
            "order_over".into(),
        ),
        (order(TaskState::Completed, false), 409, "code", "order_over".into()),
        (
            order(TaskState::Withdrawn { reason: "a test".to_owned() }, false),
            200,
            "withdrawalAsked",
            false.into(),
        ),
    ];
    for (shown, status, field, value) in rows {
        let web = Web::start(Control::Rides).await;
        web.hub.show(Change::Order(shown.clone()));
        let response = delete(&web, "A-1").await;
        assert_eq!(response.status().as_u16(), status, "{shown:?}");
        let body: Value = response.json().await.unwrap();
        assert_eq!(body[field], value, "{body}");
    }
}

#[tokio::test]
async fn a_name_that_no_order_can_have_is_not_asked_for() {
    let web = Web::start(Control::Deaf).await;
    let (status, code, ..) = told(delete(&web, "%20").await).await;
    assert_eq!((status, code.as_str()), (404, "not_found"));
}
