//! Frames that a slow radio brings later.

use kernel::ids::VehicleId;
use sim::plant::SimEvent;
use sim::vehicle::VehicleMessage;
use tokio::time::Instant;

/// Frames that are on their way: a second and a half of a fleet of fifty. Beyond it they come in time.
const HELD_MAX: usize = 1024;

/// One frame.
#[derive(Debug)]
pub(super) enum Frame {
    /// To a vehicle.
    Comes(SimEvent),
    /// From a vehicle.
    Leaves(VehicleId, VehicleMessage),
}

/// Those that are on their way.
#[derive(Debug, Default)]
pub(super) struct Late {
    held: Vec<(Instant, Frame)>,
}

impl Late {
    /// Holds a frame until it is due; gives it back when too many are held.
    #[must_use]
    pub(super) fn hold(&mut self, due: Instant, frame: Frame) -> Option<Frame> {
        if self.held.len() >= HELD_MAX {
            return Some(frame);
        }
        self.held.push((due, frame));
        None
    }

    /// When the next is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.held.iter().map(|(due, _)| *due).min()
    }

    /// Those that are due, in the order in which they came.
    pub(super) fn arrived(&mut self, now: Instant) -> Vec<Frame> {
        self.held.extract_if(.., |(due, _)| *due <= now).map(|(_, frame)| frame).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_frame_comes_when_it_is_due_and_at_once_when_too_many_are_held() {
        let (mut late, now) = (Late::default(), Instant::now());
        let due = now + Duration::from_secs(1);
        for _ in 0..HELD_MAX {
            assert!(late.hold(due, Frame::Comes(SimEvent::Tick)).is_none());
        }
        assert!(late.hold(due, Frame::Comes(SimEvent::Tick)).is_some());
        assert_eq!((late.due(), late.arrived(now).len()), (Some(due), 0));
        assert_eq!((late.arrived(due).len(), late.due()), (HELD_MAX, None));
    }
}
