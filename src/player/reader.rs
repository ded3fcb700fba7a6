//! [`Reader`]: the machine's end of the read-ahead: the one message in hand, and which cue feeds it.
//!
//! A jump replaces the cue; nothing of the old one can arrive any more. The cue of the next lap is
//! begun when the current one has been read to its end, so that a lap starts without a wait.

use std::fmt;

use crate::bag::{Cue, CueAt, CuePoll, Cued, Damage, Message};

/// Makes a cue: a bag's read-ahead, or what a test feeds by hand.
pub type Source = Box<dyn FnMut(CueAt) -> Cue + Send>;

/// What comes from the cue besides the messages that are due in turn.
pub(super) enum Extra {
    /// A latched message to send again.
    Refill(Message),
    /// A place in the recording that could not be read.
    Damage(Damage),
}

pub(super) struct Reader {
    source: Source,
    wanted: Option<CueAt>,
    cue: Option<Cue>,
    lap: Option<Cue>,
    next: Option<Message>,
    is_read_out: bool,
}

impl Reader {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            wanted: None,
            cue: None,
            lap: None,
            next: None,
            is_read_out: false,
        }
    }

    /// Reads from somewhere else, from the next [`Reader::begin`] on: jumps in between cost nothing.
    pub(super) fn jump(&mut self, at: CueAt) {
        self.wanted = Some(at);
        (self.cue, self.lap, self.next, self.is_read_out) = (None, None, None, false);
    }

    /// Starts the cue that was asked for last, if there was one.
    pub(super) fn begin(&mut self) {
        if let Some(at) = self.wanted.take() {
            let cue = (self.source)(at);
            cue.lead();
            self.cue = Some(cue);
        }
    }

    /// A cue of its own, for a look elsewhere.
    pub(super) fn look(&mut self, at: CueAt) -> Cue {
        (self.source)(at)
    }

    /// Starts reading the next lap once this one has been read out.
    pub(super) fn prepare_lap(&mut self, at: CueAt) {
        if self.is_read_out && self.lap.is_none() {
            self.lap = Some((self.source)(at));
        }
    }

    /// Goes over to the next lap.
    pub(super) fn begin_lap(&mut self, at: CueAt) {
        match self.lap.take() {
            Some(lap) => {
                self.jump(at);
                lap.lead();
                (self.wanted, self.cue) = (None, Some(lap));
            }
            None => self.jump(at),
        }
    }

    /// Takes from the cue until a message is in hand, it is empty, or something else came out of it.
    pub(super) fn pull(&mut self) -> Option<Extra> {
        while self.next.is_none() && !self.is_read_out {
            match self.cue.as_mut()?.poll() {
                CuePoll::Item(Cued::Message(message)) => self.next = Some(message),
                CuePoll::Item(Cued::Refill(message)) => return Some(Extra::Refill(message)),
                CuePoll::Item(Cued::Damage(damage)) => return Some(Extra::Damage(damage)),
                CuePoll::End => self.is_read_out = true,
                CuePoll::Pending => return None,
            }
        }
        None
    }

    /// The message in hand.
    pub(super) fn next(&self) -> Option<&Message> {
        self.next.as_ref()
    }

    /// Gives the message in hand away.
    pub(super) fn take(&mut self) -> Option<Message> {
        self.next.take()
    }

    /// Whether it is known what comes next: a message, or the end.
    pub(super) fn is_primed(&self) -> bool {
        self.next.is_some() || self.is_read_out
    }

    /// Whether every message has been taken.
    pub(super) fn is_exhausted(&self) -> bool {
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
