//! "Did you mean": the known word that is nearest to an unknown one.

/// More letters than this are not worth comparing: names end at 64.
const WORD_LENGTH_MAX: usize = 64;

/// The known word nearest to `word`, when at most a third of the letters (at least one, at most three) differ.
/// Case does not count as a difference, and the first of equally near words wins.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let n_edits = edits(&word.to_lowercase(), &candidate.to_lowercase());
        let differs_wholly = n_edits >= word.chars().count().max(candidate.chars().count());
        if n_edits <= allowed && !differs_wholly && best.is_none_or(|(fewest, _)| n_edits < fewest) {
            best = Some((n_edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Letters to insert, remove or replace to turn `a` into `b`.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(WORD_LENGTH_MAX).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().take(WORD_LENGTH_MAX).enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(i + 1);
        let mut left = i + 1;
        for ((other, pair), above) in b.iter().zip(row.windows(2)).map(|(it, pair)| ((it, pair), pair.last()))
        {
            let replaced = pair.first().copied().unwrap_or(0) + usize::from(*other != letter);
            left = replaced.min(left + 1).min(above.copied().unwrap_or(0) + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_wins_when_it_is_near_enough() {
        let rows: &[(&str, &[&str], Option<&str>)] = &[
            ("P99", &["P1", "P9"], Some("P9")),
            ("gatway", &["home", "gateway"], Some("gateway")),
            ("v02", &["V02", "V01"], Some("V02")),
            ("A31", &["B32", "Z99"], None),
            ("speed_ms", &["speed_m_s", "creep_m_s"], Some("speed_m_s")),
            ("x", &[], None),
            ("2", &["1"], None),
        ];
        for (word, known, expected) in rows {
            assert_eq!(nearest(word, known.iter().copied()), *expected, "{word}");
        }
    }
}
