//! One node's line to the ledger, which can be cut alone. For drills.

use kernel::ids::LedgerSequence;
use tokio::sync::watch;

use super::{JournalError, Reach, follow};

/// What is seen of the ledger at the end of a line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    cut: watch::Receiver<bool>,
    pub(super) reach: watch::Receiver<Reach>,
    pub(super) moved: watch::Receiver<LedgerSequence>,
}

impl Line {
    /// Shows what the ledger shows, except while it is cut.
    pub(super) fn lay(
        cut: watch::Receiver<bool>,
        reach: watch::Receiver<Reach>,
        moved: watch::Receiver<LedgerSequence>,
    ) -> Self {
        let (reach_shown, moved_shown) =
            (watch::Sender::new(Reach::default()), watch::Sender::new(*moved.borrow()));
        let line = Self { cut: cut.clone(), reach: reach_shown.subscribe(), moved: moved_shown.subscribe() };
        let far = Far { cut, reach, moved };
        tokio::spawn(far.show(reach_shown, moved_shown));
        line
    }

    /// Whether something gets through.
    ///
    /// # Errors
    /// It is cut.
    pub(super) fn check(&self) -> Result<(), JournalError> {
        match *self.cut.borrow() {
            true => Err(JournalError::Away(Reach::LINE_CUT.to_owned())),
            false => Ok(()),
        }
    }
}

/// The far end.
struct Far {
    cut: watch::Receiver<bool>,
    reach: watch::Receiver<Reach>,
    moved: watch::Receiver<LedgerSequence>,
}

impl Far {
    /// Ends with the last who looks.
    async fn show(mut self, reach: watch::Sender<Reach>, moved: watch::Sender<LedgerSequence>) {
        loop {
            let is_cut = *self.cut.borrow_and_update();
            let there = self.reach.borrow_and_update().clone();
            let shown = if is_cut { Reach::lost() } else { there };
            reach.send_if_modified(|it| {
                let differs = it.away() != shown.away();
                *it = shown;
                differs
            });
            let reaches_to = *self.moved.borrow_and_update();
            if !is_cut {
                follow::raise(&moved, reaches_to);
            }
            tokio::select! {
                Ok(()) = self.cut.changed() => {}
                Ok(()) = self.reach.changed() => {}
                Ok(()) = self.moved.changed() => {}
                () = reach.closed() => return,
                else => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_cut_shows_a_ledger_that_is_away_and_moves_no_more() {
        let (cut, reach) = (watch::Sender::new(false), watch::Sender::new(Reach::default()));
        let moved = watch::Sender::new(LedgerSequence(3));
        let mut line = Line::lay(cut.subscribe(), reach.subscribe(), moved.subscribe());
        assert_eq!((line.check(), *line.moved.borrow()), (Ok(()), LedgerSequence(3)));

        cut.send_replace(true);
        line.reach.wait_for(|it| it.away() == Some(Reach::LINE_CUT)).await.unwrap();
        assert!(matches!(line.check(), Err(JournalError::Away(_))));
        moved.send_replace(LedgerSequence(5));
        reach.send_replace(Reach::default());
        tokio::task::yield_now().await;
        assert_eq!(*line.moved.borrow(), LedgerSequence(3));

        cut.send_replace(false);
        line.moved.wait_for(|it| *it == LedgerSequence(5)).await.unwrap();
        line.reach.wait_for(|it| it.away().is_none()).await.unwrap();
        assert_eq!(line.check(), Ok(()));
        reach.send_replace(Reach::lost());
        line.reach.wait_for(|it| it.away().is_some()).await.expect("the ledger itself is away");
    }
}
