//! Random worlds.

use sim::seeds::{RandomWorld, SPAN_DEFAULT, Tally, shrink};

const WORLDS: u64 = 200;

#[test]
fn random_worlds_keep_every_promise() {
    let mut tally = Tally::default();
    for seed in 1..=WORLDS {
        let world = RandomWorld::draw(seed, SPAN_DEFAULT).expect("a world");
        tally.add(&world.run().1);
    }
    for (seed, v) in &tally.failed {
        eprintln!("{seed} {}", v.to_string().chars().take(150).collect::<String>());
    }
    if let Some((seed, _)) = tally.failed.first() {
        let world = RandomWorld::draw(*seed, SPAN_DEFAULT).expect("a world");
        let shrunk = shrink(&world).expect("it failed");
        let (replayed, _) = shrunk.world.clone().logged().run();
        let tail = replayed.log().iter().rev().take(400).rev().cloned().collect::<Vec<_>>().join("\n");
        panic!(
            "seed {seed} of {}: {}\n{:#?}\n{tail}",
            tally.failed.len(),
            shrunk.violation,
            shrunk.world.config.faults
        );
    }
}
