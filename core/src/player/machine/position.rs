//! [`Position`]: the segment of playback, and whether the output knows it.

use super::Machine;
use crate::output::Output;
use crate::player::played_range::PlayedRange;
use crate::time::{AtEnd, Duration, Ros, Segment, Speed, Steady, Time};

#[derive(Debug)]
pub(super) struct Position {
    segment: Segment,
    /// The segment that the output was given last.
    told: Option<Segment>,
    /// The range and the exit edge of the segment follow from it.
    played: PlayedRange,
}

impl Position {
    /// At the entry edge of what is played, or at `start`.
    pub(super) fn new(played: PlayedRange, speed: Speed, start: Option<Time<Ros>>) -> Self {
        let (range, at_end) = played.current();
        let segment = Segment::new(range, speed, at_end);
        Self {
            segment: start.map_or(segment, |start| segment.seek(start)),
            told: None,
            played,
        }
    }

    #[inline]
    pub(super) fn segment(&self) -> Segment {
        self.segment
    }

    /// Sets the next segment; returns how many jumps lie between the two.
    #[inline]
    pub(super) fn set(&mut self, segment: Segment) -> u64 {
        let edges = (segment.range(), segment.at_end());
        debug_assert_eq!(edges, self.played.current(), "the range of the segment");
        let before = std::mem::replace(&mut self.segment, segment);
        segment.generation() - before.generation()
    }

    pub(super) fn played(&self) -> PlayedRange {
        self.played
    }

    /// The segment with another range to play, held at `to`, clamped into what is played from then on. A new
    /// generation.
    pub(super) fn play_range(&mut self, played: PlayedRange, to: Time<Ros>) -> Segment {
        self.played = played;
        let (range, at_end) = played.current();
        self.segment.seek_within(range, to).with_at_end(at_end)
    }

    /// The segment with another behaviour at the exit edge of the range, without a jump.
    pub(super) fn end_with(&mut self, at_end: AtEnd) -> Segment {
        self.played.at_end = at_end;
        let (_, at_end) = self.played.current();
        self.segment.with_at_end(at_end)
    }

    /// Playback could not move for `by`.
    pub(super) fn delay(&mut self, by: Duration) {
        self.segment = self.segment.delayed(by);
    }

    /// Gives the segment to the output if it has changed.
    #[inline]
    pub(super) fn tell(&mut self, out: &mut dyn Output) {
        if self.told != Some(self.segment) {
            out.segment(&self.segment);
            self.told = Some(self.segment);
        }
    }
}

impl Machine {
    /// The segment of playback.
    #[inline]
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

    /// The segment, its motion restarted at the position of playback: where messages are overdue, the motion alone is
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
