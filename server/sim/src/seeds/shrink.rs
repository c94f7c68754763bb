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

/// Leaves out one fault, order or withdrawal after the other as long as the same promise is broken. None if nothing is broken.
pub fn shrink(world: &RandomWorld) -> Option<Shrunk> {
    let violation = world.run().1.violation?;
    let mut shrunk = Shrunk { world: world.clone(), violation, tries: 1 };
    while shrunk.leave_something_out() {}
    Some(shrunk)
}

/// Something that a world may not need.
#[derive(Clone, Copy, Debug)]
enum Part {
    Fault(usize),
    Order(usize),
    Withdrawal(usize),
}

impl Part {
    /// False if the world has no such part.
    fn leave_out(self, world: &mut RandomWorld) -> bool {
        match self {
            Self::Fault(idx) => {
                world.config.faults.remove(idx);
                true
            }
            Self::Order(idx) => {
                world.config.orders.remove(idx);
                true
            }
            Self::Withdrawal(idx) => {
                let order = world.config.orders.get_mut(idx);
                order.and_then(|it| it.withdrawn_after.take()).is_some()
            }
        }
    }
}

impl Shrunk {
    fn leave_something_out(&mut self) -> bool {
        let (n_faults, n_orders) = (self.world.config.faults.len(), self.world.config.orders.len());
        // From the end: what comes after the failure goes at once.
        let faults = (0..n_faults).rev().map(Part::Fault);
        let orders = (0..n_orders).rev().flat_map(|idx| [Part::Order(idx), Part::Withdrawal(idx)]);
        for part in faults.chain(orders) {
            let mut fewer = self.world.clone();
            if !part.leave_out(&mut fewer) {
                continue;
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
