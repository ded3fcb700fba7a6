//! [`Known`]: one thread, and what is remembered of it from look to look.

use crate::ci::settle::look::{Ran, Seen, State, ThreadId, Why};

/// How much is remembered of where a thread stood at earlier marks.
const MEMORY: i8 = 3;
/// How many looks of marks have to find a new thread running until it counts as one that does not sleep by itself.
const MARK_LOOKS: u8 = 16;

/// One thread, and what is remembered of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) thread: ThreadId,
    pub(super) ran: Ran,
    /// How much it had run at the mark; `None` if it did not exist.
    pub(super) marked: Option<Ran>,
    /// Above zero: it stood in `nanosleep` at most of the last marks. Below: it stood elsewhere. Zero: not known.
    rests: i8,
    /// Where it stood when it was last read: in `nanosleep` or elsewhere.
    slept: Option<bool>,
    /// The last mark found it running or runnable.
    ran_at_mark: bool,
    /// How many looks of marks found it running, after it had run since the look before, while nothing else was known
    /// of it.
    asked: u8,
    /// How many looks found it in the way.
    pub(super) blamed: u32,
    pub(super) why: Why,
}

impl Known {
    /// A thread that no look has seen before.
    pub(super) const fn new(seen: &Seen) -> Self {
        Self {
            thread: seen.thread,
            ran: seen.ran,
            marked: None,
            rests: 0,
            slept: None,
            ran_at_mark: false,
            asked: 0,
            blamed: 1,
            why: Why::IsNew,
        }
    }

    pub(super) fn in_the_way(&self, seen: &Seen) -> Option<Why> {
        match seen.state {
            Some(State::Runs) => Some(Why::Runs),
            Some(State::WaitsForDevice) => Some(Why::WaitsForDevice),
            Some(State::Stopped) => Some(Why::Stopped),
            Some(State::Waits | State::Ended) | None => {
                let has_run = self.marked != Some(seen.ran);
                (seen.sleeps == Some(true) && has_run && self.rests <= 0).then_some(Why::Sleeps)
            }
        }
    }

    /// Whether the last mark found it running or runnable, and nothing else is known of it. It may have been about to
    /// wait: then it stands somewhere by now and has not run since.
    pub(super) const fn is_unknown(&self) -> bool {
        self.ran_at_mark && self.rests == 0
    }

    /// Learns from a look of a mark where the thread stands by itself. False if that is still not known.
    pub(super) fn learn(&mut self, seen: &Seen) -> bool {
        let has_run = self.marked.is_some_and(|marked| marked != seen.ran);
        (self.ran, self.marked) = (seen.ran, Some(seen.ran));
        self.ran_at_mark = seen.sleeps.is_none() && seen.state == Some(State::Runs);
        if self.ran_at_mark {
            // A runnable thread that got no processor is no evidence.
            if self.rests == 0 && has_run {
                self.asked = self.asked.saturating_add(1);
                // One that is never found waiting does not sleep by itself.
                self.rests = -i8::from(self.asked >= MARK_LOOKS);
            }
            return self.rests != 0;
        }
        self.slept = seen.sleeps.or(self.slept);
        let step = match self.slept {
            Some(true) => 1,
            Some(false) => -1,
            // This process may not know.
            None => 0,
        };
        self.rests = (self.rests + step).clamp(-MEMORY, MEMORY);
        true
    }

    pub(super) fn blame(&mut self, why: Why) {
        self.blamed = self.blamed.saturating_add(1);
        self.why = why;
    }
}
