//! [`Elsewhere`]: the end of a [`Transport`] whose player runs in another process. Commands come out of it, and what is
//! known of the player goes into it; who holds the [`Transport`] notices no difference.

use std::convert::Infallible;

use crossbeam_channel::{Receiver, select};

use super::command::{Command, Status};
use super::outcome::{Answer, Outcome};
use super::report::counts::{Tally, TopicCounts};
use super::transport::{Reply, Request, Transport};
use crate::bag::TopicId;
use crate::time::{Steady, Time};

/// Stands for a player in another process.
#[derive(Debug)]
pub struct Elsewhere {
    transport: Transport,
    inbox: Receiver<Request>,
    tally: Tally,
}

/// A command that is to be passed on. If it is dropped without an answer, its sender learns that the player has
/// stopped.
#[derive(Debug)]
pub struct Asked {
    /// The command.
    pub command: Command,
    reply: Option<Reply>,
}

impl Asked {
    /// Tells the sender what became of the command.
    pub fn answer(self, outcome: Outcome, status: Status) {
        if let Some(reply) = self.reply {
            reply.give(Answer { outcome, status });
        }
    }
}

impl Elsewhere {
    /// Behind `transport`, whose commands come from `inbox`.
    pub(super) fn new(
        transport: Transport,
        inbox: Receiver<Request>,
        topics: usize,
        status: Status,
    ) -> Self {
        let tally = Tally::new(topics);
        transport.follow(&tally);
        transport.publish(status);
        Self {
            transport,
            inbox,
            tally,
        }
    }

    /// A handle to control and observe the player.
    pub fn transport(&self) -> Transport {
        self.transport.clone()
    }

    /// The present instant, for the segments of [`Elsewhere::publish`].
    pub fn now(&self) -> Time<Steady> {
        self.transport.now()
    }

    /// The next command; `None` once `until` is disconnected.
    pub fn next(&self, until: &Receiver<Infallible>) -> Option<Asked> {
        select! {
            recv(self.inbox) -> request => request.ok().map(Asked::new),
            recv(until) -> _ => None,
        }
    }

    /// The next command, if it is there already.
    pub fn waiting(&self) -> Option<Asked> {
        self.inbox.try_recv().ok().map(Asked::new)
    }

    /// What the player is doing now.
    pub fn publish(&self, status: Status) {
        self.transport.publish(status);
    }

    /// What was sent on a topic so far, and whether it is muted.
    pub fn publish_counts(&self, topic: TopicId, counts: TopicCounts, is_muted: bool) {
        self.tally.set(topic, counts);
        self.tally.set_muted(topic, is_muted);
    }
}

impl Asked {
    fn new(Request { command, reply }: Request) -> Self {
        Self { command, reply }
    }
}
