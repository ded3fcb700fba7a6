//! [`Outputs`]: where an algorithm puts what it publishes, and [`Sink`]: what takes it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::clock::Clock;
use crate::time::{Ros, Time};

/// A message that an algorithm published.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// The topic.
    pub topic: Arc<str>,
    /// The type, as in `nav_msgs/msg/Odometry`.
    pub type_name: Arc<str>,
    /// What the clock showed: the position of the run.
    pub position: Time<Ros>,
    /// The number of the message among those of its topic and type, from 1.
    pub sequence: u64,
    /// The payload.
    pub payload: Bytes,
}

/// Takes outputs in the order in which they were published.
pub trait Sink {
    /// Takes one.
    fn take(&mut self, output: Output);
}

/// Keeps all of them in memory.
impl Sink for Vec<Output> {
    fn take(&mut self, output: Output) {
        self.push(output);
    }
}

/// Publishes for an algorithm. Clones publish for the same run, from any thread: what threads of the algorithm publish
/// at the same position comes in any order.
#[derive(Debug)]
pub struct Outputs<S = Vec<Output>> {
    clock: Clock<Ros>,
    inner: Arc<Mutex<Inner<S>>>,
}

impl<S> Clone for Outputs<S> {
    fn clone(&self) -> Self {
        Self {
            clock: self.clock.clone(),
            inner: Arc::clone(&self.inner),
        }
    }
}

#[derive(Debug)]
struct Inner<S> {
    /// `None` when the run is over.
    sink: Option<S>,
    /// The number of the last message, by topic and type.
    topics: BTreeMap<Arc<str>, BTreeMap<Arc<str>, u64>>,
}

/// Topic and type: messages are numbered, recorded and counted by both.
pub(super) type OutputKey = (Arc<str>, Arc<str>);

impl Output {
    pub(super) fn key(&self) -> OutputKey {
        (Arc::clone(&self.topic), Arc::clone(&self.type_name))
    }
}

impl<S: Sink> Outputs<S> {
    pub(super) fn new(clock: Clock<Ros>, sink: S) -> Self {
        let inner = Inner {
            sink: Some(sink),
            topics: BTreeMap::new(),
        };
        Self {
            clock,
            inner: Arc::new(Mutex::new(inner)),
        }
    }

    /// Publishes a message at the time that the clock shows. Does nothing when the run is over.
    pub fn publish(&self, topic: &str, type_name: &str, payload: impl Into<Bytes>) {
        let (position, payload) = (self.clock.now(), payload.into());
        let mut inner = self.inner();
        let Inner {
            sink: Some(sink),
            topics,
        } = &mut *inner
        else {
            return;
        };
        let topic = shared(topics, topic);
        let types = topics.entry(Arc::clone(&topic)).or_default();
        let type_name = shared(types, type_name);
        let last = types.entry(Arc::clone(&type_name)).or_default();
        *last += 1;
        sink.take(Output {
            topic,
            type_name,
            position,
            sequence: *last,
            payload,
        });
    }

    /// Ends publishing, and hands the sink out; `None` if that was done before.
    pub(super) fn close(&self) -> Option<S> {
        self.inner().sink.take()
    }

    fn inner(&self) -> MutexGuard<'_, Inner<S>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name as it is in the map, or a new one.
fn shared<V>(map: &BTreeMap<Arc<str>, V>, name: &str) -> Arc<str> {
    let known = map.get_key_value(name);
    known.map_or_else(|| name.into(), |(known, _)| Arc::clone(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::TestClock;

    #[test]
    fn outputs_are_numbered_by_topic_and_type_and_placed_by_the_clock() {
        let test = TestClock::new(Time::from_nanos(5));
        let outputs = Outputs::new(test.ros(), Vec::new());
        let other = outputs.clone();
        outputs.publish("/a", "T", "1");
        test.set(Time::from_nanos(7));
        other.publish("/b", "T", "2");
        other.publish("/a", "U", "3");
        other.publish("/a", "T", "4");
        let taken = outputs.close().unwrap();
        let seen: Vec<_> = taken
            .iter()
            .map(|one| {
                (
                    &*one.topic,
                    &*one.type_name,
                    one.position.as_nanos(),
                    one.sequence,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("/a", "T", 5, 1),
                ("/b", "T", 7, 1),
                ("/a", "U", 7, 1),
                ("/a", "T", 7, 2)
            ]
        );
        other.publish("/a", "T", "after the end");
        assert_eq!(outputs.close(), None);
    }
}
