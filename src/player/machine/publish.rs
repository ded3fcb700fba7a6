//! What the machine sends: messages that are due, refills, the clock; and what it does at the limit.

use super::reading::reader::InHand;
use super::{CATCH_UP, Machine, Wait};
use crate::bag::{Key, Message, StartAt};
use crate::output::{Occasion, Output};
use crate::player::options::{Intent, WhenDone};
use crate::time::{AtEnd, Duration, Ros, Steady, Time};

/// The shortest wall time of a lap: shorter ranges do not repeat more often than this.
const SHORTEST_LAP: Duration = Duration::from_millis(1);

impl Machine {
    /// Sends the next message; its clock goes before it.
    pub(super) fn publish_next(&mut self, now: Time<Steady>, out: &mut dyn Output) {
        let Some(InHand { message, at }) = self.reader.take() else {
            return;
        };
        let due = self.segment.wall_at(at);
        let late = due.map(|due| now.saturating_since(due));
        if let Some(lost) = late.filter(|late| *late > CATCH_UP) {
            self.delay(lost, now);
        }
        let is_held = !self.segment.is_rolling();
        if is_held {
            let to = self.segment.advance_to(at, now);
            if self.is_unpaced() {
                self.covered_to(to.position(now));
            }
            self.change_to(to, now);
            self.tell(out);
        }
        if self.options.clock.before.covers(message.topic) || (is_held && self.has_moved_a_tick(at))
        {
            self.show_clock(at, out);
        }
        self.last = self.further(self.last, message.key);
        let went_out = self.hand_out(&message, late, out);
        if let (true, Some(digest), 0, Some(name)) = (
            went_out,
            &mut self.report.digest,
            self.report.laps,
            self.reader.name(message.topic),
        ) {
            digest.add(name, &message);
        }
        self.steps = self.steps.after(message.key, went_out, self.segment);
    }

    /// Sends a message that was taken; `false` if its topic is muted.
    pub(super) fn hand_out(
        &mut self,
        message: &Message,
        late: Option<Duration>,
        out: &mut dyn Output,
    ) -> bool {
        if self.report.tally.is_muted(message.topic) {
            self.report.muted_one(message);
            return false;
        }
        self.sent = self.further(self.sent, message.key);
        let delivery = out.message(message, Occasion::Due);
        self.report.sent_one(message, delivery, late);
        true
    }

    /// The key that is further in the direction of play; at equal times the new one.
    fn further(&self, known: Option<Key>, key: Key) -> Option<Key> {
        let is_short = |known: &Key| self.segment.is_before(key.time, known.time);
        known.filter(is_short).or(Some(key))
    }

    /// Sends a latched message again, unless its topic is muted.
    pub(super) fn refill(&mut self, message: &Message, out: &mut dyn Output) {
        if self.report.tally.is_muted(message.topic) {
            self.report.muted_one(message);
        } else {
            out.message(message, Occasion::Refill);
            self.report.refilled_one(message);
        }
    }

    /// While held, no schedule moves the clock, so messages do: at most once per period if unpaced, each time
    /// it moves in steps.
    fn has_moved_a_tick(&self, t: Time<Ros>) -> bool {
        let Some(period) = self.options.clock.period else {
            return false;
        };
        self.shown.is_none_or(|shown| {
            let moved = t.saturating_since(shown).saturating_abs();
            self.segment.is_before(shown, t) && (!self.is_unpaced() || moved >= period)
        })
    }

    /// Sends the clock. Within a generation it never goes back: a tick that was due earlier may carry an
    /// earlier time than the last value.
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
        if self.steps.are_left() {
            self.give_up_steps();
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
        // An empty lap that takes no time would repeat without end and use a whole core.
        let takes_time = !self.is_unpaced() && self.segment.range().duration() > Duration::ZERO;
        let is_empty = self.last.is_none() && !takes_time;
        if self.segment.at_end() == AtEnd::Loop && !is_empty {
            self.report.laps += 1;
            self.lap_began = end.max(self.lap_began.saturating_add(SHORTEST_LAP));
            self.lap_from = Some(self.lap_began);
            let lap = self.cue_at(StartAt::At(self.segment.entry()));
            self.change_to(self.segment.wrap(), now);
            self.reader.begin_lap(lap);
            (self.last, self.sent, self.owes_clock) = (None, None, true);
            return Wait::Now;
        }
        self.report.reached_end = true;
        match self.options.when_done {
            WhenDone::Stop => self.course.stop(),
            WhenDone::Stay => self.course.arrive(),
        }
        Wait::Now
    }
}
