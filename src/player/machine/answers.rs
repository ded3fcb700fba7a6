//! [`Answers`]: what became of the commands whose senders want to know it.

use std::collections::VecDeque;

use super::Machine;
use crate::player::outcome::{Outcome, Refusal};
use crate::time::{Ros, Time};

/// Names a command whose outcome is wanted. Chosen by whoever sends it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ticket(pub u64);

#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Jumps that have not taken effect, and where they lead.
    jumps: Vec<(Ticket, Time<Ros>)>,
    /// Outcomes that have not been taken.
    known: VecDeque<(Ticket, Outcome)>,
}

impl Answers {
    /// The outcome of a command. Nobody may want to know it.
    pub(super) fn give(&mut self, ticket: Option<Ticket>, outcome: Outcome) {
        self.known.extend(ticket.map(|ticket| (ticket, outcome)));
    }

    /// A jump to `at` takes effect later.
    pub(super) fn await_jump(&mut self, ticket: Option<Ticket>, at: Time<Ros>) {
        self.jumps.extend(ticket.map(|ticket| (ticket, at)));
    }

    /// All jumps have taken effect.
    pub(super) fn jumps_are_done(&mut self) {
        let landed = |(ticket, at)| (ticket, Outcome::Landed(at));
        self.known.extend(self.jumps.drain(..).map(landed));
    }

    /// Jumps that have not taken effect will not do so any more.
    pub(super) fn refuse_jumps(&mut self, refusal: Refusal) {
        let refused = |(ticket, _)| (ticket, Outcome::Refused(refusal));
        self.known.extend(self.jumps.drain(..).map(refused));
    }
}

impl Machine {
    /// The next known outcome of a command that was sent with [`Machine::ask`].
    pub fn answer(&mut self) -> Option<(Ticket, Outcome)> {
        self.answers.known.pop_front()
    }
}
