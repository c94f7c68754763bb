//! The ways between points: `[[edges]]`.

use std::collections::BTreeMap;

use kernel::ids::PointId;
use kernel::plant::{Edge, Point};

use super::limits as limit;
use super::problem::Problems;
use super::reader::{Names, Table};
use super::sections::thousandths;

/// Every edge; a chain of points becomes one for each pair.
pub(super) fn edges(
    problems: &mut Problems,
    root: &mut Table<'_>,
    declared: &Names<PointId>,
    points: &BTreeMap<PointId, Point>,
) -> Vec<Edge> {
    let mut found = Vec::new();
    for (path, value) in root.array(problems, "edges", limit::EDGES).unwrap_or_default() {
        let Some(mut table) = Table::of(problems, &path, value) else { continue };
        let one_way = table.flag(problems, "one_way");
        // A chain of points is the usual case; a single edge may say its length.
        let chain = if table.optional("path").is_some() {
            let chain = table.references(problems, "path", declared, limit::EDGE_PATH);
            chain.map(|chain| (chain, None))
        } else {
            let from = table.reference(problems, "from", declared);
            let to = table.reference(problems, "to", declared);
            let length = table.number_or(problems, "length", limit::LENGTH, 0.0);
            from.zip(to).zip(length).map(|((from, to), length)| {
                (vec![from, to], (length > 0.0).then(|| thousandths(length) as u64))
            })
        };
        table.finish(problems);
        if let (Some((chain, length_mm)), Some(one_way)) = (chain, one_way) {
            for (from, to) in chain.iter().zip(chain.iter().skip(1)) {
                let edge = edge(problems, &path, (from, to), length_mm, points);
                found.extend(edge.map(|length_mm| Edge {
                    from: from.clone(),
                    to: to.clone(),
                    length_mm,
                    one_way,
                }));
            }
        }
    }
    found
}

/// How long an edge is, if there can be such an edge.
fn edge(
    problems: &mut Problems,
    path: &str,
    (from, to): (&PointId, &PointId),
    given_mm: Option<u64>,
    points: &BTreeMap<PointId, Point>,
) -> Option<u64> {
    let (start, end) = (points.get(from)?, points.get(to)?);
    if start.floor != end.floor {
        let (low, high) = (&start.floor, &end.floor);
        problems.report(
            path,
            format!(
                "\"{from}\" lies on floor {low} and \"{to}\" on floor {high}; only a lift connects floors"
            ),
        );
        return None;
    }
    let across = ((start.x_mm - end.x_mm) as f64).hypot((start.y_mm - end.y_mm) as f64).round() as u64;
    let length_mm = given_mm.unwrap_or(across);
    if length_mm < across {
        problems.report(path, format!("\"{from}\" and \"{to}\" are {across} mm apart, so the way between cannot be {length_mm} mm long"));
        return None;
    }
    if (length_mm as f64) < thousandths(limit::LENGTH.min) {
        problems.report(
            path,
            format!("\"{from}\" and \"{to}\" are one place; a way between two points is at least 50 mm long"),
        );
        return None;
    }
    Some(length_mm)
}
