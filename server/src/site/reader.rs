//! Takes values out of parsed TOML. Each getter reports what is wrong and yields nothing, so that one pass finds
//! every problem.

use std::collections::BTreeMap;

use kernel::ids::InvalidName;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::limits::{Count, Quantity, TEXT_LENGTH_MAX};
use super::problem::Problems;
use crate::spelling::nearest;

/// The names of one kind that a file declares, so that a reference to another is found at its line.
pub(super) struct Names<T> {
    kind: &'static str,
    declared: BTreeMap<String, Option<T>>,
}

impl<T: TryFrom<String, Error = InvalidName> + Clone> Names<T> {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, declared: BTreeMap::new() }
    }

    /// Declares a name. A faulty one is reported once, here; references to it are then silent.
    pub(super) fn declare(&mut self, problems: &mut Problems, path: &str, text: &str) {
        if self.declared.contains_key(text) {
            problems
                .report(path, format!("there are two {}s named \"{text}\"; rename or remove one", self.kind));
            return;
        }
        let name = T::try_from(text.to_owned());
        if let Err(reason) = &name {
            problems.report(path, format!("\"{text}\" cannot name a {}: {reason}", self.kind));
        }
        self.declared.insert(text.to_owned(), name.ok());
    }

    /// The name itself, if it was declared and is sound.
    pub(super) fn get(&self, text: &str) -> Option<T> {
        self.declared.get(text).cloned().flatten()
    }

    /// What a reference means.
    pub(super) fn resolve(&self, problems: &mut Problems, path: &str, text: &str) -> Option<T> {
        if let Some(name) = self.declared.get(text) {
            return name.clone();
        }
        let kind = self.kind;
        let hint = match nearest(text, self.declared.keys().map(String::as_str)) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("name one of the {} {kind}s of this file, or add it", self.declared.len()),
        };
        problems.report(path, format!("there is no {kind} \"{text}\"; {hint}"));
        None
    }
}

/// A table being read; remembers which keys it was asked for, so that the others can be refused.
pub(super) struct Table<'t> {
    pub(super) path: String,
    table: &'t DeTable<'t>,
    asked: Vec<&'static str>,
}

impl<'t> Table<'t> {
    pub(super) fn new(path: impl Into<String>, table: &'t DeTable<'t>) -> Self {
        Self { path: path.into(), table, asked: Vec::new() }
    }

    /// A value that must be a table.
    pub(super) fn of(problems: &mut Problems, path: &str, value: &'t DeValue<'t>) -> Option<Self> {
        match value.as_table() {
            Some(table) => Some(Self::new(path, table)),
            None => wrong_type(problems, path, "a table such as `{ key = value }`", value),
        }
    }

    /// Path of a key of this table.
    pub(super) fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A value that may be absent.
    pub(super) fn optional(&mut self, key: &'static str) -> Option<&'t DeValue<'t>> {
        self.asked.push(key);
        self.table.get(key).map(Spanned::get_ref)
    }

    fn required(&mut self, problems: &mut Problems, key: &'static str) -> Option<&'t DeValue<'t>> {
        let value = self.optional(key);
        if value.is_none() {
            problems.report(&self.key(key), format!("`{key}` is missing; add it"));
        }
        value
    }

    /// Text of any content.
    pub(super) fn text(&mut self, problems: &mut Problems, key: &'static str) -> Option<&'t str> {
        let value = self.required(problems, key)?;
        text_of(problems, &self.key(key), value)
    }

    /// Text for people.
    pub(super) fn title(&mut self, problems: &mut Problems, key: &'static str) -> Option<String> {
        let text = self.text(problems, key)?;
        let length = text.chars().count();
        if length == 0 || length > TEXT_LENGTH_MAX || text.chars().any(char::is_control) {
            problems.report(
                &self.key(key),
                format!("must be 1 to {TEXT_LENGTH_MAX} characters without control characters"),
            );
            return None;
        }
        Some(text.to_owned())
    }

    /// The name of something that is declared elsewhere in the file.
    pub(super) fn reference<T: TryFrom<String, Error = InvalidName> + Clone>(
        &mut self,
        problems: &mut Problems,
        key: &'static str,
        names: &Names<T>,
    ) -> Option<T> {
        let text = self.text(problems, key)?;
        names.resolve(problems, &self.key(key), text)
    }

    /// Names of things that are declared elsewhere in the file, each at most once.
    pub(super) fn references<T: TryFrom<String, Error = InvalidName> + Clone + Ord>(
        &mut self,
        problems: &mut Problems,
        key: &'static str,
        names: &Names<T>,
        count: Count,
    ) -> Option<Vec<T>> {
        let items = self.array(problems, key, count)?;
        let mut found: Vec<T> = Vec::new();
        let n_items = items.len();
        for (path, value) in items {
            let Some(text) = text_of(problems, &path, value) else { continue };
            let Some(name) = names.resolve(problems, &path, text) else { continue };
            if found.contains(&name) {
                problems.report(&path, format!("\"{text}\" stands here twice; remove one"));
            } else {
                found.push(name);
            }
        }
        (found.len() == n_items).then_some(found)
    }

    /// A quantity in its unit, as written.
    pub(super) fn number(
        &mut self,
        problems: &mut Problems,
        key: &'static str,
        limit: Quantity,
    ) -> Option<f64> {
        let value = self.required(problems, key)?;
        number_of(problems, &self.key(key), value, limit)
    }

    /// A quantity that may be absent: `Some(None)` then, and none when it is there and wrong.
    pub(super) fn number_or(
        &mut self,
        problems: &mut Problems,
        key: &'static str,
        limit: Quantity,
        default: f64,
    ) -> Option<f64> {
        match self.optional(key) {
            None => Some(default),
            Some(value) => number_of(problems, &self.key(key), value, limit),
        }
    }

    /// A whole number.
    pub(super) fn whole(
        &mut self,
        problems: &mut Problems,
        key: &'static str,
        limit: Quantity,
    ) -> Option<u32> {
        let number = self.number(problems, key, limit)?;
        if number.fract() != 0.0 {
            problems.report(&self.key(key), format!("must be a whole number, not {number}"));
            return None;
        }
        Some(number as u32)
    }

    /// Yes or no; no when absent.
    pub(super) fn flag(&mut self, problems: &mut Problems, key: &'static str) -> Option<bool> {
        match self.optional(key) {
            None => Some(false),
            Some(value) => {
                value.as_bool().or_else(|| wrong_type(problems, &self.key(key), "true or false", value))
            }
        }
    }

    /// The items of an array with their paths.
    pub(super) fn array(
        &mut self,
        problems: &mut Problems,
        key: &'static str,
        count: Count,
    ) -> Option<Vec<(String, &'t DeValue<'t>)>> {
        let value = if count.min == 0 { self.optional(key)? } else { self.required(problems, key)? };
        let path = self.key(key);
        let Some(array) = value.as_array() else { return wrong_type(problems, &path, "an array", value) };
        let items = array.iter().enumerate().map(|(idx, item)| (format!("{path}[{idx}]"), item.get_ref()));
        let items: Vec<_> = items.collect();
        counted(problems, &path, items.len(), count).then_some(items)
    }

    /// The entries of a table of named things, in the order of the file.
    pub(super) fn entries(
        &mut self,
        problems: &mut Problems,
        key: &'static str,
        count: Count,
    ) -> Option<Vec<(&'t str, String, &'t DeValue<'t>)>> {
        let value = if count.min == 0 { self.optional(key)? } else { self.required(problems, key)? };
        let path = self.key(key);
        let Some(table) = value.as_table() else { return wrong_type(problems, &path, "a table", value) };
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        counted(problems, &path, entries.len(), count).then(|| {
            let named = entries.into_iter().map(|(name, value)| {
                (name.get_ref().as_ref(), format!("{path}.{}", name.get_ref()), value.get_ref())
            });
            named.collect()
        })
    }

    /// Refuses every key that nobody asked for.
    pub(super) fn finish(self, problems: &mut Problems) {
        for key in self.table.keys().map(|key| key.get_ref().as_ref()) {
            if self.asked.contains(&key) {
                continue;
            }
            let hint = match nearest(key, self.asked.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", self.asked.join(", ")),
            };
            problems.report(&self.key(key), format!("unknown key; {hint}"));
        }
    }
}

/// Text of any content.
pub(super) fn text_of<'t>(problems: &mut Problems, path: &str, value: &'t DeValue<'t>) -> Option<&'t str> {
    value.as_str().or_else(|| wrong_type(problems, path, "text in quotes", value))
}

fn number_of(problems: &mut Problems, path: &str, value: &DeValue<'_>, limit: Quantity) -> Option<f64> {
    let number = match (value.as_integer(), value.as_float()) {
        (Some(integer), _) => i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|it| it as f64),
        (None, Some(float)) => float.as_str().parse().ok(),
        (None, None) => return wrong_type(problems, path, "a number", value),
    };
    let Quantity { min, max, unit } = limit;
    // Written so that a number that is none is refused too.
    match number.filter(|it| *it >= min && *it <= max) {
        Some(number) => Some(number),
        None => {
            let found = number.map(|it| it.to_string()).unwrap_or_else(|| "what stands here".to_owned());
            problems.report(path, format!("must lie between {min} and {max} {unit}, not {found}"));
            None
        }
    }
}

fn counted(problems: &mut Problems, path: &str, n_found: usize, count: Count) -> bool {
    let Count { min, max } = count;
    let fits = (min..=max).contains(&n_found);
    if !fits {
        problems.report(path, format!("has {n_found} entries; {min} to {max} are allowed"));
    }
    fits
}

fn wrong_type<T>(problems: &mut Problems, path: &str, wanted: &str, found: &DeValue<'_>) -> Option<T> {
    problems.report(path, format!("must be {wanted}, not {}", article(found.type_str())));
    None
}

fn article(kind: &str) -> String {
    let vowel = kind.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {kind}", if vowel { "an" } else { "a" })
}
