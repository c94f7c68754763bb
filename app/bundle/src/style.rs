//! The style sheet: one file out of those that `main.css` imports, in that order.

use std::fs;

use anyhow::{Context, bail};

use crate::Layout;

/// Writes `style.css`.
pub(crate) fn join(layout: &Layout) -> anyhow::Result<()> {
    let main = read(layout, "main.css")?;
    let mut joined = String::new();
    for name in imports(&main)? {
        joined.push_str(&read(layout, name)?);
    }
    fs::write(layout.site.join("style.css"), joined).context("writing style.css")
}

fn read(layout: &Layout, name: &str) -> anyhow::Result<String> {
    let path = layout.style.join(name);
    fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
}

/// File names of `@import "name";` lines. Anything else but comments and blank lines is refused: rules in
/// `main.css` would be lost.
fn imports(text: &str) -> anyhow::Result<Vec<&str>> {
    let mut names = vec![];
    for line in text.lines().map(str::trim) {
        let name = line.strip_prefix("@import \"").and_then(|rest| rest.strip_suffix("\";"));
        match name {
            Some(name) => names.push(name),
            None if line.is_empty() || (line.starts_with("/*") && line.ends_with("*/")) => {}
            None => bail!("style/main.css holds `{line}`: it may only import other sheets"),
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sheets_are_joined_in_the_order_of_their_imports() {
        let names = imports("/* why */\n@import \"b.css\";\n\n@import \"a.css\";\n").unwrap();
        assert_eq!(names, ["b.css", "a.css"]);
    }

    #[test]
    fn a_rule_in_the_main_sheet_is_refused() {
        let error = imports("body { margin: 0; }").unwrap_err().to_string();
        assert!(error.contains("body"), "{error}");
    }
}
