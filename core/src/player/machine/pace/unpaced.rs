//! [`Machine::send_on`]: without a schedule, messages that have been read go out one after the other.

use crate::output::{Occasion, Output};
use crate::player::command::State;
use crate::player::machine::Machine;
use crate::time::{Steady, Time};

impl Machine {
    /// After [`Machine::advance`] without a schedule: sends messages that have been read, for as long as `may_go_on`
    /// says so before each of them and nothing else can be due before it. Has the effects that `advance` would have
    /// next, at less cost: what no message can change is looked at once. Returns how many it took.
    pub fn send_on(
        &mut self,
        now: Time<Steady>,
        out: &mut dyn Output,
        mut may_go_on: impl FnMut() -> bool,
    ) -> usize {
        let mut taken = 0;
        if !self.may_send_on(now) {
            return taken;
        }
        let Self {
            reader,
            clock,
            position,
            played,
            report,
            conditions,
            ..
        } = self;
        while conditions.gates_are_as_read()
            && let Some((message, at)) = reader.at_hand()
            && let segment = position.segment()
            && !segment.is_before(segment.limit(), at)
            && clock
                .next_step(segment)
                .is_none_or(|step| segment.is_before(at, step))
            && may_go_on()
        {
            let to = segment.advance_to(at, now);
            position.set(to);
            report.covered_to(to.position(now));
            position.tell(out);
            if clock.precedes(message.topic, at, to, true) {
                clock.show(at, to, out);
                clock.announced();
                if !conditions.gates_are_as_read() {
                    break;
                }
            }
            played.take(message.key, to);
            if report.is_muted(message.topic) {
                report.muted_one(message);
            } else {
                played.send(message.key, to);
                let delivery = out.message(message, Occasion::Due);
                report.sent_one(message, &delivery, None);
                if delivery.is_sent() {
                    report.digest_one(reader.name(message.topic), message);
                }
            }
            reader.pass(at);
            clock.message_taken();
            taken += 1;
        }
        taken
    }

    /// Whether nothing but the next messages and their clock can be due, until a command or a gate changes that.
    fn may_send_on(&mut self, now: Time<Steady>) -> bool {
        if !self.is_unpaced() || self.options.skip_empty.is_some() {
            return false;
        }
        self.read_gates();
        self.is_unpaced()
            && self.state() == State::Playing
            && !self.segment().is_rolling()
            && !self.steps.is_any()
            && !self.rejoins.are_left()
            && !self.clock.is_owed()
            // After latched messages, which `advance` sends alone, a tick may be due.
            && self.clock.next_tick(now).is_none_or(|tick| tick > now)
    }
}
