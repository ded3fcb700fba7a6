//! [`Output`]: where the player sends messages and clock, and two of its implementations. The main
//! implementation is on zenoh, in `wire`.
//!
//! The player calls it from one thread, in the order in which subscribers must see the effects: after a jump
//! `segment`, `clock`, refills, messages.

use bytes::Bytes;

use crate::bag::{Message, TopicId};
use crate::time::{Duration, Ros, Segment, Time};

/// Why a message is sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Occasion {
    /// It is due, or was stepped to.
    Due,
    /// It is sent again after a jump, because a late joiner would receive it at this position.
    Refill,
}

/// What became of a message.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Delivery {
    /// The output took it as it is recorded.
    Sent,
    /// The output took it in another form: with this payload.
    Transcoded(Bytes),
    /// The output could not take it.
    Dropped,
}

impl Delivery {
    /// Whether the output took the message, in whatever form.
    pub fn is_sent(&self) -> bool {
        matches!(self, Self::Sent | Self::Transcoded(_))
    }
}

/// Where the player sends what it plays.
pub trait Output {
    /// The segment has changed; a new generation means a jump.
    fn segment(&mut self, segment: &Segment);
    /// The clock now shows `time`.
    fn clock(&mut self, time: Time<Ros>);
    /// A command has changed how the clock is served: with this period from now on, or no longer. The output declares
    /// it before the next [`Output::clock`]. A clock that is served from the start is not announced by this call: the
    /// output knows it from its construction. Returns whether a clock is served now. An output around another one
    /// calls its `serve_clock`.
    fn serve_clock(&mut self, period: Option<Duration>) -> bool;
    /// Sends a message. Blocks as long as the output cannot take it and may not drop it.
    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery;
    /// The player's thread calls another output now, which may wait for its subscribers (`true`), or is done with it.
    /// An output that repeats its clock while a message waits does so meanwhile. Called only where there are several
    /// outputs.
    fn waits_elsewhere(&mut self, _is_waiting: bool) {}
    /// Called after the last message. Returns when every message has been passed on; only outputs with a queue have to
    /// wait. An output around another one calls its `finish`.
    fn finish(&mut self);
}

/// Discards everything; for `--wire null`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

impl Output for Null {
    fn segment(&mut self, _: &Segment) {}
    fn clock(&mut self, _: Time<Ros>) {}
    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        period.is_some()
    }
    fn message(&mut self, _: &Message, _: Occasion) -> Delivery {
        Delivery::Sent
    }
    fn finish(&mut self) {}
}

/// One call of an [`Output`], as [`Recording`] passes it on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The segment changed.
    Segment(Segment),
    /// The clock was sent.
    Clock(Time<Ros>),
    /// The clock is served with this period from now on, or no longer.
    ServeClock(Option<Duration>),
    /// A message was sent: topic, log time, reason.
    Message(TopicId, Time<Ros>, Occasion),
}

/// Passes each call to a function; for tests and for programs that need the order of the calls.
pub struct Recording<F>(pub F);

impl<F: FnMut(Event)> Output for Recording<F> {
    fn segment(&mut self, segment: &Segment) {
        (self.0)(Event::Segment(*segment));
    }
    fn clock(&mut self, time: Time<Ros>) {
        (self.0)(Event::Clock(time));
    }
    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        (self.0)(Event::ServeClock(period));
        period.is_some()
    }
    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        (self.0)(Event::Message(message.topic, message.log_time, occasion));
        Delivery::Sent
    }
    fn finish(&mut self) {}
}

impl<F> std::fmt::Debug for Recording<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}
