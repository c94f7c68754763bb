//! What the site has to move in a day: orders with their moments, drawn from a seed.
//!
//! Knows: the hours and the shape of the day. Must not know how they are moved.

use kernel::ids::{InvalidName, OrderId, StationId};
use kernel::time::{Millis, Mono};

use super::calibration::Knobs;
use super::site;
use crate::rng::Rng;

/// One hour.
pub(super) const HOUR: Millis = Millis::seconds(3600);
/// The working day, from the moment at which it starts.
pub(super) const DAY: Millis = HOUR.times(10);
/// Hour of the day at which it starts, for axes.
pub(super) const DAY_STARTS_H: u64 = 8;
/// The afternoon's flood (report, opening: "in the afternoon", its log is of 14:32): from the start of the day.
pub(super) const PEAK_FROM: Mono = Mono(5 * HOUR.0);
/// And its end.
pub(super) const PEAK_UNTIL: Mono = Mono(8 * HOUR.0);
/// Warehouse systems release orders in waves (field practice): one each quarter of an hour, written out over a third
/// of it.
const WAVE: Millis = Millis::seconds(900);
const WAVE_SPREAD: Millis = Millis::seconds(300);
/// Outside the peak so many hundredths of it come.
const BASE_PCT: u64 = 50;

/// One transport order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) id: OrderId,
    pub(super) from: StationId,
    pub(super) to: StationId,
    pub(super) placed: Mono,
}

/// The orders of one day, by their moments. Four after each other, in a random order, go up and down to each of the
/// upper floors.
///
/// # Errors
/// A name that is none, which a test excludes.
pub(super) fn orders(seed: u64, day: u32, knobs: &Knobs) -> Result<Vec<Order>, InvalidName> {
    let mut rng = Rng::new(seed, &format!("orders of day {day}"));
    let mut orders = Vec::new();
    let mut ways = Vec::new();
    for wave in 0..DAY.0 / WAVE.0 {
        let start = Mono(wave * WAVE.0);
        let peak = start >= PEAK_FROM && start < PEAK_UNTIL;
        let share_pct = if peak { 100 } else { BASE_PCT };
        for _ in 0..knobs.peak_orders_per_wave * share_pct / 100 {
            if ways.is_empty() {
                ways = shuffled(&mut rng);
            }
            let Some((from, to)) = ways.pop() else { continue };
            orders.push(Order {
                id: OrderId::try_new(&format!("O{}", orders.len()))?,
                from: site::station(from, rng.within(1..=site::N_STATIONS))?,
                to: site::station(to, rng.within(1..=site::N_STATIONS))?,
                placed: start + Millis(rng.within(0..=WAVE_SPREAD.0)),
            });
        }
    }
    orders.sort_by_key(|it| it.placed);
    Ok(orders)
}

/// Goods in go from the ground floor up, goods out down to it.
fn shuffled(rng: &mut Rng) -> Vec<(u64, u64)> {
    let mut ways: Vec<(u64, u64)> = (2..=site::N_FLOORS).flat_map(|it| [(1, it), (it, 1)]).collect();
    ways.sort_by_cached_key(|_| rng.draw());
    ways
}

/// What a test keeps as it is.
#[cfg(test)]
pub(super) fn frozen() -> String {
    format!("{:?}", (DAY, PEAK_FROM, PEAK_UNTIL, WAVE, WAVE_SPREAD, BASE_PCT))
}

#[cfg(test)]
mod tests {
    use super::super::calibration::KNOBS;
    use super::*;

    #[test]
    fn the_afternoon_is_the_flood() {
        let orders = orders(1, 0, &KNOBS).expect("their names are names");
        let peak = orders.iter().filter(|it| it.placed >= PEAK_FROM && it.placed < PEAK_UNTIL).count() as u64;
        // Twelve waves of the full number, twenty-eight of half of it.
        assert_eq!(peak, KNOBS.peak_orders_per_wave * 12);
        assert_eq!(orders.len() as u64 - peak, KNOBS.peak_orders_per_wave * BASE_PCT / 100 * 28);
        assert!(orders.is_sorted_by_key(|it| it.placed));
    }

    #[test]
    fn seed_and_day_determine_it() {
        let of = |seed, day| orders(seed, day, &KNOBS).expect("their names are names");
        assert_eq!(of(1, 0), of(1, 0));
        assert_ne!(of(1, 0), of(1, 1));
        assert_ne!(of(1, 0), of(2, 0));
    }
}
