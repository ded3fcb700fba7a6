//! Steps: messages sent one by one while playback is paused, and the searches that some steps need.
//!
//! A step forward takes messages from the cue. A step to a message of a topic first searches for that message
//! with a cue that reads only this topic. It then takes all messages up to it, so that no state between is left
//! out. A step back searches in the other direction and jumps to what it found. A search changes nothing until
//! it has found its message, so when it is cancelled, playback keeps its position.

use std::collections::VecDeque;

use super::Machine;
use super::answers::{Answers, Ticket};
use super::reading::step_search::{Searched, StepSearch, Way};
use crate::bag::{CueAt, Direction, Key, Message, StartAt, TopicId};
use crate::output::Output;
use crate::player::outcome::{Outcome, Short};
use crate::time::{Duration, Segment, Steady, Time, TimeRange};

/// The steps that were requested and have not been made.
#[derive(Debug, Default)]
pub(super) struct Steps {
    left: Left,
    /// The search for the message that a step leads to.
    search: Option<StepSearch>,
    /// Why less will be found than was requested.
    short: Option<Short>,
    /// The commands that wait for steps. With [`Left::Next`] each waits for its own number of messages, in order;
    /// otherwise all wait for the same end.
    requests: VecDeque<Request>,
}

/// What is still to be sent while playback is paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Left {
    /// Nothing.
    #[default]
    None,
    /// Messages for each request; those of muted topics do not count.
    Next,
    /// All messages up to and including this message of that topic.
    Through(TopicId, Key),
    /// The message that playback has jumped to.
    Landed,
}

/// A command that waits for steps.
#[derive(Debug)]
struct Request {
    ticket: Option<Ticket>,
    left: u64,
    sent: u64,
}

impl Steps {
    /// Whether messages are to be sent now.
    pub(super) fn are_left(&self) -> bool {
        self.left != Left::None
    }

    /// Whether the next message is the one that playback has jumped to.
    pub(super) fn have_landed(&self) -> bool {
        self.left == Left::Landed
    }

    /// Whether there is something to send or to search for.
    pub(super) fn is_any(&self) -> bool {
        self.are_left() || self.search.is_some()
    }

    /// Cancels all of them.
    pub(super) fn cancel(&mut self, why: Short, answers: &mut Answers) {
        self.short = Some(why);
        self.end(answers);
    }

    /// No steps are left: gives all waiting commands their outcome.
    fn end(&mut self, answers: &mut Answers) {
        let Self {
            requests, short, ..
        } = std::mem::take(self);
        for Request { ticket, sent, .. } in requests {
            answers.give(ticket, Outcome::Stepped { sent, short });
        }
    }

    /// This many more steps; they replace searches, and steps to a message of a topic.
    fn add(&mut self, more: u64, ticket: Option<Ticket>, answers: &mut Answers) {
        if self.search.is_some() || matches!(self.left, Left::Through(..) | Left::Landed) {
            self.cancel(Short::Replaced, answers);
        }
        if more > 0 {
            self.left = Left::Next;
            self.await_end(ticket, more);
        } else {
            answers.give(ticket, STAYED);
        }
    }

    fn await_end(&mut self, ticket: Option<Ticket>, left: u64) {
        match self.requests.back_mut() {
            // Neither has an outcome to give, so they can be counted together.
            Some(last) if ticket.is_none() && last.ticket.is_none() => {
                last.left = last.left.saturating_add(left);
            }
            _ => self.requests.push_back(Request {
                ticket,
                left,
                sent: 0,
            }),
        }
    }

    /// A message was taken; `went_out` is false if its topic is muted.
    pub(super) fn taken(
        &mut self,
        taken: Key,
        went_out: bool,
        segment: Segment,
        answers: &mut Answers,
    ) {
        match self.left {
            Left::None => return,
            Left::Next => {
                let Some(first) = self.requests.front_mut().filter(|_| went_out) else {
                    return;
                };
                first.sent += 1;
                first.left = first.left.saturating_sub(1);
                if first.left == 0 {
                    let (ticket, sent) = (first.ticket, first.sent);
                    self.requests.pop_front();
                    answers.give(ticket, Outcome::Stepped { sent, short: None });
                }
                if !self.requests.is_empty() {
                    return;
                }
                self.left = Left::None;
            }
            Left::Through(_, to) => {
                for request in &mut self.requests {
                    request.sent += u64::from(went_out);
                }
                if taken != to && !segment.is_before(to.time, taken.time) {
                    return;
                }
                self.left = Left::None;
            }
            Left::Landed => {
                for request in &mut self.requests {
                    request.sent += u64::from(went_out);
                }
                self.left = Left::None;
            }
        }
        if !self.is_any() {
            self.end(answers);
        }
    }
}

/// The outcome of no steps.
const STAYED: Outcome = Outcome::Stepped {
    sent: 0,
    short: None,
};

impl Machine {
    /// Pauses and steps `n` messages forward, or back if negative; with a topic, by messages of this topic.
    pub(super) fn step(
        &mut self,
        topic: Option<TopicId>,
        n: i64,
        ticket: Option<Ticket>,
        now: Time<Steady>,
    ) {
        self.stand(now);
        let more = n.unsigned_abs();
        match topic {
            None if n >= 0 => return self.steps.add(more, ticket, &mut self.answers),
            Some(_) if n == 0 => {
                self.steps.cancel(Short::Replaced, &mut self.answers);
                return self.answers.give(ticket, STAYED);
            }
            Some(topic) if n > 0 => self.search_ahead(topic, more, now),
            _ => self.search_back(topic, more, now),
        }
        self.steps.await_end(ticket, more);
    }

    /// At the limit: there is no message left to step to. A search goes on.
    pub(super) fn give_up_steps(&mut self) {
        self.steps.left = Left::None;
        self.steps.short = Some(Short::NoneAhead);
        if !self.steps.is_any() {
            self.steps.end(&mut self.answers);
        }
    }

    fn search_ahead(&mut self, topic: TopicId, n: u64, now: Time<Steady>) {
        if self.search_further(Way::Ahead, Some(topic), n) {
            return;
        }
        let from = match self.steps.left {
            // Requested again before it was reached: search from its target on.
            Left::Through(known, to) if known == topic => Some(to),
            _ => {
                self.steps.cancel(Short::Replaced, &mut self.answers);
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

    fn search_back(&mut self, topic: Option<TopicId>, n: u64, now: Time<Steady>) {
        if self.search_further(Way::Back, topic, n) {
            return;
        }
        self.steps.cancel(Short::Replaced, &mut self.answers);
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
        // The message found is sent next, and nothing may be sent before unmuted topics have got their
        // latched state.
        let may_send = self.conditions.gates().lets_steps_pass() && !self.rejoins.are_left();
        let search = self.steps.search.as_mut();
        let Some(search) = search.filter(|_| may_send) else {
            return false;
        };
        let way = search.way();
        match search.poll(|topic| self.report.is_muted(topic)) {
            Searched::Pending => return false,
            Searched::More => return true,
            Searched::Damage(damage) => {
                // Damage ahead will be met again when playback reaches it.
                if way == Way::Back {
                    self.report.damaged_one(&damage);
                }
                return true;
            }
            Searched::Found => {}
            // There are fewer messages than steps: use the last one found.
            Searched::End => {
                self.steps.short = Some(match way {
                    Way::Ahead => Short::NoneAhead,
                    Way::Back => Short::NoneBehind,
                });
            }
        }
        let found = self.steps.search.take().map(StepSearch::into_found);
        match (way, found) {
            (Way::Back, Some((_, Some(found)))) => self.land(found, now, out),
            (Way::Ahead, Some((Some(topic), Some(found)))) => {
                self.steps.left = Left::Through(topic, found.key);
            }
            _ if self.steps.are_left() => {}
            _ => self.steps.end(&mut self.answers),
        }
        true
    }

    /// Jumps to a message and shows its time; it is the next one to be sent.
    fn land(&mut self, message: Message, now: Time<Steady>, out: &mut dyn Output) {
        let steps = std::mem::take(&mut self.steps);
        let (key, segment) = (message.key, self.segment());
        self.read_from(StartAt::After(key), segment.seek(key.time), now, false);
        self.clock.owe_nothing();
        self.reader.begin();
        self.reader.put(message);
        self.steps = steps;
        self.steps.left = Left::Landed;
        self.position.tell(out);
        self.show_clock(key.time, out);
        self.clock.announced();
    }
}
