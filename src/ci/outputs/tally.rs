//! [`Tally`]: how many messages of each topic were received, and what their sequence numbers tell of the others.

use std::collections::HashMap;
use std::sync::Arc;

use super::arrival::Arrival;
use super::sequence::Sequence;
use crate::ci::report::{OutputPublisher, OutputTopic};
use crate::ros::{PublishedTopic, Publisher};

/// How many publishers are followed: of the others, no losses are counted.
const MOST: usize = 1 << 16;
/// How many publishers of a topic are named.
const MOST_NAMED: usize = 100;

/// The messages received so far, by topic. Losses after the last message of a publisher are not known: nothing tells
/// how many it has published.
#[derive(Debug)]
pub struct Tally {
    topics: HashMap<usize, (Arc<PublishedTopic>, Counts)>,
    publishers: HashMap<(usize, [u8; 16]), (Publisher, u64, Sequence)>,
    are_publishers_new: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    messages: u64,
    bytes: u64,
}

impl Tally {
    /// `are_publishers_new`: whether messages before the first received one of a publisher are counted as earlier.
    pub fn new(are_publishers_new: bool) -> Self {
        Self {
            topics: HashMap::new(),
            publishers: HashMap::new(),
            are_publishers_new,
        }
    }

    /// Counts a message.
    pub fn add(&mut self, arrival: &Arrival) {
        let number = arrival.topic.number;
        let (_, counts) = self
            .topics
            .entry(number)
            .or_insert_with(|| (Arc::clone(&arrival.topic), Counts::default()));
        counts.messages += 1;
        counts.bytes += arrival.payload.len() as u64;
        let sequence = arrival.sequence.and_then(|it| u64::try_from(it).ok());
        let Some(sequence) = sequence else {
            return;
        };
        let key = (number, arrival.publisher.gid);
        if let Some((_, messages, known)) = self.publishers.get_mut(&key) {
            *messages += 1;
            known.add(sequence);
        } else if self.publishers.len() < MOST {
            let first = (arrival.publisher.clone(), 1, Sequence::new(sequence));
            self.publishers.insert(key, first);
        }
    }

    /// The topics from which something was received, by name and type.
    pub fn topics(&self) -> Vec<OutputTopic> {
        let mut topics: Vec<OutputTopic> = self.topics.values().map(|it| self.topic(it)).collect();
        topics.sort_unstable_by(|a, b| (&a.topic, &a.type_name).cmp(&(&b.topic, &b.type_name)));
        topics
    }

    fn topic(&self, (topic, counts): &(Arc<PublishedTopic>, Counts)) -> OutputTopic {
        let of_topic = self.publishers.iter();
        let of_topic = of_topic.filter(|((number, _), _)| *number == topic.number);
        let publisher = |(_, (publisher, messages, known)): (_, &(Publisher, u64, Sequence))| {
            OutputPublisher {
                node: publisher.node.to_string(),
                messages: *messages,
                lost: known.lost(),
                // One that was there may have published before the run.
                earlier: if publisher.was_there || !self.are_publishers_new {
                    0
                } else {
                    known.earlier()
                },
                repeated: known.repeated(),
                reordered: known.reordered(),
            }
        };
        let mut publishers: Vec<OutputPublisher> = of_topic.map(publisher).collect();
        let sum = |count: fn(&OutputPublisher) -> u64| {
            publishers.iter().map(count).fold(0, u64::saturating_add)
        };
        let all = OutputTopic {
            topic: topic.name.clone(),
            type_name: topic.type_name.clone(),
            messages: counts.messages,
            bytes: counts.bytes,
            lost: sum(|it| it.lost),
            earlier: sum(|it| it.earlier),
            repeated: sum(|it| it.repeated),
            reordered: sum(|it| it.reordered),
            ..OutputTopic::default()
        };
        // Those of which there is something to say are named first.
        publishers.sort_by_cached_key(|it| (it.is_regular(), it.node.clone(), it.messages));
        publishers.truncate(MOST_NAMED);
        OutputTopic { publishers, ..all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::Qos;
    use crate::time::Time;

    /// By publisher and number.
    fn received(numbers: &[(u8, Option<i64>)]) -> OutputTopic {
        let topic = Arc::new(PublishedTopic {
            number: 3,
            name: "/a".to_owned(),
            type_name: "std_msgs/msg/String".to_owned(),
            type_hash: None,
            qos: Qos::default(),
        });
        let mut tally = Tally::new(true);
        for (publisher, sequence) in numbers {
            tally.add(&Arrival {
                topic: Arc::clone(&topic),
                position: Time::ZERO,
                publisher: Publisher {
                    node: format!("/n{publisher}").into(),
                    gid: [*publisher; 16],
                    was_there: *publisher == 9,
                },
                sequence: *sequence,
                source_time: None,
                payload: vec![0; 8].into(),
            });
        }
        let mut topics = tally.topics();
        assert_eq!(topics.len(), 1);
        topics.remove(0)
    }

    /// Lost, earlier, repeated, reordered.
    fn counts(topic: &OutputTopic) -> [u64; 4] {
        [topic.lost, topic.earlier, topic.repeated, topic.reordered]
    }

    #[test]
    fn what_the_numbers_of_each_publisher_tell_is_counted_and_named() {
        for (numbers, expected) in [
            (vec![(0, Some(1)), (0, Some(4)), (0, Some(6))], [3, 0, 0, 0]),
            (
                vec![(0, Some(1)), (1, Some(2)), (0, Some(2)), (1, Some(4))],
                [1, 1, 0, 0],
            ),
            // What a publisher published before it was known cannot be counted.
            (vec![(9, Some(7)), (9, Some(8)), (9, Some(9))], [0; 4]),
            (
                vec![(0, Some(1)), (0, Some(2)), (0, Some(2)), (0, Some(4))],
                [1, 0, 1, 0],
            ),
            (vec![(0, Some(1)), (0, Some(3)), (0, Some(2))], [0, 0, 0, 1]),
            (vec![(0, None), (0, None), (0, Some(-5))], [0; 4]),
        ] {
            let topic = received(&numbers);
            assert_eq!(counts(&topic), expected, "{numbers:?}");
            let count = numbers.len() as u64;
            assert_eq!((topic.messages, topic.bytes), (count, 8 * count));
        }
        let topic = received(&[(0, Some(1)), (1, Some(3)), (1, Some(5)), (1, Some(5))]);
        assert_eq!(
            topic.irregularities(),
            [
                "/a by /n1: at least 1 message lost, 1 received twice",
                "/a by /n1: 2 messages were published before the first one that was received"
            ]
        );
        let named: Vec<&str> = topic.publishers.iter().map(|it| it.node.as_str()).collect();
        assert_eq!(named, ["/n1", "/n0"]);
    }
}
