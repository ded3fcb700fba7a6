//! [`Attached::pass_on_commands`]: passes on the commands for a player elsewhere, in their order.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::iter;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError};

use super::attached::Attached;
use super::request_error::RequestError;
use crate::player::{Asked, Command, Outcome, Refusal};
use crate::wire::net::now::steady;

/// How long the commands that wait at the end may take, all together.
const AT_THE_END: Duration = Duration::from_millis(300);
/// How many commands may wait here; more wait in their channel.
const WAITING: usize = 256;

impl Attached<'_> {
    /// Passes on commands until `until` is disconnected. Commands that wait then have 300 ms, all together; after that
    /// they are refused. `failed` gets the reasons of those that were refused or not answered.
    ///
    /// A command that is not answered may be carried out all the same. Those that wait meanwhile are refused, and so is
    /// every command while [`Attached::observe`] finds that the player does not answer ([`RequestError::Silent`]).
    pub fn pass_on_commands(&self, until: &Receiver<Infallible>, failed: impl Fn(&RequestError)) {
        let mut commands = Waiting::new(self, until);
        while let Some(asked) = commands.next() {
            let outcome = commands.pass_on(&asked).unwrap_or_else(|error| {
                failed(&error);
                Outcome::Refused(Refusal::Elsewhere)
            });
            let status = self.known().status();
            self.elsewhere.publish(status);
            asked.answer(outcome, status);
        }
        self.client.end_at(None);
    }
}

/// Commands that have not been passed on yet.
struct Waiting<'a> {
    attached: &'a Attached<'a>,
    until: &'a Receiver<Infallible>,
    queue: VecDeque<Asked>,
    /// When none is passed on any more; `None` as long as `until` is not disconnected.
    end: Option<Instant>,
    /// How many of the next ones were sent while another one was not answered.
    missed: usize,
}

impl<'a> Waiting<'a> {
    const fn new(attached: &'a Attached<'a>, until: &'a Receiver<Infallible>) -> Self {
        Self {
            attached,
            until,
            queue: VecDeque::new(),
            end: None,
            missed: 0,
        }
    }

    /// The next command, which may be waited for; `None` when there is none any more.
    fn next(&mut self) -> Option<Asked> {
        if self.end.is_none() {
            if self.queue.is_empty() {
                self.queue.extend(self.attached.elsewhere.next(self.until));
            }
            self.fill();
            if self.until.try_recv() == Err(TryRecvError::Disconnected) {
                let end = steady() + AT_THE_END;
                self.attached.client.end_at(Some(end));
                self.end = Some(end);
            }
        }
        self.queue.pop_front()
    }

    fn fill(&mut self) {
        let room = WAITING.saturating_sub(self.queue.len());
        let waiting = iter::from_fn(|| self.attached.elsewhere.waiting());
        self.queue.extend(waiting.take(room));
    }

    /// Passes on a command, and asks for what the player does then.
    fn pass_on(&mut self, asked: &Asked) -> Result<Outcome, RequestError> {
        let is_seek = |asked: &Asked| matches!(asked.command, Command::Seek(_));
        if is_seek(asked) {
            self.attached.known().seeks += 1;
            // Of seeks that wait, only the last one matters.
            if self.queue.front().is_some_and(is_seek) {
                self.missed = self.missed.saturating_sub(1);
                return Ok(Outcome::Refused(Refusal::Replaced));
            }
        }
        if self.missed > 0 || !self.attached.answers() {
            self.missed = self.missed.saturating_sub(1);
            return Err(RequestError::Silent);
        }
        if self.end.is_some_and(|end| steady() >= end) {
            return Err(RequestError::TooLate);
        }
        let outcome = self.attached.carry_out(asked.command);
        let is_jump = matches!(asked.command, Command::SeekBy(_) | Command::PlayFrom { .. });
        if is_jump && outcome.is_ok() {
            self.attached.known().seeks += 1;
        }
        let is_answered = match &outcome {
            Err(error) if error.is_silence() => false,
            // What the player does now belongs to the answer; if it is not known, what was known before.
            _ => {
                let known = self.attached.refresh();
                !known.is_err_and(|error| error.is_silence())
            }
        };
        if !is_answered {
            self.fill();
            self.missed = self.queue.len();
        }
        outcome
    }
}
