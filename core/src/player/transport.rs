//! [`Transport`]: the handle by which other threads control and observe the player.
//!
//! Cheap to clone; keys, services, signals and the command line each hold one. Commands go through a bounded
//! channel. The answer to a command is its outcome, and the status after that.

use std::cell::OnceCell;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crossbeam_channel::{Receiver, Sender, TryRecvError, TrySendError, bounded};
use crossbeam_utils::sync::Unparker;

use super::command::{Command, Pace, State, Status};
use super::level::gates::GateHandle;
use super::level::lead::LeadHandle;
use super::machine::schedule::CATCH_UP;
use super::outcome::{Answer, Outcome, Refusal};
use super::report::counts::{Tally, TopicCounts};
use super::thread::waiter::Wall;
use crate::bag::{TopicId, Waker};
use crate::time::{Steady, Time};

/// How many commands may wait; the player takes them between any two messages.
const INBOX: usize = 256;

/// The value that means no instant.
const IDLE: Time<Steady> = Time::MIN;

/// The player has stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the player has stopped")]
pub struct Stopped;

/// A command, and the receiver of its answer.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) command: Command,
    pub(super) reply: Option<Reply>,
}

/// The receiver of the answer to a command. If this is dropped before there is one, it receives [`Stopped`].
pub(super) struct Reply(Option<Then>);

type Then = Box<dyn FnOnce(Result<Answer, Stopped>) + Send>;

impl Reply {
    fn new(then: impl FnOnce(Result<Answer, Stopped>) + Send + 'static) -> Self {
        Self(Some(Box::new(then)))
    }

    /// A reply that is received from a channel.
    fn channel() -> (Self, Receiver<Answer>) {
        let (sender, receiver) = bounded(1);
        let reply = Self::new(move |answer| {
            if let Ok(answer) = answer {
                // The sender of the command may have gone.
                let _ = sender.send(answer);
            }
        });
        (reply, receiver)
    }

    /// Gives the answer.
    pub(super) fn give(mut self, answer: Answer) {
        if let Some(then) = self.0.take() {
            then(Ok(answer));
        }
    }

    /// Drops it; the receiver gets nothing.
    fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            then(Err(Stopped));
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

/// The answer to a command, once it has come: see [`Transport::try_send`].
#[derive(Debug)]
pub struct PendingAnswer {
    receiver: Receiver<Answer>,
    come: OnceCell<Answer>,
}

impl PendingAnswer {
    /// Whether the answer has come, or never will because the player has stopped.
    pub fn has_come(&self) -> bool {
        !matches!(self.get(), Ok(None))
    }

    /// The answer; `None` if it has not come.
    ///
    /// # Errors
    /// If it never will come, because the player has stopped.
    pub fn get(&self) -> Result<Option<Answer>, Stopped> {
        if let Some(answer) = self.come.get() {
            return Ok(Some(*answer));
        }
        match self.receiver.try_recv() {
            Ok(answer) => Ok(Some(*self.come.get_or_init(|| answer))),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(Stopped),
        }
    }
}

/// Controls and observes a player from any thread.
#[derive(Clone)]
pub struct Transport {
    requests: Sender<Request>,
    unparker: Unparker,
    status: Arc<Mutex<Option<Status>>>,
    /// Since when the player's thread has been inside `advance`; [`IDLE`] while it waits.
    busy_since: Arc<AtomicI64>,
    tally: Arc<OnceLock<Tally>>,
    watchers: Arc<Mutex<Vec<Waker>>>,
    gates: GateHandle,
    lead: LeadHandle,
    wall: Wall,
}

impl Transport {
    pub(super) fn new(unparker: Unparker, wall: Wall) -> (Self, Receiver<Request>) {
        let (requests, inbox) = bounded(INBOX);
        let woken = unparker.clone();
        let wake: Waker = Arc::new(move || woken.unpark());
        let gates = GateHandle::new(Some(Arc::clone(&wake)));
        (
            Self {
                requests,
                unparker,
                status: Arc::default(),
                busy_since: Arc::new(AtomicI64::new(IDLE.as_nanos())),
                tally: Arc::default(),
                watchers: Arc::default(),
                lead: LeadHandle::new(Some(wake)),
                gates,
                wall,
            },
            inbox,
        )
    }

    /// Sends a command. Blocks only while the channel is full (256 commands).
    pub fn send(&self, command: Command) -> Result<(), Stopped> {
        self.request(command, None)
    }

    /// Sends a command; `None` if 64 commands or more already wait. Never blocks, and leaves room in the
    /// channel for commands that must get through, such as the one that ends the run.
    pub fn try_send(&self, command: Command) -> Result<Option<PendingAnswer>, Stopped> {
        let (reply, receiver) = Reply::channel();
        let is_sent = self.try_request(command, reply)?;
        Ok(is_sent.then(|| PendingAnswer {
            receiver,
            come: OnceCell::new(),
        }))
    }

    /// The same, and `then` is called with the answer. It runs on the player's thread and must not block. If the player
    /// stops first, it gets an error; if the player has stopped already, in this call. `false`: 64 commands or more
    /// already wait, and `then` is not called.
    pub fn try_send_then(
        &self,
        command: Command,
        then: impl FnOnce(Result<Answer, Stopped>) + Send + 'static,
    ) -> bool {
        // The error is given to `then`, too.
        self.try_request(command, Reply::new(then)).unwrap_or(true)
    }

    /// Sends a command and waits for its outcome: until steps have been made or have ended otherwise; for a jump,
    /// until it is known what follows, or, if a gate holds playback, until the segment and the clock have been sent.
    /// After the end of the run every command is answered by [`Refusal::Over`].
    ///
    /// # Errors
    /// If the player has not started and never will, or if its thread panicked.
    pub fn ask(&self, command: Command) -> Result<Answer, Stopped> {
        let (reply, answer) = Reply::channel();
        let sent = self.request(command, Some(reply));
        let answer = sent.and_then(|()| answer.recv().map_err(|_| Stopped));
        answer.or_else(|stopped| match self.status() {
            Some(status) if status.state == State::Stopped => Ok(Answer {
                outcome: Outcome::Refused(Refusal::Over),
                status,
            }),
            _ => Err(stopped),
        })
    }

    /// Sets the clock that the player follows.
    pub fn lead(&self) -> &LeadHandle {
        &self.lead
    }

    /// Opens and closes the gates of the player.
    pub fn gates(&self) -> &GateHandle {
        &self.gates
    }

    /// The latest status; `None` before [`Player::start`](super::Player::start). While a send blocks, the status shows
    /// the position at which it began to block; without a schedule, it may be up to 31 messages behind.
    pub fn status(&self) -> Option<Status> {
        let status = *self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let since = Time::from_nanos(self.busy_since.load(Ordering::Relaxed));
        let is_stuck = since != IDLE && self.wall.now().saturating_since(since) > CATCH_UP;
        status.map(|status| {
            if is_stuck && status.segment.is_rolling() {
                Status {
                    segment: status.segment.hold(since),
                    state: State::Stalled,
                    ..status
                }
            } else {
                status
            }
        })
    }

    /// Runs `act`, which may block in an output, and records that it has been running since `since`.
    pub(super) fn while_busy<T>(&self, since: Time<Steady>, act: impl FnOnce() -> T) -> T {
        self.busy_since.store(since.as_nanos(), Ordering::Relaxed);
        let done = act();
        self.busy_since.store(IDLE.as_nanos(), Ordering::Relaxed);
        done
    }

    /// What was sent on each topic so far, one row per topic of the bag. Reads the player's own counts, at any
    /// time and without disturbing the player. Empty before the player was started.
    pub fn topic_counts(&self) -> Vec<TopicCounts> {
        self.tally.get().map(Tally::counts).unwrap_or_default()
    }

    /// Whether a topic is muted in the player.
    pub fn is_muted(&self, topic: TopicId) -> bool {
        self.tally.get().is_some_and(|tally| tally.is_muted(topic))
    }

    /// The current instant on the player's clock, to read [`Status::segment`] with.
    pub fn now(&self) -> Time<Steady> {
        self.wall.now()
    }

    /// Calls `wake` whenever the motion of playback changes: segment, what is played, state or pace; and when the clock
    /// is served in another way. `wake` runs on the player's thread and must not block. It is kept as long as any
    /// handle of the player.
    pub fn on_change(&self, wake: Waker) {
        let watchers = self.watchers.lock();
        watchers.unwrap_or_else(PoisonError::into_inner).push(wake);
    }

    /// Connects the counts of the player that is being started.
    pub(super) fn follow(&self, tally: &Tally) {
        // A player is started once.
        let _ = self.tally.set(tally.clone());
    }

    pub(super) fn publish(&self, status: Status) {
        let mut known = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        // Unpaced, each message moves the segment a little and may have to be read first: that is not a change
        // of motion.
        let motion = |it: &Status| {
            let is_paced = matches!(it.pace, Pace::At(_));
            let segment = Some(it.segment).filter(|_| is_paced);
            let state = match it.state {
                State::Starved if !is_paced => State::Playing,
                state => state,
            };
            // While playback is held, only these counts show that a step was made.
            let steps = Some((it.sent, it.seeks)).filter(|_| is_paced && !it.segment.is_rolling());
            let generation = it.segment.generation();
            (
                segment, generation, it.played, state, it.pace, it.clock, steps,
            )
        };
        let has_changed = known.as_ref().map(motion) != Some(motion(&status));
        *known = Some(status);
        drop(known);
        if has_changed {
            let watchers = self.watchers.lock();
            for wake in &*watchers.unwrap_or_else(PoisonError::into_inner) {
                wake();
            }
        }
    }

    /// Sends a command if few wait; whether it was sent.
    fn try_request(&self, command: Command, reply: Reply) -> Result<bool, Stopped> {
        if self.requests.len() >= INBOX / 4 {
            reply.forget();
            return Ok(false);
        }
        let reply = Some(reply);
        match self.requests.try_send(Request { command, reply }) {
            Ok(()) => {
                self.unparker.unpark();
                Ok(true)
            }
            Err(TrySendError::Full(request)) => {
                if let Some(reply) = request.reply {
                    reply.forget();
                }
                Ok(false)
            }
            Err(TrySendError::Disconnected(_)) => Err(Stopped),
        }
    }

    fn request(&self, command: Command, reply: Option<Reply>) -> Result<(), Stopped> {
        self.requests
            .send(Request { command, reply })
            .map_err(|_| Stopped)?;
        self.unparker.unpark();
        Ok(())
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
