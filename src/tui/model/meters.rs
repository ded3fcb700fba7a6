//! [`Meters`]: rates per second, computed from samples of counts.
//!
//! Everything is measured over the last seconds of wall time, so that figures change slowly enough to be read.

use std::collections::VecDeque;

use crate::player::TopicCounts;
use crate::time::{Duration, Ros, Steady, Time};

/// The interval over which messages are counted: long enough for slow topics.
const COUNT_INTERVAL: Duration = Duration::from_secs(3);
/// The interval over which the playback rate is measured.
const RATE_INTERVAL: Duration = Duration::from_millis(1500);
/// The shortest interval between samples; others are not kept.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(90);
/// How long a topic counts as active after a message.
const ACTIVE_FOR: Duration = Duration::from_millis(300);

#[derive(Clone, Debug)]
struct CountSample {
    at: Time<Steady>,
    generation: u64,
    position: Time<Ros>,
    counts: Vec<TopicCounts>,
}

/// The rates of one topic.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct TopicRate {
    /// Messages per second.
    pub hz: f64,
    /// Payload bytes per second.
    pub bytes: f64,
    /// Whether a message was sent recently.
    pub is_active: bool,
}

/// The recent samples, and what was measured in the recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meters {
    samples: VecDeque<CountSample>,
    /// The usual time between messages of each topic in the recording, where it is known.
    pub(crate) recorded: Vec<Option<Duration>>,
}

impl Meters {
    /// Takes a sample, unless the last one is too recent.
    pub(crate) fn sample(
        &mut self,
        at: Time<Steady>,
        generation: u64,
        position: Time<Ros>,
        counts: &[TopicCounts],
    ) {
        let since = |sample: &CountSample| at.saturating_since(sample.at);
        if self
            .samples
            .back()
            .is_some_and(|last| since(last) < SAMPLE_INTERVAL)
        {
            return;
        }
        while self.samples.len() > 1 && since(&self.samples[1]) > COUNT_INTERVAL {
            self.samples.pop_front();
        }
        self.samples.push_back(CountSample {
            at,
            generation,
            position,
            counts: counts.to_vec(),
        });
    }

    /// Discards all samples, as playback was paused.
    pub(crate) fn clear(&mut self) {
        self.samples.clear();
    }

    /// Log time per wall time since the last jump; negative backwards. `None` while there are too few samples.
    pub(crate) fn playback_rate(&self) -> Option<f64> {
        let last = self.samples.back()?;
        let is_of_now = |sample: &&CountSample| {
            sample.generation == last.generation
                && last.at.saturating_since(sample.at) <= RATE_INTERVAL
        };
        let first = self.samples.iter().find(is_of_now)?;
        let wall = last.at.saturating_since(first.at);
        (wall >= Duration::from_millis(400)).then(|| {
            last.position.saturating_since(first.position).as_secs_f64() / wall.as_secs_f64()
        })
    }

    /// The rates of a topic; `None` while there are too few samples.
    pub(crate) fn topic_rate(&self, topic: usize) -> Option<TopicRate> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let (before, after) = (first.counts.get(topic)?, last.counts.get(topic)?);
        let wall = last.at.saturating_since(first.at).as_secs_f64();
        let recent = self
            .samples
            .iter()
            .rfind(|sample| last.at.saturating_since(sample.at) >= ACTIVE_FOR)
            .unwrap_or(first);
        let is_active = recent
            .counts
            .get(topic)
            .is_some_and(|was| was.sent < after.sent);
        (wall > 0.3).then(|| TopicRate {
            hz: as_f64(after.sent.saturating_sub(before.sent)) / wall,
            bytes: as_f64(after.bytes.saturating_sub(before.bytes)) / wall,
            is_active,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(sent: u64) -> [TopicCounts; 1] {
        [TopicCounts {
            sent,
            bytes: sent * 100,
            ..TopicCounts::default()
        }]
    }

    fn at(millis: i64) -> Time<Steady> {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn rates_are_measured_over_the_last_seconds() {
        let mut meters = Meters::default();
        assert_eq!((meters.playback_rate(), meters.topic_rate(0)), (None, None));
        // Half a second at twice the rate, then two seconds at half of it.
        for step in 0..=40 {
            let wall = step * 100;
            let log = if wall < 500 {
                wall * 2
            } else {
                1000 + (wall - 500) / 2
            };
            let sent = u64::try_from(log / 10).unwrap();
            meters.sample(
                at(wall),
                1,
                Time::from_nanos(log * 1_000_000),
                &counts(sent),
            );
        }
        assert!((meters.playback_rate().unwrap() - 0.5).abs() < 1e-9);
        let rate = meters.topic_rate(0).unwrap();
        assert!((rate.hz - 50.0).abs() < 1.0, "{rate:?}");
        assert!((rate.bytes - 5000.0).abs() < 100.0, "{rate:?}");
        assert!(rate.is_active);
        assert_eq!(meters.topic_rate(1), None);
    }

    #[test]
    fn a_jump_restarts_the_rate_and_a_silent_topic_is_not_active() {
        let mut meters = Meters::default();
        for step in 0..10 {
            let generation = u64::from(step >= 5);
            let position =
                Time::from_nanos(step * 100_000_000 + i64::from(step >= 5) * 1_000_000_000_000);
            meters.sample(at(step * 100), generation, position, &counts(7));
        }
        assert!((meters.playback_rate().unwrap() - 1.0).abs() < 1e-9);
        assert!(!meters.topic_rate(0).unwrap().is_active);
    }
}
