//! What the machine sends: the message whose time has come, the clock, and the last words of a lap or run.

use super::machine::{CATCH_UP, Course, Machine, Wait};
use super::options::{Intent, WhenDone};
use crate::bag::StartAt;
use crate::output::{Occasion, Output};
use crate::time::{AtEnd, Duration, Ros, Steady, Time};

/// What is shorter is played again only so often.
const SHORTEST_LAP: Duration = Duration::from_millis(1);

impl Machine {
    /// Sends the message in hand, and its clock before it.
    pub(super) fn publish_next(&mut self, now: Time<Steady>, out: &mut dyn Output) {
        let due = self
            .reader
            .next()
            .and_then(|next| self.segment.wall_at(next.key.time));
        let Some(message) = self.reader.take() else {
            return;
        };
        let late = due.map(|due| now.saturating_since(due));
        if let Some(lost) = late.filter(|late| *late > CATCH_UP) {
            self.delay(lost);
        }
        let is_held = !self.segment.is_rolling();
        if is_held {
            let to = self.segment.advance_to(message.key.time, now);
            if self.is_unpaced() {
                self.covered_to(to.position(now));
            }
            self.change_to(to, now);
            self.tell(out);
        }
        if self.options.clock.before.covers(message.topic)
            || (is_held && self.has_moved_a_tick(message.key.time))
        {
            self.show_clock(message.key.time, out);
        }
        if self
            .last
            .is_none_or(|last| !self.segment.is_before(message.key.time, last.time))
        {
            self.last = Some(message.key);
        }
        let delivery = out.message(&message, Occasion::Due);
        self.report.sent_one(&message, delivery, late);
        if let (Some(digest), 0) = (&mut self.report.digest, self.report.laps) {
            digest.add(&self.options.topics[message.topic.index()], &message);
        }
        self.steps = self.steps.saturating_sub(1);
    }

    /// Where no schedule moves the clock, messages do: unpaced a period at a time, stepped at once.
    fn has_moved_a_tick(&self, t: Time<Ros>) -> bool {
        let Some(period) = self.options.clock.period else {
            return false;
        };
        self.shown.is_none_or(|shown| {
            let moved = t.saturating_since(shown).saturating_abs();
            self.segment.is_before(shown, t) && (!self.is_unpaced() || moved >= period)
        })
    }

    /// Sends the clock: never less than it showed before in this generation, whatever a damaged recording
    /// says of its times.
    pub(super) fn show_clock(&mut self, t: Time<Ros>, out: &mut dyn Output) {
        if self.options.clock.is_served() {
            let t = self
                .shown
                .filter(|shown| self.segment.is_before(t, *shown))
                .unwrap_or(t);
            self.shown = Some(t);
            let value = t.saturating_add(self.options.clock.shift);
            // Zero would mean "uninitialised" to every ROS client.
            out.clock(if value == Time::ZERO {
                Time::from_nanos(1)
            } else {
                value
            });
        }
    }

    /// At the limit: a stop on the way, a lap, or the end.
    pub(super) fn arrive(
        &mut self,
        end: Time<Steady>,
        now: Time<Steady>,
        out: &mut dyn Output,
    ) -> Wait {
        if self.steps > 0 {
            self.steps = 0;
            return Wait::Now;
        }
        let arrived = self.segment.advance_to(self.segment.limit(), now);
        if self.segment.until().is_some() {
            self.change_to(arrived.play_until(None, now), now);
            self.intent = Intent::Pause;
            self.owes_clock = true;
            return Wait::Now;
        }
        self.change_to(arrived, now);
        self.show_clock(self.segment.exit(), out);
        // A lap of nothing that takes no time would spin.
        let takes_time = !self.is_unpaced() && self.segment.range().duration() > Duration::ZERO;
        let is_empty = self.last.is_none() && !takes_time;
        if self.segment.at_end() == AtEnd::Loop && !is_empty {
            self.report.laps += 1;
            self.lap_began = end.max(self.lap_began.saturating_add(SHORTEST_LAP));
            self.lap_from = Some(self.lap_began);
            let lap = self.cue_at(StartAt::At(self.segment.entry()));
            self.change_to(self.segment.wrap(), now);
            self.reader.begin_lap(lap);
            (self.last, self.owes_clock) = (None, true);
            out.flush();
            return Wait::Now;
        }
        self.report.reached_end = true;
        self.course = match self.options.when_done {
            WhenDone::Stop => Course::Over,
            WhenDone::Stay => Course::Ended,
        };
        Wait::Now
    }
}
