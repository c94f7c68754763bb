//! What is wrong with a site file, where, and what to do.

use std::collections::BTreeMap;
use std::fmt;

/// More problems than this help nobody; the rest is counted.
const PROBLEMS_SHOWN: usize = 100;

/// One thing that is wrong with a site file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line in the file, from 1; none when the file as a whole is meant.
    pub line: Option<usize>,
    /// Which key, as `vehicles.V02.home`; empty when the file as a whole is meant.
    pub path: String,
    /// What is wrong and what to do.
    pub text: String,
}

/// Everything that is wrong with a site file, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteErrors {
    /// Name of the file, as it was given.
    pub file: String,
    /// At least one.
    pub problems: Vec<Problem>,
}

impl SiteErrors {
    /// One problem with the file as a whole.
    pub(super) fn whole(file: &str, text: String) -> Self {
        Self { file: file.to_owned(), problems: vec![Problem { line: None, path: String::new(), text }] }
    }
}

impl fmt::Display for SiteErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, problem) in self.problems.iter().take(PROBLEMS_SHOWN).enumerate() {
            let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
            let path = if problem.path.is_empty() { String::new() } else { format!("{}: ", problem.path) };
            let end = if idx == 0 { "" } else { "\n" };
            write!(f, "{end}{}{line}: {path}{}", self.file, problem.text)?;
        }
        match self.problems.len().saturating_sub(PROBLEMS_SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n{}: and {more} more problems", self.file),
        }
    }
}

impl std::error::Error for SiteErrors {}

/// Gathers problems while a file is read; knows at which line each key stands.
pub(super) struct Problems {
    line_starts: Vec<usize>,
    keys: BTreeMap<String, usize>,
    found: Vec<Problem>,
}

impl Problems {
    pub(super) fn new(text: &str) -> Self {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self {
            line_starts: std::iter::once(0).chain(after_breaks).collect(),
            keys: BTreeMap::new(),
            found: Vec::new(),
        }
    }

    /// Remembers where a key stands, as an offset in bytes.
    pub(super) fn know(&mut self, path: String, offset: usize) {
        self.keys.insert(path, offset);
    }

    /// A problem with a key. A key that is missing is reported where its table begins.
    pub(super) fn report(&mut self, path: &str, text: impl Into<String>) {
        let mut known = path;
        while !known.is_empty() && !self.keys.contains_key(known) {
            known = known.rfind(['.', '[']).and_then(|end| known.get(..end)).unwrap_or("");
        }
        let line = self.keys.get(known).map(|offset| self.line(*offset));
        self.found.push(Problem { line, path: path.to_owned(), text: text.into() });
    }

    /// A problem with the text at an offset in bytes.
    pub(super) fn report_at(&mut self, offset: usize, text: impl Into<String>) {
        let line = Some(self.line(offset));
        self.found.push(Problem { line, path: String::new(), text: text.into() });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Everything that was found, by line.
    pub(super) fn into_errors(mut self, file: &str) -> SiteErrors {
        self.found.sort_by(|a, b| a.line.cmp(&b.line).then_with(|| a.path.cmp(&b.path)));
        SiteErrors { file: file.to_owned(), problems: self.found }
    }

    fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }
}
