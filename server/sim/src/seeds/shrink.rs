//! The shortest list of faults and orders that still fails.

use super::RandomWorld;
use crate::checkers::Violation;

/// A failing world with nothing left that it does not need.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// It.
    pub world: RandomWorld,
    /// What it breaks.
    pub violation: Violation,
    /// Worlds that were run to find it.
    pub tries: u32,
}

/// Leaves out one fault or order after the other as long as the same promise is broken. None if nothing is broken.
pub fn shrink(world: &RandomWorld) -> Option<Shrunk> {
    let violation = world.run().1.violation?;
    let mut shrunk = Shrunk { world: world.clone(), violation, tries: 1 };
    while shrunk.leave_something_out() {}
    Some(shrunk)
}

impl Shrunk {
    fn leave_something_out(&mut self) -> bool {
        let (n_faults, n_orders) = (self.world.config.faults.len(), self.world.config.orders.len());
        // From the end: what comes after the failure goes at once.
        let faults = (0..n_faults).rev().map(|idx| (true, idx));
        let orders = (0..n_orders).rev().map(|idx| (false, idx));
        for (is_fault, idx) in faults.chain(orders) {
            let mut fewer = self.world.clone();
            if is_fault {
                fewer.config.faults.remove(idx);
            } else {
                fewer.config.orders.remove(idx);
            }
            self.tries += 1;
            if let Some(violation) = fewer.run().1.violation
                && violation.checker == self.violation.checker
            {
                self.world = fewer;
                self.violation = violation;
                return true;
            }
        }
        false
    }
}
