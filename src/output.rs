//! [`Output`]: where the player's messages and clock go, and two of its implementations.
//!
//! The third and main one is on zenoh, in `wire`. The player calls it from one thread, in the order in
//! which things are to be seen: after a jump `segment`, `clock`, refills, messages.

use crate::bag::{Message, TopicId};
use crate::time::{Ros, Segment, Time};

/// Why a message goes out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Occasion {
    /// Its time has come, or it was stepped to.
    Due,
    /// A late joiner of the topic would have it at this position: sent again after a jump.
    Refill,
}

/// What became of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Delivery {
    /// It was handed on.
    Sent,
    /// The output could not take it and says so.
    Dropped,
}

/// The player's way out.
pub trait Output {
    /// The segment has changed; a new generation is a jump.
    fn segment(&mut self, segment: &Segment);
    /// The clock shows `time`.
    fn clock(&mut self, time: Time<Ros>);
    /// A message. Blocks as long as the output cannot take it and may not drop it.
    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery;
}

/// Takes everything, does nothing: for `--wire null`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

impl Output for Null {
    fn segment(&mut self, _: &Segment) {}
    fn clock(&mut self, _: Time<Ros>) {}
    fn message(&mut self, _: &Message, _: Occasion) -> Delivery {
        Delivery::Sent
    }
}

/// One call of an [`Output`], as [`Recording`] writes it down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The segment changed.
    Segment(Segment),
    /// The clock was sent.
    Clock(Time<Ros>),
    /// A message was sent: topic, log time, why.
    Message(TopicId, Time<Ros>, Occasion),
}

/// Writes down what it is told, through a function: for tests and for programs that want the order.
pub struct Recording<F>(pub F);

impl<F: FnMut(Event)> Output for Recording<F> {
    fn segment(&mut self, segment: &Segment) {
        (self.0)(Event::Segment(*segment));
    }
    fn clock(&mut self, time: Time<Ros>) {
        (self.0)(Event::Clock(time));
    }
    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        (self.0)(Event::Message(message.topic, message.log_time, occasion));
        Delivery::Sent
    }
}

impl<F> std::fmt::Debug for Recording<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}
