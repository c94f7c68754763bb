//! What arrived and waits for the consumer.
//!
//! Reliable messages and the news about the connection keep their order and are never dropped: the broker sends at
//! most [`RECEIVE_MAX`] reliable messages that we have not acknowledged, and we acknowledge what the consumer's
//! channel took. Of fast messages only the newest of each topic waits.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::Incoming;
use super::connection::{Message, RECEIVE_MAX, Receipt};

/// Topics of which a fast message waits. Beyond it a message of a further topic is dropped and counted: a fleet of
/// 500 has 1000 fast topics.
const FAST_TOPICS_MAX: usize = 2048;
/// No new connection is made while this much waits: a consumer that stands still stops the inflow.
const WAITING_MAX: usize = 2 * RECEIVE_MAX as usize;

/// What waits for the consumer.
#[derive(Default)]
pub(super) struct Inbox {
    ordered: VecDeque<(Incoming, Option<Receipt>)>,
    fast: BTreeMap<String, Bytes>,
}

impl Inbox {
    /// News about the connection.
    pub(super) fn push_news(&mut self, news: Incoming) {
        self.ordered.push_back((news, None));
    }

    /// A message. False when one was dropped for it: an older one of its topic, or itself.
    pub(super) fn push(&mut self, message: Message) -> bool {
        let Message { topic, payload, receipt } = message;
        if receipt.is_some() {
            self.ordered.push_back((Incoming::Message { topic, payload }, receipt));
            return true;
        }
        if self.fast.len() >= FAST_TOPICS_MAX && !self.fast.contains_key(&topic) {
            return false;
        }
        self.fast.insert(topic, payload).is_none()
    }

    /// The next one for the consumer, with what to acknowledge once it is delivered.
    pub(super) fn pop(&mut self) -> Option<(Incoming, Option<Receipt>)> {
        self.ordered.pop_front().or_else(|| {
            let (topic, payload) = self.fast.pop_first()?;
            Some((Incoming::Message { topic, payload }, None))
        })
    }

    /// Nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.ordered.is_empty() && self.fast.is_empty()
    }

    /// So much waits that no connection should bring more.
    pub(super) fn is_full(&self) -> bool {
        self.ordered.len() >= WAITING_MAX
    }

    /// Acknowledgements of a connection that ended are void: the broker sends those messages again.
    pub(super) fn void_receipts(&mut self) {
        self.ordered.iter_mut().for_each(|(_, receipt)| *receipt = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fast(topic: &str, payload: &'static str) -> Message {
        Message { topic: topic.to_owned(), payload: Bytes::from_static(payload.as_bytes()), receipt: None }
    }

    #[test]
    fn of_fast_messages_the_newest_of_each_topic_waits() {
        let mut inbox = Inbox::default();
        assert!(inbox.push(fast("a", "1")));
        assert!(inbox.push(fast("b", "2")));
        assert!(!inbox.push(fast("a", "3")), "the older one was dropped");
        inbox.push_news(Incoming::Connected { session_present: false });
        let order: Vec<Incoming> = std::iter::from_fn(|| inbox.pop().map(|it| it.0)).collect();
        let message = |topic: &str, payload: &'static str| Incoming::Message {
            topic: topic.to_owned(),
            payload: Bytes::from_static(payload.as_bytes()),
        };
        assert_eq!(
            order,
            [Incoming::Connected { session_present: false }, message("a", "3"), message("b", "2")]
        );
        assert!(inbox.is_empty());
    }

    #[test]
    fn topics_are_bounded() {
        let mut inbox = Inbox::default();
        for number in 0..FAST_TOPICS_MAX {
            assert!(inbox.push(fast(&format!("t{number}"), "x")));
        }
        assert!(!inbox.push(fast("one-more", "x")));
        assert!(!inbox.push(fast("t0", "y")), "known topics stay newest-wins");
        assert_eq!(std::iter::from_fn(|| inbox.pop()).count(), FAST_TOPICS_MAX);
    }
}
