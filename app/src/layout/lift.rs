//! One lift alone: its shaft, its landings, its waiting points. Order and side are true, distances are not.

use std::collections::BTreeMap;

use kernel::ids::{LiftId, PointId};
use kernel::plant::{LiftStop, Plant};

use super::{Layout, floor_lines, shaft_side, shafts};

/// Left edge of the shaft, where it stands right of its landings.
const SHAFT_LEFT_PCT: f64 = 60.0;
const SHAFT_WIDTH_PCT: f64 = 33.0;
/// Where the landings are.
const LANDING_PCT: f64 = 51.0;
/// Distance of a landing and its waiting points, where there is room for it.
const STEP_PCT: f64 = 17.0;
/// The farthest waiting point stands here at least.
const EDGE_PCT: f64 = 8.0;

impl Layout {
    /// The drawing of one lift; an empty one of a lift that the site does not have.
    pub(crate) fn of_lift(plant: &Plant, id: &LiftId) -> Self {
        let mut plant = plant.clone();
        plant.lifts.retain(|it, _| it == id);
        plant.stations.clear();
        let lift = plant.lifts.get(id).cloned();
        plant.floors.retain(|floor| lift.as_ref().is_some_and(|it| it.stop(&floor.id).is_some()));
        let floors = floor_lines(&plant);
        let lines = plant.floors.iter().rev().zip(&floors);
        let y: BTreeMap<_, _> = lines.map(|(floor, line)| (floor.id.clone(), line.y_pct)).collect();
        let floor_of = plant.points.iter().map(|(id, point)| (id.clone(), point.floor.clone())).collect();
        let mut layout = Self {
            floors,
            shafts: vec![],
            stations: vec![],
            waiting: vec![],
            x: BTreeMap::new(),
            y,
            floor_of,
        };
        let Some(lift) = lift else { return layout };
        // Seen from the other side of the hall, as in the section.
        let mirrored = shaft_side(&plant, &lift).1 < 0;
        let side = |x: f64| if mirrored { 100.0 - x } else { x };
        for stop in &lift.stops {
            layout.x.insert(stop.landing.clone(), side(LANDING_PCT));
            let step = STEP_PCT.min((LANDING_PCT - EDGE_PCT) / stop.waiting.len().max(1) as f64);
            for (idx, point) in nearest_first(&plant, stop).into_iter().enumerate() {
                layout.x.insert(point, side(LANDING_PCT - step * (idx + 1) as f64));
            }
        }
        let left = if mirrored { 100.0 - SHAFT_LEFT_PCT - SHAFT_WIDTH_PCT } else { SHAFT_LEFT_PCT };
        layout.shafts = shafts(&plant, &BTreeMap::from([(id.clone(), (left, SHAFT_WIDTH_PCT))]), &layout.y);
        let waiting = lift.stops.iter().flat_map(|stop| &stop.waiting);
        layout.waiting =
            waiting.filter_map(|point| layout.point(point).map(|(x, y)| (point.clone(), x, y))).collect();
        layout
    }
}

fn nearest_first(plant: &Plant, stop: &LiftStop) -> Vec<PointId> {
    let x = |id: &PointId| plant.points.get(id).map_or(0, |point| point.x_mm);
    let landing = x(&stop.landing);
    let mut waiting = stop.waiting.clone();
    waiting.sort_by_key(|id| (x(id) - landing).abs());
    waiting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_lift_alone_shows_its_floors_and_whoever_waits_before_it() {
        let (plant, id) = (sample::plant(), LiftId::try_new("L1").unwrap());
        let layout = Layout::of_lift(&plant, &id);
        assert_eq!(layout.floors.len(), 2);
        let x = |name| layout.point(&PointId::try_new(name).unwrap()).map(|(x, _)| x);
        let (waits, landing) = (x("W1").unwrap(), x("L1").unwrap());
        let shaft = &layout.shafts[0];
        assert!(waits < landing && landing < shaft.left_pct, "{waits}, {landing}, {shaft:?}");
        assert_eq!((x("A1"), x("B1")), (None, None), "who is elsewhere is not drawn");
    }

    #[test]
    fn a_shaft_on_the_other_side_is_drawn_on_the_other_side() {
        let (mut plant, id) = (sample::plant(), LiftId::try_new("L1").unwrap());
        for point in plant.points.values_mut() {
            point.x_mm = -point.x_mm;
        }
        let layout = Layout::of_lift(&plant, &id);
        let (landing, _) = layout.point(&PointId::try_new("L1").unwrap()).unwrap();
        let shaft = &layout.shafts[0];
        assert!(shaft.left_pct > 0.0 && shaft.left_pct + shaft.width_pct < landing, "{landing}, {shaft:?}");
    }

    #[test]
    fn a_lift_that_the_site_does_not_have_has_an_empty_drawing() {
        let layout = Layout::of_lift(&sample::plant(), &LiftId::try_new("L9").unwrap());
        assert!(layout.floors.is_empty() && layout.shafts.is_empty() && layout.waiting.is_empty());
    }
}
