//! [`Position`]: the segment of playback, and whether the output knows it.

use super::Machine;
use crate::output::Output;
use crate::time::{AtEnd, Duration, Ros, Segment, Steady, Time, TimeRange};

#[derive(Debug)]
pub(super) struct Position {
    segment: Segment,
    /// The segment that the output was given last.
    told: Option<Segment>,
    /// What is played once a loop within it has ended; `None` while there is no such loop.
    around_loop: Option<(TimeRange, AtEnd)>,
}

impl Position {
    pub(super) fn new(segment: Segment) -> Self {
        Self {
            segment,
            told: None,
            around_loop: None,
        }
    }

    pub(super) fn segment(&self) -> Segment {
        self.segment
    }

    /// Sets the next segment; returns how many jumps lie between the two.
    pub(super) fn set(&mut self, segment: Segment) -> u64 {
        let before = std::mem::replace(&mut self.segment, segment);
        segment.generation() - before.generation()
    }

    /// What is played apart from a loop within it.
    fn around_loop(&self) -> (TimeRange, AtEnd) {
        let all = (self.segment.range(), self.segment.at_end());
        self.around_loop.unwrap_or(all)
    }

    /// Notes that `range` is to be played with `at_end`. If it loops, it is a loop within what was played
    /// before, unless it is all of that or more.
    pub(super) fn begin_loop(&mut self, range: TimeRange, at_end: AtEnd) {
        let around = self.around_loop();
        let is_all = range.contains(around.0.start()) && range.contains(around.0.stop());
        let is_loop = at_end == AtEnd::Loop && !is_all;
        self.around_loop = is_loop.then_some(around);
    }

    /// There is no loop within what is played.
    pub(super) fn forget_loop(&mut self) {
        self.around_loop = None;
    }

    /// What is played if playback jumps to `to`: outside of a loop, that loop ends.
    pub(super) fn played_from(&mut self, to: Time<Ros>) -> (TimeRange, AtEnd) {
        if self.segment.range().contains(to) {
            return (self.segment.range(), self.segment.at_end());
        }
        let around = self.around_loop();
        self.around_loop = None;
        around
    }

    /// Playback could not move for `by`.
    pub(super) fn delay(&mut self, by: Duration) {
        self.segment = self.segment.delayed(by);
    }

    /// Gives the segment to the output if it has changed.
    pub(super) fn tell(&mut self, out: &mut dyn Output) {
        if self.told != Some(self.segment) {
            out.segment(&self.segment);
            self.told = Some(self.segment);
        }
    }
}

impl Machine {
    /// The segment of playback.
    pub(super) fn segment(&self) -> Segment {
        self.position.segment()
    }

    /// Sets the next segment and counts the log time covered until then.
    pub(super) fn change_to(&mut self, segment: Segment, now: Time<Steady>) {
        let before = self.segment();
        if before.is_rolling() {
            let is_jump = segment.generation() != before.generation();
            self.report.covered_to(if is_jump {
                self.here(now)
            } else {
                segment.position(now)
            });
        }
        let jumps = self.position.set(segment);
        if jumps > 0 {
            self.clock.jumped();
        }
        self.report.jumped(jumps);
        self.report.continue_at(segment.position(now));
    }

    /// The position of playback, but never past a message that has not been sent.
    pub(super) fn here(&self, now: Time<Steady>) -> Time<Ros> {
        let position = self.segment().position(now);
        match self.reader.next() {
            Some(next) => self.segment().nearer(position, next),
            // The next message is not known yet: its time may be any time after the last message.
            None if self.segment().is_rolling() && !self.reader.is_exhausted() => {
                self.segment().nearer(position, self.reader.reached())
            }
            None => position,
        }
    }

    /// The segment, its motion begun anew at the position of playback: where messages are overdue, the motion alone is
    /// past them.
    pub(super) fn re_anchored(&self, now: Time<Steady>) -> Segment {
        if self.segment().is_rolling() {
            self.held(now).roll(now)
        } else {
            self.segment()
        }
    }

    /// The segment, held at the current position.
    pub(super) fn held(&self, now: Time<Steady>) -> Segment {
        self.segment().hold_back(self.here(now), now)
    }
}
