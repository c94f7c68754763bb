//! Every text of the screen in both languages: a text that is missing in one of them does not compile.
//!
//! Chinese words follow GB/T 41261 (alarms) and the words of the trade; names of things stay as the site file
//! writes them.

mod drills;
mod lift;
mod locale;
mod texts;
pub(crate) mod words;

pub use locale::Locale;
