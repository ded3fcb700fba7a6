//! Steps: what goes out one by one while playback stands, and the looks elsewhere that some of them take.
//!
//! A step ahead takes messages from the cue; one to a message of a topic first has to know which one that
//! is, which a look tells that reads this topic alone, and then takes all up to it, so that no state on the
//! way is left out. A step back is a look the other way and a jump to what it found. Until it has found
//! something, a look changes nothing, so whatever cancels it leaves playback where it was.

use bytes::Bytes;

use super::Machine;
use crate::bag::{Cue, CueAt, CuePoll, Cued, Direction, Key, Message, StartAt, TopicId};
use crate::output::Output;
use crate::player::command::Gate;
use crate::time::{Duration, Segment, Steady, Time, TimeRange};

/// What is still to be sent while playback stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Steps {
    /// Nothing.
    #[default]
    None,
    /// So many messages; a muted one is passed over.
    Next(u64),
    /// All up to and including this message of that topic.
    Through(TopicId, Key),
}

impl Steps {
    pub(super) fn are_left(self) -> bool {
        self != Self::None
    }

    /// So many more; a way to a message of a topic is given up.
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

    /// What is left after a message was taken, and `went_out` or not.
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

/// A walk beside the one that is played, to a message `left` further on.
#[derive(Debug)]
pub(super) struct Look {
    way: Way,
    /// Of this topic only; of all that are heard.
    topic: Option<TopicId>,
    left: u64,
    cue: Cue,
    /// The last one so far; see [`Look::keep`].
    found: Option<Message>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Ahead,
    Back,
}

impl Look {
    /// Keeps what was found, and of its chunk nothing while the look goes on: a look that holds on to one
    /// chunk would wait for ever for the next, where all other bytes belong to the cue that is played.
    fn keep(&mut self, message: Message) {
        let payload = match self.way {
            // It will come again in its turn.
            Way::Ahead => Bytes::new(),
            Way::Back if self.left > 0 => Bytes::copy_from_slice(&message.payload),
            Way::Back => message.payload,
        };
        self.found = Some(Message { payload, ..message });
    }
}

/// Whoever asked for steps sees nothing of those that found nothing.
fn say_nothing_lies(way: Way) {
    match way {
        Way::Ahead => tracing::info!("no message further on"),
        Way::Back => tracing::info!("no message further back"),
    }
}

impl Machine {
    /// Pauses and goes so many messages on, or back if negative.
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

    /// The same with messages of one topic.
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

    /// What is sent while there is no way to anybody is lost.
    fn refuses_steps(&self) -> bool {
        let is_refused = !self.gates.lets_steps_pass();
        if is_refused {
            tracing::warn!(
                "no step: the connection to the network is lost; step again when it is back"
            );
        }
        is_refused
    }

    /// Closes a gate; steps that it does not let pass are over.
    pub(super) fn close(&mut self, gate: Gate) {
        self.gates = self.gates.close(gate);
        if self.is_stepping() && !self.gates.lets_steps_pass() {
            self.stop_steps();
            tracing::warn!(
                "the steps that were left are given up: the connection to the network is lost"
            );
        }
    }

    /// Forgets steps that are still to be made.
    pub(super) fn stop_steps(&mut self) {
        (self.steps, self.look) = (Steps::None, None);
    }

    /// At the limit nothing is left to step to.
    pub(super) fn give_up_steps(&mut self) {
        self.steps = Steps::None;
        say_nothing_lies(Way::Ahead);
    }

    fn look_ahead(&mut self, topic: TopicId, n: u64, now: Time<Steady>) {
        if self.looks_further(Way::Ahead, Some(topic), n) {
            return;
        }
        let from = match self.steps {
            // Asked for again on the way: from there on.
            Steps::Through(known, to) if known == topic => Some(to),
            _ => self.last,
        };
        if from == self.last {
            self.steps = Steps::None;
        }
        let at = CueAt {
            // What lies beyond a stop on the way is not gone to.
            range: TimeRange::between(self.segment.entry(), self.segment.limit()),
            refill: false,
            only: Some(topic),
            ..self.cue_at(from.map_or(StartAt::At(self.here(now)), StartAt::After))
        };
        self.look = Some(self.look_at(at, Way::Ahead, n));
    }

    /// Asked for again meanwhile: so many messages more; whether there is such a look.
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
        // Of all topics before the last message that was heard, of one before what was played of it, heard
        // or not. If none was heard since a jump, all that was played since then is passed over anyway.
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

    /// Looks as far as the cue has come; `true` if there is more to do at once.
    pub(super) fn looks(&mut self, now: Time<Steady>, out: &mut dyn Output) -> bool {
        // What is landed on goes out at once, and nothing may before a topic that is heard again has
        // rejoined.
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
                // What lies ahead will be met again.
                if look.way == Way::Back {
                    self.report.damaged_one(damage);
                }
                return true;
            }
            CuePoll::Item(Cued::Refill(_)) => return true,
            // The last one found is as far as it goes.
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

    /// Jumps to a message and sends it; what follows is read from there.
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
