//! [`Position`]: the segment of playback, and whether the output knows it.

use super::Machine;
use crate::output::Output;
use crate::time::{Duration, Ros, Segment, Steady, Time};

#[derive(Debug)]
pub(super) struct Position {
    segment: Segment,
    /// The segment that the output was given last.
    told: Option<Segment>,
}

impl Position {
    pub(super) fn new(segment: Segment) -> Self {
        Self {
            segment,
            told: None,
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

    /// The segment, held at the current position.
    pub(super) fn held(&self, now: Time<Steady>) -> Segment {
        self.segment().hold_back(self.here(now), now)
    }
}
