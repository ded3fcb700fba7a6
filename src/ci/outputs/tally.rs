//! [`Tally`]: how many messages of each topic were received, and how many were lost on the way here.

use std::collections::HashMap;
use std::sync::Arc;

use super::arrival::Arrival;
use crate::ci::report::OutputTopic;
use crate::ros::{PublishedTopic, Publisher};

/// How many publishers are followed: of the others, no losses are counted.
const MOST: usize = 1 << 16;

/// The messages received so far, by topic.
#[derive(Debug, Default)]
pub struct Tally {
    topics: HashMap<usize, (Arc<PublishedTopic>, Counts)>,
    last: HashMap<(usize, Publisher), Sequence>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    messages: u64,
    bytes: u64,
    lost: u64,
}

/// The sequence numbers of a publisher.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    highest: i64,
    /// How many below it have not come.
    missing: u64,
}

impl Tally {
    /// Counts a message.
    pub fn add(&mut self, arrival: &Arrival) {
        let number = arrival.topic.number;
        let (_, counts) = self
            .topics
            .entry(number)
            .or_insert_with(|| (Arc::clone(&arrival.topic), Counts::default()));
        counts.messages += 1;
        counts.bytes += arrival.payload.len() as u64;
        let is_known = |_: &i64| !arrival.publisher.node.is_empty();
        let Some(sequence) = arrival.sequence.filter(is_known) else {
            return;
        };
        let publisher = (number, arrival.publisher.clone());
        if let Some(known) = self.last.get_mut(&publisher) {
            let before = known.missing;
            known.add(sequence);
            let others = counts.lost.saturating_sub(before);
            counts.lost = others.saturating_add(known.missing);
        } else if self.last.len() < MOST {
            let first = Sequence {
                highest: sequence,
                missing: 0,
            };
            self.last.insert(publisher, first);
        }
    }

    /// The topics from which something was received, by name and type.
    pub fn topics(&self) -> Vec<OutputTopic> {
        let topic = |(topic, counts): &(Arc<PublishedTopic>, Counts)| OutputTopic {
            topic: topic.name.clone(),
            type_name: topic.type_name.clone(),
            messages: counts.messages,
            bytes: counts.bytes,
            lost: counts.lost,
            ..OutputTopic::default()
        };
        let mut topics: Vec<OutputTopic> = self.topics.values().map(topic).collect();
        topics.sort_by(|a, b| (&a.topic, &a.type_name).cmp(&(&b.topic, &b.type_name)));
        topics
    }
}

impl Sequence {
    /// A number that comes late fills a gap. The first one that is received says nothing of those before it: they may have been
    /// published before anybody listened.
    fn add(&mut self, sequence: i64) {
        if sequence <= self.highest {
            self.missing = self.missing.saturating_sub(1);
            return;
        }
        self.missing = self
            .missing
            .saturating_add(sequence.abs_diff(self.highest) - 1);
        self.highest = sequence;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::Qos;
    use crate::time::Time;

    fn received(numbers: &[(u32, Option<i64>)]) -> OutputTopic {
        let topic = Arc::new(PublishedTopic {
            number: 3,
            name: "/a".to_owned(),
            type_name: "std_msgs/msg/String".to_owned(),
            type_hash: None,
            qos: Qos::default(),
        });
        let mut tally = Tally::default();
        for (rank, sequence) in numbers {
            tally.add(&Arrival {
                topic: Arc::clone(&topic),
                position: Time::ZERO,
                publisher: Publisher {
                    node: "/n".into(),
                    rank: *rank,
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

    #[test]
    fn gaps_in_the_numbers_of_each_publisher_are_losses() {
        for (numbers, lost) in [
            (vec![(0, Some(7)), (0, Some(8)), (0, Some(9))], 0),
            (vec![(0, Some(1)), (0, Some(4)), (0, Some(6))], 3),
            (
                vec![(0, Some(1)), (1, Some(50)), (0, Some(2)), (1, Some(52))],
                1,
            ),
            (vec![(0, Some(1)), (0, Some(3)), (0, Some(2))], 0),
            (vec![(0, None), (0, None)], 0),
        ] {
            let topic = received(&numbers);
            assert_eq!(topic.lost, lost, "{numbers:?}");
            let count = numbers.len() as u64;
            assert_eq!((topic.messages, topic.bytes), (count, 8 * count));
        }
        let hostile = [(0, Some(i64::MIN)), (0, Some(i64::MAX)), (0, Some(0))];
        assert_eq!(received(&hostile).lost, u64::MAX - 2);
    }
}
