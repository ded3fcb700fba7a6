//! [`Answers`]: the outcomes of the commands that were sent with a ticket.

use std::collections::VecDeque;

use super::Machine;
use crate::player::outcome::{Outcome, Refusal};
use crate::time::{Ros, Time};

/// Identifies a command whose outcome is requested. Its sender chooses the number.
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
    /// Keeps the outcome of a command, if it has a ticket.
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
