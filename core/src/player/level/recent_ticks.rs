//! [`RecentTicks`]: the last values of a followed clock, and its factor as measured from them.

use std::collections::VecDeque;

use crate::time::{Duration, Ros, Steady, Time};

/// These many values are kept at most, and those of this time. The last two are always kept.
const KEPT: usize = 32;
const KEPT_FOR: Duration = Duration::from_secs(1);
/// A clock whose value does not change for longer than this, and than three intervals, stands.
const STANDS_AFTER: Duration = Duration::from_millis(500);

/// Values of a clock and when they arrived, since its last jump.
#[derive(Debug, Default)]
pub(super) struct RecentTicks {
    ticks: VecDeque<(Time<Ros>, Time<Steady>)>,
    /// When a value arrived that differed from the one before.
    moved: Option<Time<Steady>>,
}

impl RecentTicks {
    pub(super) fn add(&mut self, time: Time<Ros>, at: Time<Steady>) {
        if self.last() != Some(time) {
            self.moved = Some(at);
        }
        self.ticks.push_back((time, at));
        let is_old = |(_, since): &(_, Time<Steady>)| at.saturating_since(*since) > KEPT_FOR;
        while self.ticks.len() > KEPT
            || (self.ticks.len() > 2 && self.ticks.front().is_some_and(is_old))
        {
            self.ticks.pop_front();
        }
    }

    /// The last value.
    fn last(&self) -> Option<Time<Ros>> {
        self.ticks.back().map(|(time, _)| *time)
    }

    /// The mean interval between two values.
    pub(super) fn interval(&self) -> Option<Duration> {
        let ((_, first), (_, last)) = (self.ticks.front()?, self.ticks.back()?);
        let steps = i64::try_from(self.ticks.len()).ok()? - 1;
        last.saturating_since(*first).checked_div(steps)
    }

    /// Seconds of clock time per second of wall time.
    pub(super) fn factor(&self) -> Option<f64> {
        let ((from, first), (to, last)) = (self.ticks.front()?, self.ticks.back()?);
        let wall = last.saturating_since(*first).as_secs_f64();
        (wall > 0.0).then(|| to.saturating_since(*from).as_secs_f64() / wall)
    }

    /// Whether the clock is seen to move: the last two values differ, and there are more.
    pub(super) fn is_moving(&self) -> bool {
        let mut newest = self.ticks.iter().rev().map(|(time, _)| *time);
        self.ticks.len() > 2 && newest.next() != newest.next()
    }

    /// Whether the value has not changed for some time.
    pub(super) fn stands(&self, now: Time<Steady>) -> bool {
        let interval = self.interval().unwrap_or(Duration::ZERO);
        let after = STANDS_AFTER.max(interval.saturating_mul(3));
        let is_long = |moved| now.saturating_since(moved) > after;
        self.ticks.len() > 1 && self.moved.is_some_and(is_long)
    }
}
