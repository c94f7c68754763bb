//! Tells cargo that the embedded migrations are part of the build: the macro alone does not notice a new file.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    writeln!(io::stdout(), "cargo:rerun-if-changed=migrations")
}
