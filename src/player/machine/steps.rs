//! Steps: messages sent one by one while playback is paused, and the searches that some steps need.
//!
//! A step forward takes messages from the cue. A step to a message of a topic first searches for that message
//! with a cue that reads only this topic. It then takes all messages up to it, so that no state between is left
//! out. A step back searches in the other direction and jumps to what it found. A search changes nothing until
//! it has found its message, so when it is cancelled, playback keeps its position.

use bytes::Bytes;

use super::Machine;
use crate::bag::{Cue, CueAt, CuePoll, Cued, Direction, Key, Message, StartAt, TopicId};
use crate::output::Output;
use crate::player::command::Gate;
use crate::time::{Duration, Segment, Steady, Time, TimeRange};

/// What is still to be sent while playback is paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Steps {
    /// Nothing.
    #[default]
    None,
    /// This many messages; those of muted topics do not count.
    Next(u64),
    /// All messages up to and including this message of that topic.
    Through(TopicId, Key),
}

impl Steps {
    pub(super) fn are_left(self) -> bool {
        self != Self::None
    }

    /// This many more steps; they replace steps to a message of a topic.
    fn and(self, more: u64) -> Self {
        let left = match self {
            Self::Next(left) => left.saturating_add(more),
            Self::None | Self::Through(..) => more,
        };
        if left == 0 {
            Self::None
        } else {
            Self::Next(left)
        }
    }

    /// What is left after a message was taken; `went_out` is false if its topic is muted.
    pub(super) fn after(self, taken: Key, went_out: bool, segment: Segment) -> Self {
        match self {
            Self::Next(left) if went_out => Self::None.and(left.saturating_sub(1)),
            Self::Through(_, to) if taken == to || segment.is_before(to.time, taken.time) => {
                Self::None
            }
            left => left,
        }
    }
}

/// A search with a cue of its own, for the message that is `left` messages further.
#[derive(Debug)]
pub(super) struct Look {
    way: Way,
    /// Only messages of this topic; `None` for all topics that are not muted.
    topic: Option<TopicId>,
    left: u64,
    cue: Cue,
    /// The last message found so far; see [`Look::keep`].
    found: Option<Message>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Ahead,
    Back,
}

impl Look {
    /// Keeps a message that was found, but does not hold its chunk while the search goes on. A search that
    /// holds a chunk would wait for the next one forever if all other bytes belong to the cue that is played.
    fn keep(&mut self, message: Message) {
        let payload = match self.way {
            // Playback will read it again in its turn.
            Way::Ahead => Bytes::new(),
            Way::Back if self.left > 0 => Bytes::copy_from_slice(&message.payload),
            Way::Back => message.payload,
        };
        self.found = Some(Message { payload, ..message });
    }
}

/// Logged because nothing else shows that a step found no message.
fn say_nothing_lies(way: Way) {
    match way {
        Way::Ahead => tracing::info!("no message further on"),
        Way::Back => tracing::info!("no message further back"),
    }
}

impl Machine {
    /// Pauses and steps `n` messages forward, or back if negative.
    pub(super) fn step(&mut self, n: i64, now: Time<Steady>) {
        if self.refuses_steps() {
            return;
        }
        self.stand(now);
        if n < 0 {
            self.look_back(None, n.unsigned_abs(), now);
        } else {
            self.look = None;
            self.steps = self.steps.and(n.unsigned_abs());
        }
    }

    /// The same for messages of one topic.
    pub(super) fn step_topic(&mut self, topic: TopicId, n: i64, now: Time<Steady>) {
        if self.refuses_steps() {
            return;
        }
        self.stand(now);
        match n {
            ..0 => self.look_back(Some(topic), n.unsigned_abs(), now),
            0 => self.stop_steps(),
            1.. => self.look_ahead(topic, n.unsigned_abs(), now),
        }
    }

    /// Refuses steps while the connection to the network is lost, because what is sent then is lost.
    fn refuses_steps(&self) -> bool {
        let is_refused = !self.gates.lets_steps_pass();
        if is_refused {
            tracing::warn!(
                "no step: the connection to the network is lost; step again when it is back"
            );
        }
        is_refused
    }

    /// Closes a gate and cancels steps that it does not let pass.
    pub(super) fn close(&mut self, gate: Gate) {
        self.gates = self.gates.close(gate);
        if self.is_stepping() && !self.gates.lets_steps_pass() {
            self.stop_steps();
            tracing::warn!(
                "the steps that were left are given up: the connection to the network is lost"
            );
        }
    }

    /// Cancels the steps that have not been made yet.
    pub(super) fn stop_steps(&mut self) {
        (self.steps, self.look) = (Steps::None, None);
    }

    /// At the limit: there is no message left to step to.
    pub(super) fn give_up_steps(&mut self) {
        self.steps = Steps::None;
        say_nothing_lies(Way::Ahead);
    }

    fn look_ahead(&mut self, topic: TopicId, n: u64, now: Time<Steady>) {
        if self.looks_further(Way::Ahead, Some(topic), n) {
            return;
        }
        let from = match self.steps {
            // Requested again before it was reached: search from its target on.
            Steps::Through(known, to) if known == topic => Some(to),
            _ => self.last,
        };
        if from == self.last {
            self.steps = Steps::None;
        }
        let at = CueAt {
            // A step does not go past the stop of `PlayUntil` or `PlayFor`.
            range: TimeRange::between(self.segment.entry(), self.segment.limit()),
            refill: false,
            only: Some(topic),
            ..self.cue_at(from.map_or(StartAt::At(self.here(now)), StartAt::After))
        };
        self.look = Some(self.look_at(at, Way::Ahead, n));
    }

    /// Extends a running search of the same kind by `more` messages; `false` if there is none.
    fn looks_further(&mut self, way: Way, topic: Option<TopicId>, more: u64) -> bool {
        let look = self.look.as_mut();
        let Some(look) = look.filter(|look| (look.way, look.topic) == (way, topic)) else {
            return false;
        };
        look.left = look.left.saturating_add(more);
        true
    }

    fn look_back(&mut self, topic: Option<TopicId>, n: u64, now: Time<Steady>) {
        if self.looks_further(Way::Back, topic, n) {
            return;
        }
        self.steps = Steps::None;
        let backwards = !self.segment.speed().is_reverse();
        let before = Duration::from_nanos(if backwards { -1 } else { 1 });
        // Without a topic: search before the last message that was sent. With a topic: before the last message
        // played, muted or not. If nothing was sent since a jump, all messages played since then were muted,
        // and the search passes over them anyway.
        let before_this = match topic {
            None => self.sent.or(self.last),
            Some(_) => self.last,
        };
        let at = CueAt {
            from: match before_this {
                Some(key) => StartAt::After(key),
                None => StartAt::At(self.here(now).saturating_add(before)),
            },
            direction: if backwards {
                Direction::Reverse
            } else {
                Direction::Forward
            },
            range: self.segment.range(),
            refill: false,
            only: topic,
        };
        self.look = Some(self.look_at(at, Way::Back, n));
    }

    fn look_at(&mut self, at: CueAt, way: Way, left: u64) -> Look {
        Look {
            way,
            topic: at.only,
            left,
            cue: self.reader.look(at),
            found: None,
        }
    }

    /// Continues the search with what the cue has read; `true` if there is more to do at once.
    pub(super) fn looks(&mut self, now: Time<Steady>, out: &mut dyn Output) -> bool {
        // The message found is sent at once, and nothing may be sent before unmuted topics have got their
        // latched state.
        let look = self.look.as_mut().filter(|_| !self.rejoins.are_left());
        let Some(look) = look else {
            return false;
        };
        match look.cue.poll() {
            CuePoll::Pending => return false,
            CuePoll::Item(Cued::Message(message)) => {
                if look.topic.is_some() || !self.report.tally.is_muted(message.topic) {
                    look.left -= 1;
                    look.keep(message);
                }
                if look.left > 0 {
                    return true;
                }
            }
            CuePoll::Item(Cued::Damage(damage)) => {
                // Damage ahead will be met again when playback reaches it.
                if look.way == Way::Back {
                    self.report.damaged_one(damage);
                }
                return true;
            }
            CuePoll::Item(Cued::Refill(_)) => return true,
            // There are fewer messages than steps: use the last one found.
            CuePoll::End => say_nothing_lies(look.way),
        }
        let Some(look) = self.look.take() else {
            return true;
        };
        match (look.way, look.topic, look.found) {
            (Way::Back, _, Some(found)) => self.land(&found, now, out),
            (Way::Ahead, Some(topic), Some(found)) => {
                self.steps = Steps::Through(topic, found.key);
            }
            (_, _, None) | (Way::Ahead, None, _) => {}
        }
        true
    }

    /// Jumps to a message and sends it; reading continues after it.
    fn land(&mut self, message: &Message, now: Time<Steady>, out: &mut dyn Output) {
        let landed = self.segment.seek(message.key.time);
        self.read_from(StartAt::After(message.key), landed, now, false);
        self.owes_clock = false;
        self.reader.begin();
        self.tell(out);
        self.show_clock(message.key.time, out);
        self.last = Some(message.key);
        self.hand_out(message, None, out);
    }
}
