//! [`Spread`]: pauses between the messages of a burst that a subscriber's queue cannot hold.

use std::collections::BTreeMap;

use crate::ci::gates::Ledger;
use crate::time::{Duration, Steady, Time};

/// The pause before the first answer has told how long one takes.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Pauses playback after each message of a topic that would overflow a queue.
#[derive(Debug, Default)]
pub(super) struct Spread {
    /// How many messages of a topic a queue holds, and how many went out since the last question.
    topics: BTreeMap<String, (u64, u64)>,
    until: Option<Time<Steady>>,
}

impl Spread {
    pub(super) fn new(depths: BTreeMap<String, u64>) -> Self {
        let topics = depths.into_iter().map(|(topic, depth)| (topic, (depth, 0)));
        Self {
            topics: topics.collect(),
            until: None,
        }
    }

    /// A message is sent. As many as the queue holds go out at once; after each further one there is a pause for as
    /// long as an answer takes.
    pub(super) fn message(&mut self, topic: &str, ledger: &Ledger, now: Time<Steady>) {
        if let Some((depth, sent)) = self.topics.get_mut(topic) {
            *sent += 1;
            if *sent >= *depth {
                self.until = Some(now.saturating_add(pause(ledger)));
            }
        }
    }

    /// Playback waits for an answer: the queues are empty after it.
    pub(super) fn waits(&mut self) {
        for (_, sent) in self.topics.values_mut() {
            *sent = 0;
        }
    }

    /// When the pause is over; `None`: there is none.
    pub(super) fn until(&self) -> Option<Time<Steady>> {
        self.until
    }

    /// Ends a pause whose time has come.
    pub(super) fn look(&mut self, now: Time<Steady>) {
        self.until = self.until.filter(|until| now < *until);
    }
}

/// How long the slowest gate usually waits for an answer.
fn pause(ledger: &Ledger) -> Duration {
    let answered = ledger.tallies().filter(|tally| tally.latency.count() > 0);
    let longest = answered.map(|tally| tally.latency.quantile(0.5)).max();
    longest.unwrap_or(FIRST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::gates::{Limits, Question};

    fn at(millis: i64) -> Time<Steady> {
        Time::from_millis(millis)
    }

    #[test]
    fn as_many_as_a_queue_holds_go_out_at_once_and_then_one_for_each_answer() {
        let limits = Limits {
            in_flight: 100,
            within: Duration::from_secs(5),
        };
        let mut ledger = Ledger::new(vec!["/imu -> /answer".parse().unwrap()], limits);
        let mut spread = Spread::new(BTreeMap::from([("/imu".to_owned(), 2)]));
        spread.message("/imu", &ledger, at(0));
        spread.message("/other", &ledger, at(0));
        assert_eq!(spread.until(), None);
        spread.message("/imu", &ledger, at(0));
        assert_eq!(spread.until(), Some(at(10)), "nothing is known of answers");
        spread.look(at(9));
        assert_eq!(spread.until(), Some(at(10)));
        spread.look(at(10));
        assert_eq!(spread.until(), None);
        let log_time = Time::from_millis(0);
        let question = Question {
            shown: Time::ZERO,
            log_time,
            stamp: None,
            asked_at: at(10),
        };
        ledger.asked("/imu", question);
        ledger.answered("/answer", None, at(50));
        spread.message("/imu", &ledger, at(50));
        let until = spread.until().unwrap().as_nanos();
        assert!((90_000_000..90_100_000).contains(&until), "{until}");
        spread.look(at(91));
        spread.waits();
        spread.message("/imu", &ledger, at(91));
        assert_eq!(spread.until(), None, "the queue is empty");
    }
}
