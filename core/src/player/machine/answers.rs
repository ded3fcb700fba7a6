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
    /// Jumps that have not taken effect.
    jumps: Vec<Jump>,
    /// Outcomes that have not been taken.
    known: VecDeque<(Ticket, Outcome)>,
}

/// A jump that has not taken effect.
#[derive(Clone, Copy, Debug)]
struct Jump {
    ticket: Ticket,
    /// Where it leads.
    at: Time<Ros>,
    /// It follows from another range to play, which stays if another jump replaces this one.
    is_of_range: bool,
}

impl Answers {
    /// Keeps the outcome of a command, if it has a ticket.
    pub(super) fn give(&mut self, ticket: Option<Ticket>, outcome: Outcome) {
        self.known.extend(ticket.map(|ticket| (ticket, outcome)));
    }

    /// A jump to `at` takes effect later; `is_of_range`: it follows from another range to play.
    pub(super) fn await_jump(&mut self, ticket: Option<Ticket>, at: Time<Ros>, is_of_range: bool) {
        self.jumps.extend(ticket.map(|ticket| Jump {
            ticket,
            at,
            is_of_range,
        }));
    }

    /// All jumps have taken effect.
    pub(super) fn jumps_are_done(&mut self) {
        let landed = |jump: Jump| (jump.ticket, Outcome::Landed(jump.at));
        self.known.extend(self.jumps.drain(..).map(landed));
    }

    /// Jumps that have not taken effect will not do so any more.
    pub(super) fn refuse_jumps(&mut self, refusal: Refusal) {
        let outcome = |jump: Jump| {
            let is_done = jump.is_of_range && refusal == Refusal::Replaced;
            let refused = Outcome::Refused(refusal);
            (jump.ticket, if is_done { Outcome::Done } else { refused })
        };
        self.known.extend(self.jumps.drain(..).map(outcome));
    }
}

impl Machine {
    /// The next known outcome of a command that was sent with [`Machine::ask`].
    pub fn answer(&mut self) -> Option<(Ticket, Outcome)> {
        self.answers.known.pop_front()
    }
}
