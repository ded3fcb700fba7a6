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
    /// Passes on commands until `until` is disconnected. Commands that wait then have 300 ms, all together, or what
    /// [`Attached::leave_within`] has set; after that they are refused. `failed` gets the reasons of those that were
    /// refused or not answered.
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
            let status = self.publish_known();
            asked.answer(outcome, status);
        }
    }

    /// From now on all calls have this long, together, except for those that are under way: these end after the timeout
    /// of the client. To be called at the end.
    pub fn leave_within(&self, patience: Duration) {
        self.client.end_within(patience);
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
                self.end = Some(self.attached.client.end_within(AT_THE_END));
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
        // Of seeks that wait, only the last one matters.
        if is_seek(asked) && self.queue.front().is_some_and(is_seek) {
            self.attached.known().seeks += 1;
            self.missed = self.missed.saturating_sub(1);
            return Ok(Outcome::Refused(Refusal::Replaced));
        }
        let outcome = self.carry_out(asked);
        if is_seek(asked) {
            self.attached.known().seeks += 1;
        }
        outcome
    }

    fn carry_out(&mut self, asked: &Asked) -> Result<Outcome, RequestError> {
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
        // What the player does now belongs to the answer; if it is not known, what was known before. A command may take
        // long although the player answers.
        let known = self.attached.refresh();
        if known.is_err_and(|error| error.is_silence()) {
            self.fill();
            self.missed = self.queue.len();
        }
        outcome
    }
}
