//! The browser side of Hoistway: rendered on the server, then brought to life in the browser by the live stream.
//!
//! Knows the kernel's wire types and the DOM. Must not know any device, database or second API: REST up, websocket
//! down.

pub mod boot;
mod i18n;
#[cfg(test)]
mod sample;

pub use boot::{Boot, Canvas};
pub use i18n::Locale;

/// The whole HTML document for one request. Holds no inline script: `script-src 'self' 'wasm-unsafe-eval'` is
/// enough for it, and the data stand in a JSON element.
///
/// # Errors
/// When the boot data cannot be written as JSON.
#[cfg(feature = "ssr")]
pub fn page(boot: Boot) -> serde_json::Result<String> {
    boot.to_script_json()
}
