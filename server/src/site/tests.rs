//! The sites that ship hold together.

use super::*;

#[test]
fn both_sites_hold() {
    for (text, name) in [(SMALL, "small.toml"), (DEMO, "demo.toml")] {
        parse(text, name).unwrap_or_else(|errors| panic!("{errors}"));
    }
}
