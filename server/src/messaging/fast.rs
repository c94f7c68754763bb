//! Fast messages on their way to the connection: of each topic the newest, nothing while there is no connection.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::Publish;

/// Topics with a message that waits for room on the connection. Beyond it the one that waited longest is dropped.
const TOPICS_MAX: usize = 256;

/// Shared by the handle, which puts, and the link's task, which takes: a queue between them would keep the old and
/// turn away the new when it is full.
#[derive(Default)]
pub(super) struct FastWaiting(Mutex<VecDeque<Publish>>);

impl FastWaiting {
    /// Takes the place of an older one of its topic. Whether one was dropped for it.
    pub(super) fn put(&self, publish: Publish) -> bool {
        let mut waiting = self.lock();
        if let Some(older) = waiting.iter_mut().find(|it| it.topic == publish.topic) {
            *older = publish;
            return true;
        }
        let full = waiting.len() >= TOPICS_MAX;
        if full {
            waiting.pop_front();
        }
        waiting.push_back(publish);
        full
    }

    /// Gives each to `send`, those that waited longest first, until it has no room.
    pub(super) fn drain_while(&self, mut send: impl FnMut(&Publish) -> bool) {
        let mut waiting = self.lock();
        while waiting.front().is_some_and(&mut send) {
            waiting.pop_front();
        }
    }

    /// Forgets all. How many there were.
    pub(super) fn clear(&self) -> usize {
        let mut waiting = self.lock();
        let n_dropped = waiting.len();
        waiting.clear();
        n_dropped
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Publish>> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Road;
    use super::*;

    fn message(topic: &str, payload: &str) -> Publish {
        let (topic, payload) = (topic.to_owned(), payload.as_bytes().to_vec());
        Publish { topic, payload, road: Road::Fast, retain: false }
    }

    #[test]
    fn of_a_topic_the_newest_stays_and_of_too_many_topics_the_latest() {
        let waiting = FastWaiting::default();
        assert!(!waiting.put(message("t/1", "old")));
        assert!(waiting.put(message("t/1", "new")));
        let mut sent = Vec::new();
        waiting.drain_while(|it| {
            sent.push(it.payload.clone());
            false
        });
        assert_eq!(sent, [b"new".to_vec()], "and it stays while there is no room");
        for topic in 0..TOPICS_MAX {
            let dropped = waiting.put(message(&format!("u/{topic}"), "x"));
            assert_eq!(dropped, topic == TOPICS_MAX - 1, "the last one pushes out t/1");
        }
        assert_eq!(waiting.clear(), TOPICS_MAX);
        assert!(waiting.is_empty());
    }
}
