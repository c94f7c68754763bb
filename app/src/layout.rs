//! Where things stand in the section drawing, in percent of its width and height. Pure.
//!
//! The order along the hall is true, distances are true where there is room and stretched where signs would cover
//! each other. A shaft takes its own stretch of the axis, on the far side of its landings.

mod lift;

use std::collections::BTreeMap;

use kernel::ids::{FloorId, LiftId, PointId, StationId};
use kernel::plant::{Lift, Plant};
use kernel::wire::vehicle::Place;

/// Left edge of the axis: floor names stand before it.
const LEFT_PCT: f64 = 6.0;
/// Right edge of the axis.
const RIGHT_PCT: f64 = 97.0;
/// Smallest distance of two signs.
const GAP_PCT: f64 = 0.9;
/// Distance between a landing and the shaft, so that a vehicle before the door does not cover it.
const SILL_PCT: f64 = 2.6;
/// Width of a shaft when there is room for it.
const SHAFT_PCT: f64 = 8.2;
/// Width that a vehicle's sign takes on the narrowest screen.
const VEHICLE_PCT: f64 = 5.0;
/// Stations closer than this write their names in two rows.
const NAME_PCT: f64 = 3.6;
/// Where the floor's line runs within its band.
const LINE_SHARE: f64 = 0.80;

/// The drawing without what moves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    /// From the highest to the lowest.
    pub(crate) floors: Vec<FloorLine>,
    pub(crate) shafts: Vec<Shaft>,
    pub(crate) stations: Vec<StationSign>,
    /// Waiting points before lifts.
    pub(crate) waiting: Vec<(PointId, f64, f64)>,
    x: BTreeMap<PointId, f64>,
    y: BTreeMap<FloorId, f64>,
    floor_of: BTreeMap<PointId, FloorId>,
}

/// A floor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FloorLine {
    pub(crate) name: String,
    /// Top of its band.
    pub(crate) top_pct: f64,
    /// The line on which vehicles stand.
    pub(crate) y_pct: f64,
}

/// A shaft in section.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shaft {
    pub(crate) lift: LiftId,
    pub(crate) left_pct: f64,
    pub(crate) width_pct: f64,
    pub(crate) top_pct: f64,
    pub(crate) height_pct: f64,
    /// Lines of the floors it serves.
    pub(crate) stops: Vec<(FloorId, f64)>,
}

/// A station under its floor's line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StationSign {
    pub(crate) id: StationId,
    pub(crate) x_pct: f64,
    pub(crate) y_pct: f64,
    /// 0 or 1: which row its name stands in.
    pub(crate) row: u8,
}

/// Where a vehicle's sign stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spot {
    pub(crate) x_pct: f64,
    pub(crate) y_pct: f64,
    /// How many signs lie under it: two vehicles at one place do not cover each other.
    pub(crate) tier: u8,
}

/// Order along the axis: x, then the side of a shaft, then its name.
type MarkKey = (i64, i8, Option<LiftId>);

/// What takes a place on the axis.
enum Mark {
    Point(i64),
    Shaft(LiftId),
}

impl Layout {
    pub(crate) fn new(plant: &Plant) -> Self {
        let (x_of, shafts_x) = axis(plant);
        let x: BTreeMap<_, _> = plant
            .points
            .iter()
            .filter_map(|(id, point)| Some((id.clone(), *x_of.get(&point.x_mm)?)))
            .collect();
        let floors = floor_lines(plant);
        let y: BTreeMap<_, _> = plant
            .floors
            .iter()
            .rev()
            .zip(&floors)
            .map(|(floor, line)| (floor.id.clone(), line.y_pct))
            .collect();
        let floor_of = plant.points.iter().map(|(id, point)| (id.clone(), point.floor.clone())).collect();
        let mut layout = Self {
            shafts: shafts(plant, &shafts_x, &y),
            floors,
            stations: vec![],
            waiting: vec![],
            x,
            y,
            floor_of,
        };
        layout.stations = layout.station_signs(plant);
        let waiting = plant.lifts.values().flat_map(|lift| &lift.stops).flat_map(|stop| &stop.waiting);
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort();
        waiting.dedup();
        let place = |id: &&PointId| layout.point(id).map(|(x, y)| ((*id).clone(), x, y));
        layout.waiting = waiting.iter().filter_map(place).collect();
        layout
    }

    /// Where a point lies.
    pub(crate) fn point(&self, id: &PointId) -> Option<(f64, f64)> {
        Some((*self.x.get(id)?, *self.y.get(self.floor_of.get(id)?)?))
    }

    /// The line of a floor.
    pub(crate) fn floor(&self, id: &FloorId) -> Option<f64> {
        self.y.get(id).copied()
    }

    /// Where the signs of vehicles stand; those in cars and at unknown places have none here.
    pub(crate) fn spots<K: Ord + Clone>(&self, places: &[(K, Place)]) -> BTreeMap<K, Spot> {
        let mut standing: Vec<(f64, f64, K)> = places
            .iter()
            .filter_map(|(key, place)| self.place(place).map(|(x, y)| (x, y, key.clone())))
            .collect();
        standing.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.total_cmp(&b.0)).then(a.2.cmp(&b.2)));
        let mut spots = BTreeMap::new();
        // The right edge of the last sign in each tier of the present floor.
        let mut edges: Vec<f64> = vec![];
        let mut line = f64::NAN;
        for (x_pct, y_pct, key) in standing {
            if y_pct != line {
                line = y_pct;
                edges.clear();
            }
            let free = edges.iter().position(|edge| *edge <= x_pct);
            let tier = free.unwrap_or(edges.len());
            if free.is_none() {
                edges.push(0.0);
            }
            if let Some(edge) = edges.get_mut(tier) {
                *edge = x_pct + VEHICLE_PCT;
            }
            spots.insert(key, Spot { x_pct, y_pct, tier: u8::try_from(tier).unwrap_or(u8::MAX) });
        }
        spots
    }

    fn place(&self, place: &Place) -> Option<(f64, f64)> {
        match place {
            Place::Unknown | Place::InCar { .. } => None,
            Place::At { point } => self.point(point),
            Place::Between { from, to, progress_pct } => {
                let ((x1, y), (x2, _)) = (self.point(from)?, self.point(to)?);
                Some((x1 + (x2 - x1) * f64::from((*progress_pct).min(100)) / 100.0, y))
            }
        }
    }

    fn station_signs(&self, plant: &Plant) -> Vec<StationSign> {
        let mut signs: Vec<StationSign> = plant
            .stations
            .iter()
            .filter_map(|(id, station)| {
                let (x_pct, y_pct) = self.point(&station.point)?;
                Some(StationSign { id: id.clone(), x_pct, y_pct, row: 0 })
            })
            .collect();
        signs.sort_by(|a, b| a.y_pct.total_cmp(&b.y_pct).then(a.x_pct.total_cmp(&b.x_pct)));
        for idx in 1..signs.len() {
            let (before, after) = signs.split_at_mut(idx);
            if let (Some(left), Some(sign)) = (before.last(), after.first_mut())
                && left.y_pct == sign.y_pct
                && sign.x_pct - left.x_pct < NAME_PCT
            {
                sign.row = 1 - left.row;
            }
        }
        signs
    }
}

/// The place on the axis of each distinct x, and left edge and width of each shaft.
fn axis(plant: &Plant) -> (BTreeMap<i64, f64>, BTreeMap<LiftId, (f64, f64)>) {
    // Keyed by x and side, so that a shaft lands on the far side of its landings.
    let mut marks: BTreeMap<MarkKey, Mark> =
        plant.points.values().map(|point| ((point.x_mm, 0, None), Mark::Point(point.x_mm))).collect();
    for (id, lift) in &plant.lifts {
        let (x_mm, side) = shaft_side(plant, lift);
        marks.insert((x_mm, side, Some(id.clone())), Mark::Shaft(id.clone()));
    }
    let marks: Vec<(MarkKey, Mark)> = marks.into_iter().collect();
    let span_mm = match (marks.first(), marks.last()) {
        (Some((first, _)), Some((last, _))) => (last.0 - first.0).max(1) as f64,
        (None, _) | (_, None) => 1.0,
    };
    let room = (RIGHT_PCT - LEFT_PCT - (SHAFT_PCT + 2.0 * SILL_PCT) * plant.lifts.len() as f64).max(20.0);
    let mut at = 0.0;
    let mut places: Vec<f64> = vec![];
    for (idx, (key, mark)) in marks.iter().enumerate() {
        if let Some((before, previous)) = idx.checked_sub(1).and_then(|it| marks.get(it)) {
            at += gap(previous, mark, (key.0 - before.0) as f64 / span_mm * room);
        }
        places.push(at);
    }
    let scale = if at > 0.0 { (RIGHT_PCT - LEFT_PCT) / at } else { 1.0 };
    let (mut points, mut shafts) = (BTreeMap::new(), BTreeMap::new());
    for ((_, mark), place) in marks.iter().zip(places) {
        let middle = LEFT_PCT + place * scale;
        match mark {
            Mark::Point(x_mm) => {
                points.insert(*x_mm, middle);
            }
            Mark::Shaft(lift) => {
                // Never wider than what is right beside it allows, nor so wide that a car looks like a hall.
                let width = SHAFT_PCT * scale.min(1.15);
                shafts.insert(lift.clone(), (middle - width / 2.0, width));
            }
        }
    }
    (points, shafts)
}

fn gap(previous: &Mark, mark: &Mark, true_pct: f64) -> f64 {
    match (previous, mark) {
        (Mark::Point(_), Mark::Point(_)) => true_pct.max(GAP_PCT),
        (Mark::Shaft(_), Mark::Shaft(_)) => true_pct.max(SHAFT_PCT + 1.2),
        (Mark::Shaft(_), Mark::Point(_)) | (Mark::Point(_), Mark::Shaft(_)) => {
            true_pct.max(SHAFT_PCT / 2.0 + SILL_PCT)
        }
    }
}

/// Middle of the landings, and on which side of it the shaft lies: away from the waiting points.
fn shaft_side(plant: &Plant, lift: &Lift) -> (i64, i8) {
    let x = |id: &PointId| plant.points.get(id).map(|point| point.x_mm);
    let mean = |values: Vec<i64>| {
        let n = i64::try_from(values.len()).unwrap_or(1).max(1);
        values.iter().sum::<i64>() / n
    };
    let landings = mean(lift.stops.iter().filter_map(|stop| x(&stop.landing)).collect());
    let waiting = mean(lift.stops.iter().flat_map(|stop| &stop.waiting).filter_map(x).collect());
    (landings, if waiting > landings { -1 } else { 1 })
}

fn floor_lines(plant: &Plant) -> Vec<FloorLine> {
    let band = 100.0 / plant.floors.len().max(1) as f64;
    let line = |(idx, floor): (usize, &kernel::plant::Floor)| {
        let top_pct = band * idx as f64;
        FloorLine { name: floor.name.clone(), top_pct, y_pct: top_pct + band * LINE_SHARE }
    };
    plant.floors.iter().rev().enumerate().map(line).collect()
}

fn shafts(plant: &Plant, places: &BTreeMap<LiftId, (f64, f64)>, y: &BTreeMap<FloorId, f64>) -> Vec<Shaft> {
    let band = 100.0 / plant.floors.len().max(1) as f64;
    let mut shafts: Vec<Shaft> = vec![];
    for (id, lift) in &plant.lifts {
        let Some((left_pct, width_pct)) = places.get(id).copied() else { continue };
        let stops: Vec<_> =
            lift.stops.iter().filter_map(|stop| Some((stop.floor.clone(), *y.get(&stop.floor)?))).collect();
        let lowest = stops.iter().map(|stop| stop.1).fold(0.0, f64::max);
        let highest = stops.iter().map(|stop| stop.1).fold(100.0, f64::min);
        let top_pct = highest - band * 0.66;
        let height_pct = lowest - top_pct + band * 0.12;
        shafts.push(Shaft { lift: id.clone(), left_pct, width_pct, top_pct, height_pct, stops });
    }
    shafts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn at(point: &str) -> Place {
        Place::At { point: PointId::try_new(point).unwrap() }
    }

    #[test]
    fn order_along_the_hall_is_kept_and_nothing_lies_in_a_shaft() {
        let plant = sample::plant();
        let layout = Layout::new(&plant);
        for (a, left) in &plant.points {
            let (x_a, _) = layout.point(a).unwrap();
            assert!((LEFT_PCT..=RIGHT_PCT).contains(&x_a), "{a} at {x_a}");
            for shaft in &layout.shafts {
                let inside = x_a > shaft.left_pct - 1.0 && x_a < shaft.left_pct + shaft.width_pct + 1.0;
                assert!(!inside, "{a} at {x_a} lies in {shaft:?}");
            }
            for (b, right) in &plant.points {
                if left.x_mm < right.x_mm {
                    assert!(x_a < layout.point(b).unwrap().0, "{a} lies left of {b}");
                }
            }
        }
    }

    #[test]
    fn the_highest_floor_is_drawn_on_top() {
        let layout = Layout::new(&sample::plant());
        assert_eq!(layout.floors.first().unwrap().name, "Floor 2");
        let y = |floor| layout.floor(&FloorId::try_new(floor).unwrap()).unwrap();
        assert!(y("2") < y("1"));
    }

    #[test]
    fn two_vehicles_at_one_place_stand_above_each_other() {
        let layout = Layout::new(&sample::plant());
        let spots =
            layout.spots(&[("V1", at("A1")), ("V2", at("A1")), ("V3", at("A2")), ("V4", Place::Unknown)]);
        assert_eq!(spots.len(), 3);
        assert_eq!((spots["V1"].tier, spots["V2"].tier, spots["V3"].tier), (0, 1, 0));
        assert_eq!(spots["V1"].x_pct, spots["V2"].x_pct);
    }

    #[test]
    fn a_vehicle_between_two_points_stands_where_it_said() {
        let layout = Layout::new(&sample::plant());
        let point = |name| PointId::try_new(name).unwrap();
        let place = Place::Between { from: point("A1"), to: point("L1"), progress_pct: 50 };
        let middle = (layout.point(&point("A1")).unwrap().0 + layout.point(&point("L1")).unwrap().0) / 2.0;
        assert_eq!(layout.spots(&[("V1", place)])["V1"].x_pct, middle);
    }

    #[test]
    fn a_site_without_anything_has_an_empty_drawing() {
        let layout = Layout::new(&sample::bare_plant());
        assert!(layout.floors.is_empty() && layout.shafts.is_empty() && layout.stations.is_empty());
    }
}
