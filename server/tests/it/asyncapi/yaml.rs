//! Reads the part of YAML that `asyncapi.yaml` is written in: block mappings and lists, one-line values, JSON as the
//! flow style. Anything else is a failed test, not a guess.

use serde_json::{Map, Value};

pub(super) fn parse(text: &str) -> Value {
    let lines: Vec<(usize, String)> = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        .map(|line| (line.len() - line.trim_start().len(), line.trim().to_owned()))
        .collect();
    let mut reader = Reader { lines, next: 0 };
    let value = reader.block(0);
    assert_eq!(reader.next, reader.lines.len(), "stopped at {:?}", reader.lines.get(reader.next));
    value
}

struct Reader {
    lines: Vec<(usize, String)>,
    next: usize,
}

impl Reader {
    fn at(&self, indent: usize) -> Option<String> {
        self.lines.get(self.next).filter(|(found, _)| *found == indent).map(|(_, text)| text.clone())
    }

    fn block(&mut self, indent: usize) -> Value {
        let first =
            self.at(indent).unwrap_or_else(|| panic!("nothing at indent {indent}, line {}", self.next));
        if first.starts_with("- ") { self.list(indent) } else { self.mapping(indent) }
    }

    fn list(&mut self, indent: usize) -> Value {
        let mut items = Vec::new();
        while let Some(rest) = self.at(indent).and_then(|text| text.strip_prefix("- ").map(str::to_owned)) {
            if rest.starts_with(['{', '[', '"']) {
                self.next += 1;
                items.push(scalar(&rest));
            } else {
                // The item is a mapping whose first line stands behind the dash.
                self.lines[self.next] = (indent + 2, rest);
                items.push(self.mapping(indent + 2));
            }
        }
        Value::Array(items)
    }

    fn mapping(&mut self, indent: usize) -> Value {
        let mut entries = Map::new();
        while let Some(text) = self.at(indent) {
            self.next += 1;
            let (key, rest) = match text.split_once(": ") {
                Some((key, rest)) => (key, Some(rest)),
                None => (text.strip_suffix(':').unwrap_or_else(|| panic!("no key: {text}")), None),
            };
            let value = match rest {
                Some(rest) => scalar(rest),
                None => {
                    let deeper = self.lines.get(self.next).map_or(0, |(indent, _)| *indent);
                    assert!(deeper > indent, "`{key}` has no value");
                    self.block(deeper)
                }
            };
            assert!(entries.insert(key.to_owned(), value).is_none(), "`{key}` stands here twice");
        }
        Value::Object(entries)
    }
}

fn scalar(text: &str) -> Value {
    match text.chars().next() {
        Some('{' | '[' | '"') => serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}")),
        Some('|' | '>' | '&' | '*' | '\'' | '!') => panic!("not in the part that is read here: {text}"),
        Some(_) | None => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    }
}
