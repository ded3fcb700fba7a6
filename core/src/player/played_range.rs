//! [`PlayedRange`]: the range that is played, what happens at its exit edge, and the loop within it.

use crate::time::{AtEnd, Ros, Time, TimeRange};

/// What is played of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlayedRange {
    /// The range; both ends belong to it.
    pub range: TimeRange,
    /// What happens at its exit edge.
    pub at_end: AtEnd,
    /// The A–B loop, anywhere in the recording: while there is one, it alone is played, again and again.
    pub ab_loop: Option<TimeRange>,
}

impl PlayedRange {
    /// A range without an A–B loop in it.
    pub const fn new(range: TimeRange, at_end: AtEnd) -> Self {
        Self {
            range,
            at_end,
            ab_loop: None,
        }
    }

    /// The range in which playback is, and what happens at its exit edge: of the A–B loop, if there is one.
    pub fn current(&self) -> (TimeRange, AtEnd) {
        self.ab_loop
            .map_or((self.range, self.at_end), |ab| (ab, AtEnd::Loop))
    }

    /// What is played after a jump to `to`: outside of an A–B loop, that loop has ended; outside of the range, this has
    /// been extended to that edge of `recording`.
    #[must_use]
    pub fn reaching(self, to: Time<Ros>, recording: TimeRange) -> Self {
        if self.ab_loop.is_some_and(|ab| ab.contains(to)) {
            self
        } else {
            self.without_loop(to, recording)
        }
    }

    /// What is played from `here` on once an A–B loop has ended. If `here` is outside of the range, this has been
    /// extended to that edge of `recording`.
    #[must_use]
    pub fn without_loop(self, here: Time<Ros>, recording: TimeRange) -> Self {
        let (start, stop) = (self.range.start(), self.range.stop());
        let range = if here < start {
            TimeRange::between(recording.start(), stop)
        } else if here > stop {
            TimeRange::between(start, recording.stop())
        } else {
            self.range
        };
        Self::new(range, self.at_end)
    }
}
