//! [`Publication`]: one topic of this node, its subscribers, and what late ones get.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use bytes::Bytes;

use super::connection::Connection;
use super::queue::{COPIED, QueueRules, Queued};
use crate::bag::{Key, PublisherId, TopicId};
use crate::player::Count;
use crate::time::{Ros, Time};
use crate::transcode::TranscodeError;

/// The most latched messages of a topic of which all are kept.
const MOST_LATCHED: usize = 1000;

/// Which messages late subscribers get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Latching {
    /// None.
    No,
    /// The last one of each publisher, as nodes of ROS 1 latch.
    LastOfEach,
    /// All: static transforms, whose publishers the recording may not tell apart.
    All,
}

/// What subscribers are told of a topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Advertised {
    pub(crate) name: String,
    pub(crate) type_name: String,
    pub(crate) md5: String,
    /// The text of the definition with all that it refers to.
    pub(crate) definition: Bytes,
    pub(crate) latching: Latching,
}

/// The counts of one topic.
#[derive(Debug, Default)]
pub(crate) struct PublicationCounts {
    /// Messages that were sent, to however many subscribers.
    pub(crate) sent: Count,
    pub(crate) bytes: Count,
    /// Messages that waited for the whole stall timeout.
    pub(crate) stalled: AtomicU64,
    /// Messages that subscribers have lost, those included; each counts for each subscriber.
    pub(crate) lost: AtomicU64,
    /// Messages that could not be made into ROS 1 messages.
    pub(crate) dropped: AtomicU64,
    /// Why the first of those could not.
    pub(crate) first_problem: OnceLock<String>,
}

impl PublicationCounts {
    /// Counts a message that could not be made into a ROS 1 message; returns why, if it is the first one.
    pub(crate) fn drop_one(&self, why: &TranscodeError) -> Option<&str> {
        let is_first = self.dropped.fetch_add(1, Ordering::Relaxed) == 0;
        let problem = self.first_problem.get_or_init(|| why.to_string());
        is_first.then_some(problem.as_str())
    }
}

/// One topic.
#[derive(Debug)]
pub(crate) struct Publication {
    pub(crate) advertised: Advertised,
    /// The recorded topics that are published here.
    pub(crate) ids: Vec<TopicId>,
    pub(crate) rules: QueueRules,
    pub(crate) counts: PublicationCounts,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    latched: BTreeMap<(PublisherId, Option<Key>), Latched>,
    /// Shared with the thread that sends, which must not hold the lock while it waits.
    connections: Arc<Vec<Arc<Connection>>>,
    is_ending: bool,
}

/// A message for late subscribers.
#[derive(Debug)]
struct Latched {
    /// When it is played; `None` if it is a message of this node itself.
    at: Option<Time<Ros>>,
    payload: Bytes,
}

impl Publication {
    pub(crate) fn new(advertised: Advertised, ids: Vec<TopicId>, rules: QueueRules) -> Self {
        Self {
            advertised,
            ids,
            rules,
            counts: PublicationCounts::default(),
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connections that there are now.
    pub(crate) fn connections(&self) -> Arc<Vec<Arc<Connection>>> {
        Arc::clone(&self.lock().connections)
    }

    /// Sends a message to all subscribers. Waits as the rules say, and calls `meanwhile` about ten times a second.
    pub(crate) fn send(
        &self,
        (publisher, key): (PublisherId, Key),
        payload: &Bytes,
        meanwhile: &mut dyn FnMut(),
    ) {
        let mut state = self.lock();
        let at = match self.advertised.latching {
            Latching::No => None,
            Latching::LastOfEach => Some((publisher, None)),
            Latching::All => Some((publisher, Some(key))),
        };
        if let Some(at) = at {
            // A copy, because it is kept for long.
            let payload = Bytes::copy_from_slice(payload);
            let kept = Latched {
                at: Some(key.time),
                payload,
            };
            state.latched.insert(at, kept);
            if state.latched.len() > MOST_LATCHED {
                state.latched.pop_first();
            }
        }
        let connections = Arc::clone(&state.connections);
        drop(state);
        self.send_to(&connections, payload, meanwhile);
    }

    /// Sends a message of this node itself; late subscribers get the last one.
    pub(crate) fn send_own(&self, payload: &Bytes) {
        let mut state = self.lock();
        let publisher = (PublisherId::default(), None);
        let kept = Latched {
            at: None,
            payload: payload.clone(),
        };
        state.latched.insert(publisher, kept);
        let connections = Arc::clone(&state.connections);
        drop(state);
        self.send_to(&connections, payload, &mut || ());
    }

    /// Playback jumps to `to`: late subscribers get nothing that comes later. The player sends next what is recorded as
    /// latched there; not if refills are off, nor for topics that only the options make latched. Then late subscribers
    /// get what was sent last up to `to`, or nothing until the next message. Waits for subscribers as
    /// [`Connection::await_written`] says.
    pub(crate) fn jump(&self, to: Time<Ros>, until: Instant, meanwhile: &mut dyn FnMut()) {
        let mut state = self.lock();
        state
            .latched
            .retain(|_, message| message.at.is_none_or(|at| at <= to));
        let connections = Arc::clone(&state.connections);
        drop(state);
        for connection in connections.iter() {
            let lost = connection.await_written(until, meanwhile);
            self.lose(connection, lost);
        }
    }

    /// Sends a message that is never latched: a time.
    pub(crate) fn send_volatile(&self, payload: &Bytes) {
        self.send_to(&self.connections(), payload, &mut || ());
    }

    fn send_to(
        &self,
        connections: &[Arc<Connection>],
        payload: &Bytes,
        meanwhile: &mut dyn FnMut(),
    ) {
        self.counts.sent.add(1);
        self.counts.bytes.add(payload.len() as u64);
        if connections.is_empty() {
            return;
        }
        let copy;
        let message = if payload.len() < COPIED {
            copy = Bytes::copy_from_slice(payload);
            &copy
        } else {
            payload
        };
        for connection in connections {
            let (stalled, lost) = match connection.send(message, meanwhile) {
                Queued::Taken | Queued::Closed => continue,
                Queued::Lost(count) => (0, count),
                Queued::Stalled => (1, 1),
            };
            self.counts.stalled.fetch_add(stalled, Ordering::Relaxed);
            self.lose(connection, lost);
        }
    }

    /// A subscriber has lost this many messages.
    fn lose(&self, connection: &Connection, lost: u64) {
        self.counts.lost.fetch_add(lost, Ordering::Relaxed);
        // Of the clock and of other messages of this node itself, the last ones are enough.
        if lost > 0 && !self.ids.is_empty() {
            connection.tell_slow();
        }
    }

    /// Adds a subscriber, which gets the latched messages first.
    pub(crate) fn connect(&self, connection: &Arc<Connection>) {
        let mut state = self.lock();
        for message in state.latched.values() {
            connection.begin_with(message.payload.clone());
        }
        if state.is_ending {
            connection.end();
        }
        Arc::make_mut(&mut state.connections).push(Arc::clone(connection));
    }

    /// Removes a subscriber.
    pub(crate) fn disconnect(&self, connection: &Arc<Connection>) {
        let mut state = self.lock();
        let connections = Arc::make_mut(&mut state.connections);
        connections.retain(|other| !Arc::ptr_eq(other, connection));
    }

    /// Closes the connections when everything has been written.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.is_ending = true;
        for connection in state.connections.iter() {
            connection.end();
        }
    }

    /// Closes the connections at once.
    pub(crate) fn close(&self) {
        for connection in self.connections().iter() {
            connection.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use crossbeam_channel::{Sender, bounded};

    use super::*;
    use crate::ros1::data::patience::NodePatience;
    use crate::ros1::event::Events;
    use crate::ros1::options::SlowSubscriber;
    use crate::ros1::system::{Budget, steady};

    /// More than the system takes.
    const SIZE: usize = 64 << 20;
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A payload that tells of its end.
    struct Told(Vec<u8>, Sender<()>);

    impl AsRef<[u8]> for Told {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Drop for Told {
        fn drop(&mut self) {
            self.1.send(()).unwrap();
        }
    }

    /// A topic with one subscriber that reads nothing, for which a message waits that has been copied.
    fn stuck(
        together: &Arc<Budget>,
        patience: &Arc<NodePatience>,
    ) -> (Publication, Arc<Connection>, TcpStream) {
        let rules = QueueRules {
            slow_subscriber: SlowSubscriber::Wait,
            stall_timeout: PATIENCE,
            most_messages: 10,
        };
        let advertised = Advertised {
            name: "/images".to_owned(),
            type_name: "p/T".to_owned(),
            md5: String::new(),
            definition: Bytes::new(),
            latching: Latching::No,
        };
        let publication = Publication::new(advertised, Vec::new(), rules);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let connection = Connection::new(
            ("/images", "/stuck".to_owned()),
            Arc::new(stream),
            (rules, Arc::clone(patience)),
            (Events::new(|_| ()), Arc::clone(together)),
        );
        let connection = Arc::new(connection.unwrap());
        connection.start().unwrap();
        publication.connect(&connection);
        let (send, told) = bounded(1);
        publication.send_volatile(&Bytes::from_owner(Told(vec![7; SIZE], send)));
        told.recv_timeout(PATIENCE).unwrap();
        (publication, connection, peer)
    }

    #[test]
    fn what_is_being_written_counts_and_a_jump_waits_for_it() {
        let (together, patience) = (Budget::new(SIZE), Arc::default());
        let (publication, connection, mut peer) = stuck(&together, &patience);
        assert_eq!(connection.waiting_messages(), 1);
        assert!(!together.has(1), "its copy does not count");
        let reading = thread::spawn(move || {
            let mut all = vec![0; 4 + SIZE];
            peer.read_exact(&mut all).map(|()| peer)
        });
        publication.jump(Time::MIN, steady() + PATIENCE, &mut || ());
        assert_eq!(connection.waiting_messages(), 0);
        assert!(together.has(SIZE));
        reading.join().unwrap().unwrap();
        connection.close();
    }

    #[test]
    fn a_jump_does_not_wait_for_a_node_that_is_stuck_on_another_topic() {
        let (together, patience) = (Budget::new(SIZE), Arc::<NodePatience>::default());
        let (publication, connection, _peer) = stuck(&together, &patience);
        patience.is_stuck();
        let until = steady() + PATIENCE;
        publication.jump(Time::MIN, until, &mut || ());
        assert!(steady() < until, "it was waited for");
        assert_eq!(connection.waiting_messages(), 1);
        connection.close();
    }
}
