//! `/api`.

pub(super) mod v1;
