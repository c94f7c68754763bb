//! Which rows of the command list a bracket ties together: commands that contradict each other. Pure.

use kernel::wire::view::LiftCommandView;

/// A row's part of a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bracket {
    /// None.
    Outside,
    /// The newest of several.
    Top,
    /// Between two.
    Middle,
    /// The oldest of several.
    Bottom,
    /// What it contradicts is not listed any more.
    Alone,
}

impl Bracket {
    /// Class of the cell.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Outside => "bracket",
            Self::Top => "bracket top",
            Self::Middle => "bracket middle",
            Self::Bottom => "bracket bottom",
            Self::Alone => "bracket alone",
        }
    }
}

/// The bracket of each row, newest first. Pairs that overlap share one.
pub(super) fn brackets(commands: &[LiftCommandView]) -> Vec<Bracket> {
    let mut found = vec![Bracket::Outside; commands.len()];
    // The oldest row that the bracket above reaches.
    let mut reach: Option<usize> = None;
    for (idx, command) in commands.iter().enumerate() {
        let own = command.contradicts.as_ref().map(|id| {
            let before = commands.iter().enumerate().skip(idx + 1);
            before.filter(|(_, it)| it.id == *id).map(|(at, _)| at).next().unwrap_or(idx)
        });
        let inside = reach.is_some_and(|last| idx <= last);
        let last = if inside { reach.max(own) } else { own };
        let bracket = match (inside, last) {
            (_, None) => Bracket::Outside,
            (false, Some(last)) if last == idx => Bracket::Alone,
            (false, Some(_)) => Bracket::Top,
            (true, Some(last)) if last == idx => Bracket::Bottom,
            (true, Some(_)) => Bracket::Middle,
        };
        if let Some(row) = found.get_mut(idx) {
            *row = bracket;
        }
        reach = last;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use Bracket::{Alone, Bottom, Middle, Outside, Top};

    #[test]
    fn a_bracket_reaches_from_the_newest_to_the_oldest_of_what_contradicts() {
        // Each row, newest first: its name, and what it contradicts.
        type Rows = &'static [(&'static str, Option<&'static str>)];
        let rows: [(Rows, &[Bracket]); 6] = [
            (&[("3", None), ("2", None)], &[Outside, Outside]),
            (&[("3", Some("2")), ("2", None), ("1", None)], &[Top, Bottom, Outside]),
            (&[("4", None), ("3", Some("1")), ("2", None), ("1", None)], &[Outside, Top, Middle, Bottom]),
            (&[("3", Some("2")), ("2", Some("1")), ("1", None)], &[Top, Middle, Bottom]),
            (&[("4", Some("3")), ("3", None), ("2", Some("1")), ("1", None)], &[Top, Bottom, Top, Bottom]),
            (&[("9", None), ("8", Some("0"))], &[Outside, Alone]),
        ];
        for (rows, expected) in rows {
            let commands: Vec<_> =
                rows.iter().map(|(id, contradicts)| sample::command(id, "A", *contradicts)).collect();
            assert_eq!(brackets(&commands), expected, "{rows:?}");
        }
    }
}
