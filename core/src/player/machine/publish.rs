//! What the machine sends: messages that are due, refills, the clock; and what it does at the limit.

use super::reading::reader::InHand;
use super::schedule::is_stall;
use super::{Machine, Wait};
use crate::bag::{Message, StartAt};
use crate::output::{Delivery, Occasion, Output};
use crate::player::options::WhenDone;
use crate::player::outcome::Short;
use crate::time::{AtEnd, Duration, Ros, Steady, Time};

impl Machine {
    /// Sends the next message; its clock goes before it. If the output closes a gate when it takes that clock, the
    /// message stays the next one.
    pub(super) fn publish_next(&mut self, now: Time<Steady>, out: &mut dyn Output) {
        let Some((topic, at)) = self.reader.peek() else {
            return;
        };
        let due = self.due_at(at);
        let late = due.map(|due| now.saturating_since(due));
        if let Some(lost) = late.filter(|late| is_stall(*late) && !self.is_following()) {
            self.delay(lost, now);
        }
        if !self.segment().is_rolling() {
            self.move_held_to(at, now, out);
        }
        let (segment, is_unpaced) = (self.segment(), self.is_unpaced());
        if self.clock.precedes(topic, at, segment, is_unpaced) {
            self.show_clock(at, out);
            self.clock.announced();
            self.hold_if_closed(at, now, out);
            if !self.may_send() {
                return;
            }
        }
        let Some(InHand { message, .. }) = self.reader.take() else {
            return;
        };
        self.clock.message_taken();
        self.played.take(message.key, segment);
        let delivery = self.hand_out(&message, late, out);
        let went_out = delivery.is_some();
        if delivery.is_some_and(|delivery| delivery.is_sent()) && !self.steps.have_landed() {
            let topic = self.reader.name(message.topic);
            self.report.digest_one(topic, &message);
        }
        self.hold_if_closed(at, now, out);
        let segment = self.segment();
        self.steps
            .taken(message.key, went_out, segment, &mut self.answers);
    }

    /// Shows the next step of the clock; playback moves there.
    pub(super) fn step_clock(&mut self, now: Time<Steady>, out: &mut dyn Output) {
        let Some(step) = self.clock.next_step(self.segment()) else {
            return;
        };
        if !self.segment().is_rolling() {
            self.move_held_to(step, now, out);
        }
        self.show_clock(step, out);
        self.hold_if_closed(step, now, out);
    }

    /// Playback without a schedule moves to what is sent next.
    fn move_held_to(&mut self, at: Time<Ros>, now: Time<Steady>, out: &mut dyn Output) {
        let to = self.segment().advance_to(at, now);
        if self.is_unpaced() || self.is_following() {
            self.report.covered_to(to.position(now));
        }
        self.change_to(to, now);
        self.position.tell(out);
    }

    /// If a gate was closed while something was sent, playback is held at its time: the position must not pass it.
    fn hold_if_closed(&mut self, at: Time<Ros>, now: Time<Steady>, out: &mut dyn Output) {
        self.read_gates();
        if self.segment().is_rolling() && !self.conditions.gates().is_open() {
            self.change_to(self.segment().hold_back(at, now), now);
            self.position.tell(out);
        }
    }

    /// Reads the gates, and does what follows when they have changed.
    pub(super) fn read_gates(&mut self) {
        if self.conditions.read_gates() {
            // Subscribers that are reachable again have missed the clock and may need it before anything else.
            self.clock.owe();
        }
        if self.conditions.gates().refuses_steps() && self.steps.is_any() {
            self.steps.cancel(Short::NoPath, &mut self.answers);
        }
    }

    /// Sends a message that was taken; `None` if its topic is muted.
    pub(super) fn hand_out(
        &mut self,
        message: &Message,
        late: Option<Duration>,
        out: &mut dyn Output,
    ) -> Option<Delivery> {
        if self.report.is_muted(message.topic) {
            self.report.muted_one(message);
            return None;
        }
        self.played.send(message.key, self.segment());
        let delivery = out.message(message, Occasion::Due);
        self.report.sent_one(message, &delivery, late);
        Some(delivery)
    }

    /// Sends a latched message again, unless its topic is muted.
    pub(super) fn refill(&mut self, message: &Message, out: &mut dyn Output) {
        if self.report.is_muted(message.topic) {
            self.report.muted_one(message);
        } else {
            let delivery = out.message(message, Occasion::Refill);
            self.report.refilled_one(message, &delivery);
        }
    }

    /// Whether a lap follows at the exit edge.
    pub(super) fn is_looped(&self) -> bool {
        self.segment().at_end() == AtEnd::Loop && !self.is_following()
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
        let arrived = self.segment().advance_to(self.segment().limit(), now);
        if self.segment().until().is_some() {
            self.change_to(arrived.play_until(None, now), now);
            self.conditions.pause();
            self.clock.owe();
            return Wait::Now;
        }
        self.change_to(arrived, now);
        self.show_clock(self.segment().exit(), out);
        // An empty lap that takes no time would repeat without end and use a whole core.
        let takes_time = !self.is_unpaced() && self.segment().range().duration() > Duration::ZERO;
        let is_empty = self.played.taken().is_none() && !takes_time;
        let is_looped = self.is_looped();
        if is_looped && is_empty && self.position.played().ab_loop.is_some() {
            // The run does not end because a part of it is empty.
            self.conditions.pause();
            return Wait::Now;
        }
        if is_looped && !is_empty {
            self.report.laps += 1;
            self.schedule.end_lap(end);
            let lap = self.cue_at(StartAt::At(self.segment().entry()));
            self.change_to(self.segment().wrap(), now);
            self.reader.begin_lap(lap);
            self.played.clear();
            self.clock.owe();
            return Wait::Now;
        }
        self.report.reached_end = true;
        self.schedule.play_at(None);
        let waits = self.is_following() && !self.lead_has_passed_the_end(now);
        match self.options.when_done {
            WhenDone::Stop if waits => self.conditions.course_mut().arrive(),
            WhenDone::Stop => self.conditions.course_mut().stop(),
            WhenDone::Stay => self.conditions.course_mut().arrive(),
        }
        Wait::Now
    }
}
