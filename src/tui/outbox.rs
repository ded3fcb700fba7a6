//! [`Outbox`]: the screen's commands for the player, in order, sent as far as the player accepts them.
//!
//! A stuck player accepts nothing, so nothing here waits. Of successive seeks only the last one per frame is sent.
//! After a quit nothing is sent any more, not even earlier commands.

use std::collections::VecDeque;

use crate::player::{Command, Outcome, PendingAnswer, Transport};
use crate::time::{Duration, Ros, Steady, Time};

/// The shortest interval between frames, and between seeks: 30 a second, also if each is a millisecond late.
pub(super) const FRAME: Duration = Duration::from_millis(32);

/// How many answers are waited for.
const MAX_PENDING: usize = 256;

/// Commands on their way to the player.
#[derive(Debug)]
pub(super) struct Outbox {
    transport: Transport,
    /// The commands that have not been sent; `None` after a quit.
    unsent: Option<VecDeque<Command>>,
    /// The answers that have not come, in order, each with the number of its command.
    pending: VecDeque<(u64, PendingAnswer)>,
    /// How many commands were sent.
    sent: u64,
    /// The outcomes that were not taken yet; of equal successive ones the first.
    outcomes: Vec<Outcome>,
    last_seek_at: Time<Steady>,
}

impl Outbox {
    pub(super) fn new(transport: Transport) -> Self {
        Self {
            transport,
            unsent: Some(VecDeque::new()),
            pending: VecDeque::new(),
            sent: 0,
            outcomes: Vec::new(),
            last_seek_at: Time::MIN,
        }
    }

    /// Queues a command for the next [`Outbox::send`]. A seek replaces a preceding seek that was not sent.
    pub(super) fn push(&mut self, command: Command) {
        let is_seek = |command: &Command| matches!(command, Command::Seek(_));
        let Some(unsent) = &mut self.unsent else {
            return;
        };
        if is_seek(&command) && unsent.back().is_some_and(is_seek) {
            unsent.pop_back();
        }
        unsent.push_back(command);
    }

    /// Quits: nothing is sent from now on.
    pub(super) fn close(&mut self) {
        self.unsent = None;
    }

    /// Whether there is a command to send.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent
            .as_ref()
            .is_some_and(|unsent| !unsent.is_empty())
    }

    /// Whether all commands have taken effect, apart from steps that are still made.
    pub(super) fn is_settled(&mut self) -> bool {
        self.collect();
        let is_last = |(number, _): &(u64, PendingAnswer)| *number == self.sent;
        !self.pending.back().is_some_and(is_last) && !self.has_unsent()
    }

    /// Whether there are commands that have not been answered.
    pub(super) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The outcomes of commands since the last call.
    pub(super) fn outcomes(&mut self) -> Vec<Outcome> {
        self.collect();
        std::mem::take(&mut self.outcomes)
    }

    fn collect(&mut self) {
        let outcomes = &mut self.outcomes;
        self.pending.retain(|(_, answer)| {
            if let Ok(Some(answer)) = answer.get() {
                outcomes.push(answer.outcome);
            }
            !answer.has_come()
        });
        outcomes.dedup();
    }

    /// Sends what the player accepts at `now`; returns the targets of the seeks that were sent, in order.
    pub(super) fn send(&mut self, now: Time<Steady>) -> Vec<Time<Ros>> {
        let mut sent_seeks = Vec::new();
        let Some(unsent) = &mut self.unsent else {
            return sent_seeks;
        };
        let has_seek = unsent.iter().any(|it| matches!(it, Command::Seek(_)));
        if has_seek && now < self.last_seek_at.saturating_add(FRAME) {
            return sent_seeks;
        }
        while let Some(command) = unsent.front() {
            match self.transport.try_send(*command) {
                Ok(Some(answer)) => {
                    self.sent += 1;
                    self.pending.push_back((self.sent, answer));
                    // A player that takes commands without an answer for so long: the oldest are ignored.
                    if self.pending.len() > MAX_PENDING {
                        self.pending.pop_front();
                    }
                }
                Ok(None) => break,
                // The player has stopped, and the main loop ends.
                Err(_) => {
                    unsent.clear();
                    break;
                }
            }
            if let Command::Seek(to) = *command {
                self.last_seek_at = now;
                sent_seeks.push(to);
            }
            unsent.pop_front();
        }
        sent_seeks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::Cue;
    use crate::output::Null;
    use crate::player::{Intent, Options, Player, Source, WhenDone};
    use crate::time::TimeRange;

    fn at(nanos: i64) -> Time<Ros> {
        Time::from_nanos(nanos)
    }

    fn set_up() -> (Player, Transport, Outbox) {
        let player = Player::new();
        let transport = player.transport();
        let outbox = Outbox::new(transport.clone());
        (player, transport, outbox)
    }

    /// The number of seeks that a player carries out when it finds all these commands at its start.
    fn seeks(player: Player, transport: &Transport) -> u64 {
        let options = Options {
            intent: Intent::Pause,
            when_done: WhenDone::Stay,
            ..Options::new(TimeRange::between(at(0), at(100)))
        };
        let source = Source::new([""; 0], |_| Cue::from_items([]));
        let running = player.start(options, source, Null).unwrap();
        let seeks = transport.ask(Command::Query).unwrap().status.seeks;
        transport.send(Command::Stop).unwrap();
        running.join().unwrap();
        seeks
    }

    #[test]
    fn of_successive_seeks_the_last_one_per_frame_is_sent() {
        let (player, transport, mut outbox) = set_up();
        let now = Time::from_nanos(0);
        outbox.push(Command::Seek(at(1)));
        outbox.push(Command::Seek(at(2)));
        assert_eq!(outbox.send(now), [at(2)]);
        outbox.push(Command::Seek(at(3)));
        assert_eq!(outbox.send(now), []);
        assert!(outbox.has_unsent() && !outbox.is_settled());
        assert_eq!(outbox.send(now + FRAME), [at(3)]);
        assert!(!outbox.has_unsent() && !outbox.is_settled());
        assert_eq!(seeks(player, &transport), 2);
        assert!(outbox.is_settled());
    }

    #[test]
    fn nothing_is_sent_after_a_quit() {
        let (player, transport, mut outbox) = set_up();
        let now = Time::from_nanos(0);
        outbox.push(Command::Seek(at(1)));
        assert_eq!(outbox.send(now), [at(1)]);
        // One seek waits for its frame, and one comes after it.
        outbox.push(Command::Seek(at(2)));
        outbox.close();
        outbox.push(Command::Seek(at(3)));
        assert_eq!(outbox.send(now + FRAME), []);
        assert!(!outbox.has_unsent());
        assert_eq!(seeks(player, &transport), 1);
    }
}
