//! Query parameters of lists, and their cursors.

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use kernel::wire::rest::Page;
use serde::Deserialize;
use utoipa::IntoParams;

use super::problem::{Code, Refused};
use crate::live::hub::Listed;

/// Most items of one page.
const LIMIT_MAX: u16 = 200;
/// Items of a page, unless told otherwise.
const LIMIT_DEFAULT: u16 = 50;

/// Names of the states, as a list's filter takes them.
const STATES: [&str; 8] =
    ["created", "issued", "acknowledged", "executing", "suspended", "completed", "failed", "withdrawn"];

/// What part of a list is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Most items of the page, 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u16>,
    /// `nextCursor` of the page before.
    cursor: Option<String>,
    /// Only those in this state: `created`, `issued`, `acknowledged`, `executing`, `suspended`, `completed`,
    /// `failed` or `withdrawn`.
    state: Option<String>,
}

/// A list's query, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListWanted {
    pub(super) limit: usize,
    cursor: Option<String>,
    state: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for ListWanted {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let query: Result<Query<ListQuery>, QueryRejection> = Query::from_request_parts(parts, state).await;
        let Query(query) = query.map_err(|rejection| {
            invalid(format!("{}. Lists take `limit`, `cursor` and `state`.", rejection.body_text()))
        })?;
        Self::check(query)
    }
}

impl ListWanted {
    fn check(query: ListQuery) -> Result<Self, Refused> {
        let limit = query.limit.unwrap_or(LIMIT_DEFAULT);
        if limit == 0 || limit > LIMIT_MAX {
            return Err(invalid(format!("`limit` is {limit}; it goes from 1 to {LIMIT_MAX}.")));
        }
        if let Some(state) = &query.state
            && !STATES.contains(&state.as_str())
        {
            return Err(invalid(format!("`state` is {state:?}; known are {}.", STATES.join(", "))));
        }
        Ok(Self { limit: usize::from(limit), cursor: query.cursor, state: query.state })
    }

    /// Whether an item in this state is wanted.
    pub(super) fn wants(&self, state: &'static str) -> bool {
        self.state.as_deref().is_none_or(|wanted| wanted == state)
    }

    /// Where the page begins.
    pub(super) fn before<I>(
        &self,
        id: impl Fn(&str) -> Option<I>,
    ) -> Result<Option<(DateTime<Utc>, I)>, Refused> {
        let Some(text) = &self.cursor else { return Ok(None) };
        let key = text.split_once('.').and_then(|(micros, rest)| {
            Some((DateTime::from_timestamp_micros(micros.parse().ok()?)?, id(rest)?))
        });
        match key {
            Some(key) => Ok(Some(key)),
            None => Err(invalid(format!(
                "`cursor` is {text:?}, which no page gave; take `nextCursor` of the page before as it is."
            ))),
        }
    }
}

fn invalid(detail: String) -> Refused {
    Refused::new(Code::InvalidQuery, detail)
}

/// One page, with the cursor for the next.
pub(super) fn page<I: std::fmt::Display, V>(listed: Listed<(DateTime<Utc>, I), V>) -> Page<V> {
    let next_cursor = listed.next.map(|(at, id)| format!("{}.{id}", at.timestamp_micros()));
    Page { items: listed.items, next_cursor }
}
