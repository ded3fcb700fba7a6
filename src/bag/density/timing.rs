//! [`Timing`]: what the times of all messages tell of each topic.

use super::hole::Hole;
use crate::bag::message::TopicId;
use crate::time::{Duration, Ros, Time};

/// The times between messages with fewer spans than these have no median that means anything.
const FEWEST: usize = 2;

/// What the times of all messages tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timing {
    /// The times in which topics with a steady rate have no messages, in the order of their starts; `None` if more than
    /// two million spans between messages are longer than 0.1 s.
    pub holes: Option<Vec<Hole>>,
    /// The median of the times between successive messages of each topic, by [`TopicId`]; `None` with fewer than three
    /// messages, or if it is zero. Times in which a topic is silent, of whatever length, hardly change it.
    pub periods: Vec<Option<Duration>>,
}

/// The median time between messages of each of so many topics; the messages are in the order of time.
pub(super) fn periods(messages: &[(Time<Ros>, TopicId)], topics: usize) -> Vec<Option<Duration>> {
    let mut spans: Vec<(Option<Time<Ros>>, Vec<Duration>)> = vec![(None, Vec::new()); topics];
    for (time, topic) in messages {
        if let Some((last, spans)) = spans.get_mut(topic.index())
            && let Some(last) = last.replace(*time)
        {
            spans.push(time.saturating_since(last));
        }
    }
    let median = |mut spans: Vec<Duration>| {
        let middle = spans.len() / 2;
        let known = spans.len() >= FEWEST;
        let median = known.then(|| *spans.select_nth_unstable(middle).1);
        median.filter(|median| *median > Duration::ZERO)
    };
    spans.into_iter().map(|(_, spans)| median(spans)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_that_of_the_steady_part() {
        let of = |topic, millis: &[i64]| {
            let message = |at: &i64| (Time::from_millis(*at), TopicId(topic));
            millis.iter().map(message).collect::<Vec<_>>()
        };
        // 100 ms with a gap of 10 s; bursts of two; one span; all at once; a topic that is not known.
        let mut messages = [
            of(0, &[0, 100, 200, 300, 10_300, 10_400]),
            of(1, &[0, 1, 100, 101, 200, 201, 300]),
            of(2, &[0, 500]),
            of(3, &[7, 7, 7, 7]),
            of(9, &[0, 1, 2]),
        ]
        .concat();
        messages.sort_by_key(|(time, _)| *time);
        let millis = |millis| Some(Duration::from_millis(millis));
        let expected = [millis(100), millis(99), None, None, None];
        assert_eq!(periods(&messages, 5), expected);
    }
}
