//! [`Timing`]: what the times of all messages tell of each topic. [`RecordedRate`]: the rate that is shown for it.
//!
//! The median of the times between messages is a usual time only if the messages do not come in bursts: then it is
//! that within a burst, or that between two of them. It is compared with the mean from the first to the last message.
//! Holes make the mean longer, but not more than twice as long: a topic that is silent for longer has no holes
//! (`hole_finder.rs`).

use std::fmt;

use super::hole::Hole;
use crate::bag::index::topic::Topic;
use crate::bag::message::TopicId;
use crate::time::{Duration, Ros, Time, TimeRange};

/// The times between messages with fewer spans than these have no median that means anything.
const FEWEST: usize = 2;
/// Fewer messages than these have no mean rate.
const FEWEST_OF_MEAN: u64 = 3;
/// Messages that all come within less than this are one burst.
const SHORTEST: Duration = Duration::from_secs(1);

/// What the times of all messages tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timing {
    /// The times in which topics with a steady rate have no messages, in the order of their starts; `None` if more than
    /// two million spans between messages are longer than 0.1 s.
    pub holes: Option<Vec<Hole>>,
    /// The median of the times between successive messages of each topic, by [`TopicId`]; `None` with fewer than three
    /// messages, or if they come in bursts: if the mean from the first to the last message is more than twice the
    /// median, or less than two thirds of it, or if all come within less than 1 s. Holes hardly change it.
    pub periods: Vec<Option<Duration>>,
}

/// The rate of a topic in a recording, in messages per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RecordedRate {
    /// Messages per second.
    pub hz: f64,
    /// Whether it is the mean over the whole recording, because no usual time between messages is known.
    pub is_mean: bool,
}

impl RecordedRate {
    /// The rate by the usual time between messages, as [`Timing::periods`] has it, or else the mean over the range of
    /// the recording. `None` for latched topics, whose messages stay valid until the next one, and for fewer than three
    /// messages.
    pub fn new(
        topic: &Topic,
        messages: Option<u64>,
        period: Option<Duration>,
        range: Option<TimeRange>,
    ) -> Option<Self> {
        if topic.is_latched {
            return None;
        }
        if let Some(period) = period.filter(|period| *period > Duration::ZERO) {
            return Some(Self {
                hz: period.as_secs_f64().recip(),
                is_mean: false,
            });
        }
        let seconds = range?.duration().as_secs_f64();
        let messages = messages.filter(|messages| *messages >= FEWEST_OF_MEAN && seconds > 0.0)?;
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let hz = (messages - 1) as f64 / seconds;
        Some(Self { hz, is_mean: true })
    }
}

impl fmt::Display for RecordedRate {
    /// In at most five columns: two decimals, fewer from 10 on (`9.99`, `30.0`, `200`), and thousands, millions and so
    /// on of numbers that are too long (`123k`), at most `999G`. A mean has a `~` before it: `~0.33`, `~12k`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hz, is_mean } = *self;
        let (sign, longest) = if is_mean {
            ("~", 9_999.5)
        } else {
            ("", 99_999.5)
        };
        let decimals = if hz >= 99.95 {
            0
        } else if hz >= 9.995 {
            1
        } else {
            2
        };
        if hz < longest {
            return write!(f, "{sign}{hz:.decimals$}");
        }
        let units = [("k", 1e3), ("M", 1e6)];
        let unit = units.into_iter().find(|(_, size)| hz < 999.5 * size);
        let (unit, size) = unit.unwrap_or(("G", 1e9));
        write!(f, "{sign}{:.0}{unit}", (hz / size).min(999.0))
    }
}

/// The usual time between messages of each of so many topics; the messages are in the order of time.
pub(super) fn periods(messages: &[(Time<Ros>, TopicId)], topics: usize) -> Vec<Option<Duration>> {
    let mut spans: Vec<(Option<Time<Ros>>, Vec<Duration>)> = vec![(None, Vec::new()); topics];
    for (time, topic) in messages {
        if let Some((last, spans)) = spans.get_mut(topic.index())
            && let Some(last) = last.replace(*time)
        {
            spans.push(time.saturating_since(last));
        }
    }
    spans.into_iter().map(|(_, spans)| period(spans)).collect()
}

/// The median of the times between messages, if the messages do not come in bursts.
fn period(mut spans: Vec<Duration>) -> Option<Duration> {
    let count = i64::try_from(spans.len()).ok()?;
    if spans.len() < FEWEST {
        return None;
    }
    let add = |sum: Duration, span: &Duration| sum.saturating_add(*span);
    let all = spans.iter().fold(Duration::ZERO, add);
    let middle = spans.len() / 2;
    let median = *spans.select_nth_unstable(middle).1;
    let mean = Duration::from_nanos(all.as_nanos() / count);
    let is_steady = median > Duration::ZERO
        && mean <= median.saturating_mul(2)
        && median.saturating_mul(2) <= mean.saturating_mul(3);
    (is_steady && all >= SHORTEST).then_some(median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(topic: u32, millis: impl IntoIterator<Item = i64>) -> Vec<(Time<Ros>, TopicId)> {
        let message = |at| (Time::from_millis(at), TopicId(topic));
        millis.into_iter().map(message).collect()
    }

    #[test]
    fn the_usual_time_is_the_median_unless_messages_come_in_bursts() {
        let cases: Vec<(Vec<i64>, Option<i64>)> = vec![
            // Every 100 ms; with a hole of less than half of the time, and of more.
            ((0..=20).map(|at| at * 100).collect(), Some(100)),
            (
                (0..=20)
                    .map(|at| at * 100 + if at > 10 { 1_500 } else { 0 })
                    .collect(),
                Some(100),
            ),
            (
                (0..=20)
                    .map(|at| at * 100 + if at > 10 { 9_000 } else { 0 })
                    .collect(),
                None,
            ),
            // Three messages, two messages a burst, and in pairs of nearly the same length.
            ((0..9).map(|at| at / 3 * 1_000 + at % 3).collect(), None),
            ((0..21).map(|at| at / 2 * 100 + at % 2).collect(), None),
            (
                (0..21).map(|at| at / 2 * 100 + at % 2 * 40).collect(),
                Some(60),
            ),
            // One span; all at once; all within less than a second.
            (vec![0, 5_000], None),
            (vec![7; 4], None),
            ((0..9).map(|at| at * 100).collect(), None),
        ];
        let topics = u32::try_from(cases.len()).unwrap();
        let each = (0..topics).zip(&cases);
        let mut messages: Vec<_> = each
            .flat_map(|(id, (times, _))| of(id, times.clone()))
            .collect();
        // A topic that is not known.
        messages.extend(of(topics, [0, 1, 2]));
        messages.sort_by_key(|(time, _)| *time);
        let expected = cases
            .iter()
            .map(|(_, period)| period.map(Duration::from_millis));
        assert_eq!(
            periods(&messages, cases.len()),
            expected.collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_mean_is_marked_and_a_rate_has_at_most_five_columns() {
        for (hz, is_mean, text) in [
            (0.0, false, "0.00"),
            (9.99, false, "9.99"),
            (29.97, false, "30.0"),
            (1234.5, false, "1234"),
            (0.3, true, "~0.30"),
            (99.94, true, "~99.9"),
            (1234.5, true, "~1234"),
            (12_345.0, true, "~12k"),
            (12_345.0, false, "12345"),
            (123_456.0, false, "123k"),
            (386_861_000.0, true, "~387M"),
            (1e9, true, "~1G"),
        ] {
            assert_eq!(RecordedRate { hz, is_mean }.to_string(), text);
        }
    }

    #[test]
    fn without_a_usual_time_the_rate_is_the_mean_over_the_recording() {
        let topic = |is_latched| Topic {
            name: "/a".to_owned(),
            schema: None,
            encoding: "cdr".to_owned(),
            offered_qos: Vec::new(),
            type_hash: None,
            ros1_md5: None,
            is_latched,
            message_count: None,
        };
        let ten = TimeRange::between(Time::from_secs(0), Time::from_secs(10));
        let usual = Some(Duration::from_millis(100));
        let rate = |hz, is_mean| Some(RecordedRate { hz, is_mean });
        for (is_latched, messages, period, range, expected) in [
            (false, Some(101), usual, Some(ten), rate(10.0, false)),
            (false, None, usual, None, rate(10.0, false)),
            (false, Some(31), None, Some(ten), rate(3.0, true)),
            (false, Some(2), None, Some(ten), None),
            (false, None, None, Some(ten), None),
            (false, Some(31), None, None, None),
            (true, Some(101), usual, Some(ten), None),
        ] {
            let found = RecordedRate::new(&topic(is_latched), messages, period, range);
            assert_eq!(found, expected, "{messages:?} {period:?}");
        }
    }
}
