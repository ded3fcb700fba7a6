//! Steps: messages sent one by one while playback is paused, and the searches that some steps need.
//!
//! A step forward takes messages from the cue. A step to a message of a topic first searches for that message
//! with a cue that reads only this topic. It then takes all messages up to it, so that no state between is left
//! out. A step back searches in the other direction and jumps to what it found. A search changes nothing until
//! it has found its message, so when it is cancelled, playback keeps its position.

use super::Machine;
use super::reading::step_search::{Searched, StepSearch, Way};
use crate::bag::{CueAt, Direction, Key, Message, StartAt, TopicId};
use crate::output::Output;
use crate::player::command::Gate;
use crate::time::{Duration, Segment, Steady, Time, TimeRange};

/// The steps that were requested and have not been made.
#[derive(Debug, Default)]
pub(super) struct Steps {
    left: Left,
    /// The search for the message that a step leads to.
    search: Option<StepSearch>,
}

/// What is still to be sent while playback is paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Left {
    /// Nothing.
    #[default]
    None,
    /// This many messages; those of muted topics do not count.
    Next(u64),
    /// All messages up to and including this message of that topic.
    Through(TopicId, Key),
}

impl Steps {
    /// Whether messages are to be sent now.
    pub(super) fn are_left(&self) -> bool {
        self.left != Left::None
    }

    /// Whether there is something to send or to search for.
    pub(super) fn is_any(&self) -> bool {
        self.are_left() || self.search.is_some()
    }

    /// Cancels all of them.
    pub(super) fn cancel(&mut self) {
        *self = Self::default();
    }

    /// This many more steps; they replace steps to a message of a topic.
    fn add(&mut self, more: u64) {
        self.search = None;
        self.left = match self.left {
            Left::Next(left) => Left::Next(left.saturating_add(more)),
            Left::None | Left::Through(..) if more > 0 => Left::Next(more),
            Left::None | Left::Through(..) => Left::None,
        };
    }

    /// A message was taken; `went_out` is false if its topic is muted.
    pub(super) fn taken(&mut self, taken: Key, went_out: bool, segment: Segment) {
        self.left = match self.left {
            Left::Next(..=1) if went_out => Left::None,
            Left::Next(left) if went_out => Left::Next(left - 1),
            Left::Through(_, to) if taken == to || segment.is_before(to.time, taken.time) => {
                Left::None
            }
            left => left,
        }
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
            self.steps.add(n.unsigned_abs());
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
            0 => self.steps.cancel(),
            1.. => self.look_ahead(topic, n.unsigned_abs(), now),
        }
    }

    /// Refuses steps while the connection to the network is lost, because what is sent then is lost.
    fn refuses_steps(&self) -> bool {
        let is_refused = !self.conditions.gates().lets_steps_pass();
        if is_refused {
            tracing::warn!(
                "no step: the connection to the network is lost; step again when it is back"
            );
        }
        is_refused
    }

    /// Closes a gate and cancels steps that it does not let pass.
    pub(super) fn close(&mut self, gate: Gate) {
        self.conditions.close(gate);
        if self.is_stepping() && !self.conditions.gates().lets_steps_pass() {
            self.steps.cancel();
            tracing::warn!(
                "the steps that were left are given up: the connection to the network is lost"
            );
        }
    }

    /// At the limit: there is no message left to step to.
    pub(super) fn give_up_steps(&mut self) {
        self.steps.left = Left::None;
        say_nothing_lies(Way::Ahead);
    }

    fn look_ahead(&mut self, topic: TopicId, n: u64, now: Time<Steady>) {
        if self.search_further(Way::Ahead, Some(topic), n) {
            return;
        }
        let from = match self.steps.left {
            // Requested again before it was reached: search from its target on.
            Left::Through(known, to) if known == topic => Some(to),
            _ => {
                self.steps.left = Left::None;
                self.played.taken()
            }
        };
        let segment = self.segment();
        let at = CueAt {
            // A step does not go past the stop of `PlayUntil` or `PlayFor`.
            range: TimeRange::between(segment.entry(), segment.limit()),
            refill: false,
            only: Some(topic),
            ..self.cue_at(from.map_or(StartAt::At(self.here(now)), StartAt::After))
        };
        self.search(at, Way::Ahead, n);
    }

    /// Extends a running search of the same kind by `more` messages; `false` if there is none.
    fn search_further(&mut self, way: Way, topic: Option<TopicId>, more: u64) -> bool {
        let search = self.steps.search.as_mut();
        search.is_some_and(|search| search.extend(way, topic, more))
    }

    fn look_back(&mut self, topic: Option<TopicId>, n: u64, now: Time<Steady>) {
        if self.search_further(Way::Back, topic, n) {
            return;
        }
        self.steps.left = Left::None;
        let backwards = !self.segment().speed().is_reverse();
        let before = Duration::from_nanos(if backwards { -1 } else { 1 });
        // Without a topic: search before the last message that was sent. With a topic: before the last message
        // played, muted or not. If nothing was sent since a jump, all messages played since then were muted,
        // and the search passes over them anyway.
        let before_this = match topic {
            None => self.played.sent_or_taken(),
            Some(_) => self.played.taken(),
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
            range: self.segment().range(),
            refill: false,
            only: topic,
        };
        self.search(at, Way::Back, n);
    }

    fn search(&mut self, at: CueAt, way: Way, left: u64) {
        let cue = self.reader.search(at);
        self.steps.search = Some(StepSearch::new(way, at.only, left, cue));
    }

    /// Continues the search with what its cue has read; `true` if there is more to do at once.
    pub(super) fn search_for_step(&mut self, now: Time<Steady>, out: &mut dyn Output) -> bool {
        // The message found is sent at once, and nothing may be sent before unmuted topics have got their
        // latched state.
        let search = self.steps.search.as_mut();
        let Some(search) = search.filter(|_| !self.rejoins.are_left()) else {
            return false;
        };
        let way = search.way();
        match search.poll(|topic| self.report.is_muted(topic)) {
            Searched::Pending => return false,
            Searched::More => return true,
            Searched::Damage(damage) => {
                // Damage ahead will be met again when playback reaches it.
                if way == Way::Back {
                    self.report.damaged_one(damage);
                }
                return true;
            }
            Searched::Found => {}
            // There are fewer messages than steps: use the last one found.
            Searched::End => say_nothing_lies(way),
        }
        let found = self.steps.search.take().map(StepSearch::into_found);
        match (way, found) {
            (Way::Back, Some((_, Some(found)))) => self.land(&found, now, out),
            (Way::Ahead, Some((Some(topic), Some(found)))) => {
                self.steps.left = Left::Through(topic, found.key);
            }
            _ => {}
        }
        true
    }

    /// Jumps to a message and sends it; reading continues after it.
    fn land(&mut self, message: &Message, now: Time<Steady>, out: &mut dyn Output) {
        let landed = self.segment().seek(message.key.time);
        self.read_from(StartAt::After(message.key), landed, now, false);
        self.clock.owe_nothing();
        self.reader.begin();
        self.position.tell(out);
        self.show_clock(message.key.time, out);
        self.played.begin_after(message.key);
        self.hand_out(message, None, out);
    }
}
