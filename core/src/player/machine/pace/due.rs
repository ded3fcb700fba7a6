//! The instants at which the next message, the end of the range and the end of the delay are due.

use crate::player::command::{Pace, State};
use crate::player::level::gates::{Gate, Gates};
use crate::player::machine::Machine;
use crate::time::{Duration, Ros, Steady, Time};

impl Machine {
    /// The instant at which the next message is due.
    pub(crate) fn message_at(&self, now: Time<Steady>) -> Option<Time<Steady>> {
        let next = self.reader.next().filter(|_| !self.rejoins.are_left())?;
        if self.makes_steps() || self.is_unpaced() {
            return (!self.segment().is_before(self.segment().limit(), next)).then_some(now);
        }
        if self.is_following() {
            let is_beyond = self.segment().is_before(self.segment().limit(), next);
            return self.lead_reaches(next, now).filter(|_| !is_beyond);
        }
        self.segment().wall_at(next)
    }

    /// The instant at which the next step of the clock is due: no message before it is left, and it is before the
    /// limit.
    pub(crate) fn step_at(&self, now: Time<Steady>) -> Option<Time<Steady>> {
        let step = self.clock.next_step(self.segment())?;
        let is_before_limit = self.segment().is_before(step, self.segment().limit());
        if !is_before_limit || !self.is_ready() || !self.is_step_first() {
            return None;
        }
        if self.is_unpaced() {
            Some(now)
        } else if self.is_following() {
            self.lead_reaches(step, now)
        } else {
            self.segment().wall_at(step)
        }
    }

    /// Whether the next step of the clock comes before the next message. At equal times it does.
    pub(crate) fn is_step_first(&self) -> bool {
        let step = self.clock.next_step(self.segment());
        step.is_some_and(|step| {
            let next = self.reader.next();
            next.is_none_or(|next| !self.segment().is_before(next, step))
        })
    }

    /// The instant at which a message of this time was or is due.
    pub(crate) fn due_at(&self, t: Time<Ros>) -> Option<Time<Steady>> {
        if self.is_following() {
            self.lead_is_at(t)
        } else {
            self.segment().wall_at(t)
        }
    }

    /// For a tick and a message due in the same nanosecond: whether the message has the earlier time. At 1000×
    /// one nanosecond of wall time is a microsecond of the recording. At equal times the clock goes first.
    pub(crate) fn is_message_before(
        &self,
        tick: Option<Time<Steady>>,
        message: Option<Time<Steady>>,
    ) -> bool {
        let (Some(tick), true) = (tick, tick == message) else {
            return false;
        };
        let shows = self.segment().position(tick);
        self.reader
            .next()
            .is_some_and(|next| self.segment().is_before(next, shows))
    }

    /// The instant at which playback reaches its limit, if no other message is due before.
    pub(crate) fn end_at(&self, now: Time<Steady>) -> Option<Time<Steady>> {
        let is_next_beyond = match self.reader.next() {
            _ if self.rejoins.are_left() => false,
            Some(next) => self.segment().is_before(self.segment().limit(), next),
            None => self.reader.is_exhausted(),
        };
        let is_stepping = self.makes_steps() && is_next_beyond;
        if is_stepping || (self.is_unpaced() && is_next_beyond) {
            return Some(now);
        }
        let end = if self.is_following() {
            self.lead_reaches(self.segment().limit(), now)
        } else {
            self.segment().ends_at()
        };
        let end = end.or_else(|| self.is_held_at_the_end(now).then_some(now));
        end.filter(|_| is_next_beyond)
    }

    /// Whether playback is held for subscribers alone, with no refills left to send: reading on withholds none. A
    /// subscriber may leave with the last message, before the end is noticed.
    pub(crate) fn lacks_only_subscribers(&self) -> bool {
        self.state() == State::Gated
            && self.conditions.gates() == Gates::OPEN.close(Gate::Subscribers)
            && (self.played.taken().is_some() || self.reader.is_exhausted())
    }

    /// Whether playback lacks only subscribers, and no time, no step of the clock and no lap is left that they would
    /// miss.
    fn is_held_at_the_end(&self, now: Time<Steady>) -> bool {
        if !self.lacks_only_subscribers() || self.is_looped() {
            return false;
        }
        let segment = self.segment();
        if self.pace == Pace::Max {
            let step = self.clock.next_step(segment);
            return step.is_none_or(|step| !segment.is_before(step, segment.limit()));
        }
        let rest = segment.exit().saturating_since(segment.position(now));
        let rest = rest.saturating_abs();
        rest == Duration::ZERO
            || self
                .options
                .skip_empty
                .is_some_and(|longest| rest > longest)
    }

    /// The segment rolls ⇔ the intent is to play ∧ the cue is primed ∧ all gates are open ∧ the pace has a speed ∧ no
    /// steps are left.
    pub(crate) fn start_or_stop_rolling(&mut self, now: Time<Steady>) {
        let is_ready = self.is_ready();
        self.conditions.has_read(is_ready);
        let may_roll = self.may_play() && is_ready && matches!(self.pace, Pace::At(_));
        match (self.segment().is_rolling(), may_roll) {
            // A lap starts where the last one ended, however late that was noticed.
            (false, true) => {
                let from = self.schedule.rolls_from(now);
                self.change_to(self.segment().roll(from), now);
            }
            (true, false) => self.change_to(self.held(now), now),
            (false, false) | (true, true) => {}
        }
        self.schedule.lap_has_begun();
    }

    /// When the delay before the start is over; `None` once it is.
    pub(crate) fn opens_at(&mut self, now: Time<Steady>) -> Option<Time<Steady>> {
        let begins_at = self.schedule.begins_at(now);
        let gates = self.conditions.gates();
        gates.is_closed(Gate::Delay).then_some(begins_at)
    }
}
