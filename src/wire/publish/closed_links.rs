//! [`ClosedLinks`]: links that close after their receiver took nothing, and how many messages that may have
//! lost.
//!
//! The system's buffers hold what is sent to a process that is stopped. While they have room, no put waits.
//! When the link closes, because its lease has expired or the process has died, messages that the process has
//! not read may be lost. zenoh does not report how many. So all messages put after the last one that the
//! receiver is known to have taken are counted as possibly lost: an upper bound. Used by `Stalls`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::buffers::sockets::QUEUE;
use super::monitor::TopicCounts;
use crate::wire::dialect::interface::Nodes;
use crate::wire::event::{Events, WireEvent};

/// A receiver that has taken nothing for this long is not just between two reads.
const A_WHILE: Duration = Duration::from_secs(1);

/// The links of a session in the last sample.
#[derive(Debug)]
pub(super) struct ClosedLinks {
    nodes: Nodes,
    events: Events,
    /// By the id of the session at the other end.
    links: BTreeMap<String, Link>,
    /// Links that had closed in the last sample, and how long they had taken nothing. They are counted in the
    /// next sample, when puts that waited for them have ended.
    pending: Vec<(Link, Duration)>,
    /// By topic: how many messages had been put in the last sample.
    put: Vec<u64>,
    /// By topic: the messages already counted, so that no message is counted twice when two links close.
    counted: Vec<Range<u64>>,
}

#[derive(Debug)]
struct Link {
    bytes: u64,
    /// When bytes last left the buffer or it was last empty.
    moved_at: Instant,
    /// The subscriber at that time and since then. Its tokens may appear after the link has stopped moving, and
    /// disappear with another link before this link closes.
    subscriber: Subscriber,
    /// By topic: how many of the messages put are known to have been taken.
    taken: Vec<u64>,
    /// By topic: how many messages will be known to have been taken once `ahead` more bytes have left.
    next: Vec<u64>,
    ahead: u64,
}

#[derive(Debug)]
struct Subscriber {
    nodes: BTreeSet<String>,
    /// By topic: whether the session subscribes.
    topics: Vec<bool>,
}

impl Subscriber {
    /// Adds what the session has in a later sample.
    fn extend(&mut self, later: Self) {
        self.nodes.extend(later.nodes);
        for (has, later) in self.topics.iter_mut().zip(later.topics) {
            *has |= later;
        }
    }
}

impl ClosedLinks {
    pub(super) fn new(nodes: Nodes, events: Events) -> Self {
        Self {
            nodes,
            events,
            links: BTreeMap::new(),
            pending: Vec::new(),
            put: Vec::new(),
            counted: Vec::new(),
        }
    }

    /// Whether a link has closed that has not been counted yet.
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes in how many bytes each session has not read `now`. The topics must be the same in every call.
    pub(super) fn update(
        &mut self,
        topics: &[Arc<TopicCounts>],
        unread: &BTreeMap<String, u64>,
        now: Instant,
    ) {
        let sent = |topic: &Arc<TopicCounts>| topic.sent.get();
        let put: Vec<u64> = topics.iter().map(sent).collect();
        // Messages put since the last sample may not have reached the buffers yet.
        let before = std::mem::replace(&mut self.put, put);
        let before = if before.is_empty() {
            vec![0; topics.len()]
        } else {
            before
        };
        for (link, away) in std::mem::take(&mut self.pending) {
            self.count(topics, &link, away);
        }
        let is_open = |zid: &String| unread.contains_key(zid);
        let (open, closed): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.links)
            .into_iter()
            .partition(|(zid, _)| is_open(zid));
        self.links = open;
        for link in closed.into_values() {
            let away = now.saturating_duration_since(link.moved_at);
            if link.bytes > 0 && away >= A_WHILE {
                self.pending.push((link, away));
            }
        }
        for (zid, &bytes) in unread {
            let subscriber = Subscriber {
                nodes: self.nodes.of_session(zid).into_iter().collect(),
                topics: topics
                    .iter()
                    .map(|topic| self.nodes.subscribes(zid, &topic.name))
                    .collect(),
            };
            if let Some(link) = self.links.get_mut(zid) {
                link.update(bytes, &before, now, subscriber);
            } else {
                let link = Link {
                    bytes,
                    moved_at: now,
                    subscriber,
                    taken: before.clone(),
                    next: before.clone(),
                    ahead: bytes.saturating_add(QUEUE),
                };
                self.links.insert(zid.clone(), link);
            }
        }
    }

    fn count(&mut self, topics: &[Arc<TopicCounts>], link: &Link, away: Duration) {
        self.counted.resize(topics.len(), 0..0);
        let mut possibly_lost = 0;
        for (at, topic) in topics.iter().enumerate() {
            if link.subscriber.topics[at] {
                let messages = link.taken[at]..self.put[at];
                possibly_lost += messages.end - messages.start;
                let more = extend(&mut self.counted[at], messages);
                topic.possibly_lost.fetch_add(more, Ordering::Relaxed);
            }
        }
        if possibly_lost > 0 {
            self.events.send(WireEvent::Gone {
                nodes: link.subscriber.nodes.iter().cloned().collect(),
                away,
                possibly_lost,
            });
        }
    }
}

impl Link {
    /// Takes in that the buffer holds `bytes` at `now`; `before` is how many messages had been put at the
    /// previous sample.
    fn update(&mut self, bytes: u64, before: &[u64], now: Instant, subscriber: Subscriber) {
        let left = self.bytes.saturating_sub(bytes);
        self.bytes = bytes;
        if bytes > 0 && left == 0 {
            self.subscriber.extend(subscriber);
            return;
        }
        self.moved_at = now;
        self.subscriber = subscriber;
        self.ahead = self.ahead.saturating_sub(left);
        if bytes == 0 {
            self.taken = before.to_vec();
        } else if self.ahead == 0 {
            self.taken = std::mem::replace(&mut self.next, before.to_vec());
        } else {
            return;
        }
        self.next = before.to_vec();
        self.ahead = bytes.saturating_add(QUEUE);
    }
}

/// Adds `messages` to those counted and returns how many are new. `messages` must not end before `counted`
/// does.
fn extend(counted: &mut Range<u64>, messages: Range<u64>) -> u64 {
    if messages.start > counted.end || counted.is_empty() {
        let more = messages.end - messages.start;
        *counted = messages;
        return more;
    }
    let more = counted.start.saturating_sub(messages.start) + (messages.end - counted.end);
    *counted = counted.start.min(messages.start)..messages.end;
    more
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::{Receiver, bounded};

    use super::*;
    use crate::wire::dialect::notation::Notation;
    use crate::wire::net::now::steady;
    use crate::wire::rmw_zenoh::graph::Graph;
    use crate::wire::rmw_zenoh::ours::{Ours, Via};

    const ZID: &str = "b1";
    const TOKEN: &str = "@ros2_lv/0/b1/0/1/MS/%/%/listener/%image/type/hash/::,10:,:,:,,";

    struct Bench {
        links: ClosedLinks,
        graph: Graph,
        topics: Vec<Arc<TopicCounts>>,
        events: Receiver<WireEvent>,
        start: Instant,
    }

    impl Bench {
        fn new() -> Self {
            let graph = Graph::new(
                Notation::RmwZenoh { domain: 0 },
                "a1".to_owned(),
                "/player".to_owned(),
            );
            let ours = Ours {
                name: "/image".to_owned(),
                dds_type: "type".to_owned(),
                hash: "hash".to_owned(),
                via: Via::Main,
                is_latched: false,
            };
            graph.publish(vec![ours], None);
            graph.appeared(TOKEN, Via::Main);
            let (send, received) = bounded(10);
            let events = Events::new(move |event| drop(send.send(event)));
            Self {
                links: ClosedLinks::new(Nodes::RosGraph(graph.clone()), events),
                graph,
                topics: vec![Arc::new(TopicCounts::named("/image"))],
                events: received,
                start: steady(),
            }
        }

        /// A sample after `at` milliseconds, with `sent` messages sent and the unread bytes of each open link.
        fn sample(&mut self, at: u64, sent: u64, links: &[(&str, u64)]) {
            self.topics[0].sent.set(sent);
            let unread = links.iter().map(|(zid, bytes)| ((*zid).to_owned(), *bytes));
            let now = self.start + Duration::from_millis(at);
            self.links.update(&self.topics, &unread.collect(), now);
        }

        fn possibly_lost(&self) -> u64 {
            self.topics[0].possibly_lost.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn messages_put_since_the_buffer_was_empty_may_be_lost_with_the_link() {
        let mut bench = Bench::new();
        bench.sample(0, 10, &[(ZID, 0)]);
        bench.sample(250, 20, &[(ZID, 0)]);
        bench.sample(500, 30, &[(ZID, 1000)]);
        // Its tokens disappear with another link.
        bench.graph.vanished(TOKEN, Via::Main);
        bench.sample(2000, 90, &[(ZID, 7000)]);
        bench.sample(2250, 100, &[]);
        assert_eq!(bench.possibly_lost(), 0);
        // A put that waited has ended.
        bench.sample(2300, 101, &[]);
        assert_eq!(bench.possibly_lost(), 91);
        let gone = bench.events.try_recv().unwrap();
        assert_eq!(
            gone.to_string(),
            "/listener read nothing for 2.0 s, then its link closed: it may have lost up to 91 messages"
        );
        assert!(bench.events.try_recv().is_err());
    }

    #[test]
    fn a_subscription_that_becomes_known_while_its_link_is_stuck_counts() {
        let mut bench = Bench::new();
        bench.graph.vanished(TOKEN, Via::Main);
        bench.sample(0, 0, &[(ZID, 0)]);
        bench.graph.appeared(TOKEN, Via::Main);
        bench.sample(250, 10, &[(ZID, 1000)]);
        bench.graph.vanished(TOKEN, Via::Main);
        bench.sample(2000, 20, &[(ZID, 2000)]);
        bench.sample(2250, 20, &[]);
        bench.sample(2300, 20, &[]);
        assert_eq!(bench.possibly_lost(), 20);
        let gone = bench.events.try_recv().unwrap().to_string();
        assert!(
            gone.starts_with("/listener read nothing for 2.2 s"),
            "{gone}"
        );
    }

    #[test]
    fn a_link_that_moved_before_it_closed_has_lost_nothing() {
        for last in [(ZID, 0), (ZID, 900)] {
            let mut bench = Bench::new();
            bench.sample(0, 10, &[(ZID, 1000)]);
            bench.sample(2000, 20, &[last]);
            bench.sample(2250, 30, &[]);
            bench.sample(2300, 30, &[]);
            assert_eq!(bench.possibly_lost(), 0, "{last:?}");
        }
    }

    #[test]
    fn messages_behind_those_that_were_read_may_be_lost() {
        let mut bench = Bench::new();
        bench.sample(0, 0, &[(ZID, 0)]);
        bench.sample(250, 10, &[(ZID, 0)]);
        bench.sample(500, 20, &[(ZID, QUEUE)]);
        // Some bytes have left, but fewer than zenoh may have had in its queue.
        bench.sample(750, 30, &[(ZID, 1000)]);
        bench.sample(1000, 40, &[(ZID, QUEUE + 1000)]);
        bench.sample(2250, 50, &[]);
        bench.sample(2300, 50, &[]);
        assert_eq!(bench.possibly_lost(), 50);
        let mut bench = Bench::new();
        bench.sample(0, 0, &[(ZID, 0)]);
        bench.sample(250, 10, &[(ZID, 0)]);
        bench.sample(500, 20, &[(ZID, 0)]);
        bench.sample(750, 30, &[(ZID, 2 * QUEUE)]);
        // As many bytes have left as could be in the queue when ten messages were put and the buffer was empty.
        bench.sample(1000, 40, &[(ZID, QUEUE)]);
        bench.sample(1250, 50, &[(ZID, 3 * QUEUE)]);
        // As many bytes again: those in the buffer and the queue when thirty messages were put.
        bench.sample(1500, 60, &[(ZID, QUEUE)]);
        bench.sample(2750, 70, &[]);
        bench.sample(2800, 70, &[]);
        assert_eq!(bench.possibly_lost(), 40);
    }

    #[test]
    fn a_message_that_two_subscribers_may_have_lost_counts_once() {
        let mut bench = Bench::new();
        let other = TOKEN.replace(ZID, "b2");
        bench.graph.appeared(&other, Via::Main);
        bench.sample(0, 10, &[(ZID, 0), ("b2", 0)]);
        bench.sample(250, 10, &[(ZID, 0), ("b2", 0)]);
        bench.sample(500, 20, &[(ZID, 500), ("b2", 500)]);
        bench.sample(2000, 30, &[(ZID, 900), ("b2", 900)]);
        bench.sample(2250, 40, &[("b2", 1300)]);
        bench.sample(2300, 40, &[("b2", 1300)]);
        assert_eq!(bench.possibly_lost(), 30);
        bench.sample(2550, 60, &[]);
        bench.sample(2600, 60, &[]);
        assert_eq!(bench.possibly_lost(), 50);
        assert_eq!(bench.events.try_iter().count(), 2);
    }
}
