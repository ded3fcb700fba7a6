//! [`Reader`]: the machine's end of the read-ahead: the one next message, and the cue that it comes from.
//!
//! A jump replaces the cue; nothing from the old cue can arrive after it. The cue of the next lap starts when
//! the current one has been read to its end, so that a lap starts without a wait.
//!
//! Only this file sets the time at which a message is played. It is the time of the message or, if that is
//! before the time of the previous message in the direction of play, the time of the previous message. So
//! playback never runs against its direction, even in a file whose messages are out of order.

use std::fmt;

use crate::bag::{Cue, CueAt, CuePoll, Cued, Damage, Direction, Message, TopicId};
use crate::player::source::Source;
use crate::time::{Ros, Time};

/// What comes from the cue besides messages that are due in their turn.
pub(crate) enum Extra {
    /// A latched message to send again.
    Refill(Message),
    /// A place in the recording that could not be read.
    Damage(Damage),
}

pub(crate) struct Reader {
    source: Source,
    wanted: Option<CueAt>,
    cue: Option<Cue>,
    lap: Option<Cue>,
    direction: Direction,
    next: Option<InHand>,
    /// The time at which the last message taken was played; before the first one, where reading began.
    reached: Time<Ros>,
    is_read_out: bool,
}

/// A message and the time at which it is played.
#[derive(Debug)]
pub(crate) struct InHand {
    pub(crate) message: Message,
    pub(crate) at: Time<Ros>,
}

impl Reader {
    pub(crate) fn new(source: Source) -> Self {
        Self {
            source,
            wanted: None,
            cue: None,
            lap: None,
            direction: Direction::Forward,
            next: None,
            reached: Time::MIN,
            is_read_out: false,
        }
    }

    /// Reads from another place, from the next [`Reader::begin`] on: jumps before that cost nothing.
    pub(crate) fn jump(&mut self, at: CueAt) {
        self.wanted = Some(at);
        (self.direction, self.reached) = (at.direction, at.from.time());
        (self.cue, self.lap, self.next, self.is_read_out) = (None, None, None, false);
    }

    /// Starts the cue that was requested last, if there is one.
    pub(crate) fn begin(&mut self) {
        if let Some(at) = self.wanted.take() {
            let cue = self.source.start(at);
            cue.lead();
            self.cue = Some(cue);
        }
    }

    /// A separate cue, for a search.
    pub(crate) fn search(&mut self, at: CueAt) -> Cue {
        self.source.start(at)
    }

    /// Starts the cue of the next lap once the current one has been read to its end.
    pub(crate) fn prepare_lap(&mut self, at: CueAt) {
        if self.is_read_out && self.lap.is_none() {
            self.lap = Some(self.source.start(at));
        }
    }

    /// Changes to the cue of the next lap.
    pub(crate) fn begin_lap(&mut self, at: CueAt) {
        match self.lap.take() {
            Some(lap) => {
                self.jump(at);
                lap.lead();
                (self.wanted, self.cue) = (None, Some(lap));
            }
            None => self.jump(at),
        }
    }

    /// Reads from the cue until a message is held, nothing more is ready, or a refill or damage comes.
    pub(crate) fn pull(&mut self) -> Option<Extra> {
        while self.next.is_none() && !self.is_read_out {
            match self.cue.as_mut()?.poll() {
                CuePoll::Item(Cued::Message(message)) => self.hold(message),
                CuePoll::Item(Cued::Refill(message)) => return Some(Extra::Refill(message)),
                CuePoll::Item(Cued::Damage(damage)) => return Some(Extra::Damage(damage)),
                CuePoll::End => self.is_read_out = true,
                CuePoll::Pending => return None,
            }
        }
        None
    }

    /// The message that is held, or else the next one if it has been handed over already, and the time at which it is
    /// played.
    #[inline]
    pub(crate) fn at_hand(&self) -> Option<(&Message, Time<Ros>)> {
        if let Some(InHand { message, at }) = &self.next {
            return Some((message, *at));
        }
        let message = self.cue.as_ref()?.at_hand()?;
        Some((message, self.played_at(message)))
    }

    /// Takes the message at hand, which is played at `at`.
    #[inline]
    pub(crate) fn pass(&mut self, at: Time<Ros>) {
        self.reached = at;
        if self.next.take().is_none()
            && let Some(cue) = &mut self.cue
        {
            cue.pass();
        }
    }

    fn hold(&mut self, message: Message) {
        let at = self.played_at(&message);
        self.next = Some(InHand { message, at });
    }

    #[inline]
    fn played_at(&self, message: &Message) -> Time<Ros> {
        match self.direction {
            Direction::Forward => message.key.time.max(self.reached),
            Direction::Reverse => message.key.time.min(self.reached),
        }
    }

    /// The time at which the message that is held is played.
    pub(crate) fn next(&self) -> Option<Time<Ros>> {
        self.next.as_ref().map(|next| next.at)
    }

    /// The time at which the last message taken was played; before the first one, where reading began.
    pub(crate) fn reached(&self) -> Time<Ros> {
        self.reached
    }

    /// Holds this message before all that the cue reads: the one after which reading begins.
    pub(crate) fn put(&mut self, message: Message) {
        let at = message.key.time;
        self.next = Some(InHand { message, at });
    }

    /// The topic of the message that is held, and the time at which it is played.
    pub(crate) fn peek(&self) -> Option<(TopicId, Time<Ros>)> {
        let next = self.next.as_ref();
        next.map(|next| (next.message.topic, next.at))
    }

    /// Takes the message that is held.
    pub(crate) fn take(&mut self) -> Option<InHand> {
        let next = self.next.take()?;
        self.reached = next.at;
        Some(next)
    }

    /// The recorded name of a topic.
    #[inline]
    pub(crate) fn name(&self, topic: TopicId) -> Option<&str> {
        self.source.name(topic)
    }

    /// Whether it is known what comes next: a message, or the end.
    pub(crate) fn is_primed(&self) -> bool {
        self.next.is_some() || self.is_read_out
    }

    /// Whether every message has been taken.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.next.is_none() && self.is_read_out
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("next", &self.next)
            .field("is_read_out", &self.is_read_out)
            .finish_non_exhaustive()
    }
}
