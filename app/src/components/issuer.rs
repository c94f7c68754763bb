//! Who speaks to a lift: a letter in a shape, in one of four greys that differ by hue. Saturated color stays with what
//! is abnormal, and whoever sees no hue has shape and letter.

use kernel::ids::NodeId;
use leptos::prelude::*;

use crate::screen::Screen;

/// A disk, a square, a hexagon, an octagon: one for each place among the control nodes, over and over.
const SHAPES: [&str; 4] = [
    "M12 1a11 11 0 1 0 .01 0z",
    "M2 2h20v20H2z",
    "M6.5 2h11L23 12l-5.5 10h-11L1 12z",
    "M8 2h8l6 6v8l-6 6H8l-6-6V8z",
];
/// A shield: the gateway itself.
const EDGE_SHAPE: &str = "M2 2h20v11l-10 10L2 13z";

/// A control node.
pub(crate) fn issuer_mark(screen: Screen, id: &NodeId) -> impl IntoView + use<> {
    let peers = screen.store.peers.read();
    let place = place_of(id, peers.iter().map(|it| &it.id));
    let shape = SHAPES.get(place).copied().unwrap_or_default();
    mark(format!("issuer i{place}"), shape, letter(id.as_str()))
}

/// The gateway, which arbitrates by itself.
pub(crate) fn edge_mark() -> impl IntoView {
    mark("issuer edge".to_owned(), EDGE_SHAPE, "E".to_owned())
}

fn mark(class: String, shape: &'static str, letter: String) -> impl IntoView {
    view! {
        <svg class=class viewBox="0 0 24 24" aria-hidden="true">
            <path d=shape/>
            <text x="12" y="16.5">{letter}</text>
        </svg>
    }
}

/// What tells names apart stands at their end: `A` and `B`, `control-1` and `control-2`.
fn letter(name: &str) -> String {
    name.chars().next_back().map(|it| it.to_uppercase().to_string()).unwrap_or_default()
}

/// Which shape a node has: by its place among all of them, so that the first four differ. One that is not known yet has
/// the first free one.
fn place_of<'a>(id: &NodeId, known: impl Iterator<Item = &'a NodeId>) -> usize {
    let known: Vec<&NodeId> = known.collect();
    known.iter().position(|it| *it == id).unwrap_or(known.len()) % SHAPES.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_nodes_have_four_shapes_and_a_letter_each() {
        let ids = ["control-1", "control-2", "control-3", "control-4", "control-5"];
        let ids = ids.map(|it| NodeId::try_new(it).unwrap());
        let seen: Vec<_> = ids.iter().map(|it| (place_of(it, ids.iter()), letter(it.as_str()))).collect();
        let expected = [(0, "1"), (1, "2"), (2, "3"), (3, "4"), (0, "5")];
        assert_eq!(seen, expected.map(|(place, letter)| (place, letter.to_owned())));
        assert_eq!(place_of(&ids[1], ids[..1].iter()), 1, "one that is not known yet");
    }
}
