//! [`Schedule`]: the instants of a run that do not follow from the segment: the end of the delay, the start of a
//! lap, and the time that was lost because a send blocked or the process did not run.

use super::{Machine, Wait};
use crate::time::{Duration, Steady, Time};

/// If the process did not run for longer than this, playback holds its position for that time instead of
/// catching up in a burst.
pub(crate) const CATCH_UP: Duration = Duration::from_millis(100);

/// The shortest wall time of a lap: shorter ranges do not repeat more often than this.
const SHORTEST_LAP: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Schedule {
    delay: Duration,
    /// When the delay is over, once the first `advance` has come.
    begins_at: Option<Time<Steady>>,
    /// When playback is to go on by itself.
    plays_at: Option<Time<Steady>>,
    /// Where the lap that has not begun to roll yet begins.
    lap_from: Option<Time<Steady>>,
    lap_began: Time<Steady>,
    /// When the machine has to be called next.
    expected: Time<Steady>,
    /// When the segment was last delayed. For instants before that, it no longer gives the position that
    /// playback had.
    delayed_at: Time<Steady>,
}

impl Schedule {
    pub(super) fn new(delay: Duration) -> Self {
        Self {
            delay,
            begins_at: None,
            plays_at: None,
            lap_from: None,
            lap_began: Time::MIN,
            expected: Time::MAX,
            delayed_at: Time::MIN,
        }
    }

    /// When the delay before the start is over. The first call starts it.
    pub(super) fn begins_at(&mut self, now: Time<Steady>) -> Time<Steady> {
        *self.begins_at.get_or_insert(now.saturating_add(self.delay))
    }

    /// Sets when playback is to go on by itself; `None`: it is not.
    pub(super) fn play_at(&mut self, instant: Option<Time<Steady>>) {
        self.plays_at = instant;
    }

    /// When playback goes on by itself.
    pub(super) fn plays_at(&self) -> Option<Time<Steady>> {
        self.plays_at
    }

    /// The machine now waits for this.
    pub(super) fn waits(&mut self, wait: Wait, now: Time<Steady>) {
        self.expected = match wait {
            Wait::Now => now,
            Wait::Until(wall) => wall,
            Wait::ForCue | Wait::ForGate | Wait::ForCommand | Wait::Over => Time::MAX,
        };
    }

    /// How much later than expected the machine is called; `None` if that can be caught up.
    pub(super) fn lost(&self, now: Time<Steady>) -> Option<Duration> {
        Some(now.saturating_since(self.expected)).filter(|lost| is_stall(*lost))
    }

    /// The time lost until now has been dealt with.
    pub(super) fn made_up(&mut self, now: Time<Steady>) {
        self.expected = now;
    }

    /// The segment was delayed at `now`.
    pub(super) fn delayed(&mut self, now: Time<Steady>) {
        self.delayed_at = now;
    }

    /// The instant whose position a tick shows: that of the tick, or that of a delay after it.
    pub(super) fn shown_at(&self, tick: Time<Steady>) -> Time<Steady> {
        tick.max(self.delayed_at)
    }

    /// A lap ended at `end`: the next one begins there, however late that was noticed, but never sooner than the
    /// shortest lap takes.
    pub(super) fn end_lap(&mut self, end: Time<Steady>) {
        self.lap_began = end.max(self.lap_began.saturating_add(SHORTEST_LAP));
        self.lap_from = Some(self.lap_began);
    }

    /// Where playback that starts to roll at `now` begins.
    pub(super) fn rolls_from(&self, now: Time<Steady>) -> Time<Steady> {
        self.lap_from.unwrap_or(now)
    }

    /// Playback rolls, or is held: what rolls later begins then.
    pub(super) fn lap_has_begun(&mut self) {
        self.lap_from = None;
    }
}

impl Machine {
    /// Plays if [`Command::PlayAt`](crate::player::Command::PlayAt) is due. What plays already goes on undisturbed.
    pub(super) fn start_on_time(&mut self, now: Time<Steady>) {
        if self.schedule.plays_at().is_none_or(|at| now < at) {
            return;
        }
        self.schedule.play_at(None);
        if !self.conditions.is_to_play() && !self.conditions.course().is_over() {
            self.play(now);
        }
    }

    /// Makes up for a stop of this process, as [`Machine::advance`] does before anything is sent. Returns whether the
    /// segment was shifted.
    pub(in crate::player) fn make_up(&mut self, now: Time<Steady>) -> bool {
        // A lead says where its follower is.
        !self.is_following() && self.make_up_for_stall(now)
    }

    /// A send blocked or the process did not run: the position is held for the time lost. Returns whether the segment
    /// was shifted.
    pub(super) fn make_up_for_stall(&mut self, now: Time<Steady>) -> bool {
        let Some(lost) = self.schedule.lost(now) else {
            return false;
        };
        let is_shifted = self.segment().is_rolling();
        if is_shifted {
            self.delay(lost, now);
            self.schedule.made_up(now);
        } else if self.is_unpaced() {
            // Without a schedule there is nothing to shift: the lost time is only counted.
            self.report.stalled(lost);
            self.schedule.made_up(now);
        }
        is_shifted
    }

    /// Shifts the schedule by the time lost.
    pub(super) fn delay(&mut self, lost: Duration, now: Time<Steady>) {
        self.position.delay(lost);
        self.schedule.delayed(now);
        self.report.stalled(lost);
    }
}

/// Whether a delay is too long to be caught up.
pub(super) fn is_stall(late: Duration) -> bool {
    late > CATCH_UP
}
