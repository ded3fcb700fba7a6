//! [`Transport`]: the handle by which everybody else drives and watches the player.
//!
//! Cheap to clone; keys, services, signals and the command line each hold one. Commands go through a
//! bounded channel, the answer is the status after the command took effect.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crossbeam_channel::{Receiver, Sender, TryRecvError, TrySendError, bounded};
use crossbeam_utils::sync::Unparker;

use super::command::{Command, Pace, State, Status};
use super::counts::{Tally, TopicCounts};
use super::machine::CATCH_UP;
use super::waiter::Wall;
use crate::bag::{TopicId, Waker};
use crate::time::{Steady, Time};

/// How many commands may wait; a player takes them between any two messages.
const INBOX: usize = 256;

/// No instant at all.
const IDLE: Time<Steady> = Time::MIN;

/// The player is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the player has stopped")]
pub struct Stopped;

/// A command on its way, and where its answer goes.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) command: Command,
    pub(super) reply: Option<Sender<Status>>,
}

/// That a command took effect, to be looked at later: see [`Transport::try_send`].
#[derive(Debug)]
pub struct Answer(Receiver<Status>);

impl Answer {
    /// Whether the command took effect, or never will because the player has stopped.
    pub fn has_come(&self) -> bool {
        !matches!(self.0.try_recv(), Err(TryRecvError::Empty))
    }
}

/// Drives and watches a player from any thread.
#[derive(Clone)]
pub struct Transport {
    requests: Sender<Request>,
    unparker: Unparker,
    status: Arc<Mutex<Option<Status>>>,
    /// Since when the player's thread is at it; [`IDLE`] while it waits.
    busy_since: Arc<AtomicI64>,
    tally: Arc<OnceLock<Tally>>,
    watchers: Arc<Mutex<Vec<Waker>>>,
    wall: Wall,
}

impl Transport {
    pub(super) fn new(unparker: Unparker, wall: Wall) -> (Self, Receiver<Request>) {
        let (requests, inbox) = bounded(INBOX);
        (
            Self {
                requests,
                unparker,
                status: Arc::default(),
                busy_since: Arc::new(AtomicI64::new(IDLE.as_nanos())),
                tally: Arc::default(),
                watchers: Arc::default(),
                wall,
            },
            inbox,
        )
    }

    /// Sends a command; waits only if hundreds are before it.
    pub fn send(&self, command: Command) -> Result<(), Stopped> {
        self.request(command, None)
    }

    /// Sends a command, unless dozens are before it: then `None`. Never waits, and leaves room for who has to
    /// be heard, such as whoever ends the run.
    pub fn try_send(&self, command: Command) -> Result<Option<Answer>, Stopped> {
        let (reply, answer) = bounded(1);
        let request = Request {
            command,
            reply: Some(reply),
        };
        if self.requests.len() >= INBOX / 4 {
            return Ok(None);
        }
        match self.requests.try_send(request) {
            Ok(()) => {
                self.unparker.unpark();
                Ok(Some(Answer(answer)))
            }
            Err(TrySendError::Full(_)) => Ok(None),
            Err(TrySendError::Disconnected(_)) => Err(Stopped),
        }
    }

    /// Sends a command and waits until it took effect: steps have been made, or were refused; of a jump the
    /// segment and the clock are out. Nothing takes effect after [`Command::Stop`]: the status says so.
    pub fn ask(&self, command: Command) -> Result<Status, Stopped> {
        let (reply, answer) = bounded(1);
        self.request(command, Some(reply))?;
        answer.recv().map_err(|_| Stopped)
    }

    /// The latest status; `None` before the player has started. While a send blocks, playback stands where it was
    /// when that began.
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

    /// Does what may take long because somebody else does, from `since` on.
    pub(super) fn while_busy<T>(&self, since: Time<Steady>, act: impl FnOnce() -> T) -> T {
        self.busy_since.store(since.as_nanos(), Ordering::Relaxed);
        let done = act();
        self.busy_since.store(IDLE.as_nanos(), Ordering::Relaxed);
        done
    }

    /// What went out on each topic so far, one row a topic of the bag: read from the player's own counts,
    /// at any time and without disturbing it. Empty before it was started.
    pub fn topic_counts(&self) -> Vec<TopicCounts> {
        self.tally.get().map(Tally::counts).unwrap_or_default()
    }

    /// Whether a topic is muted, as the player sees it.
    pub fn is_muted(&self, topic: TopicId) -> bool {
        self.tally.get().is_some_and(|tally| tally.is_muted(topic))
    }

    /// The instant that the player calls now: what [`Status::segment`] is read with.
    pub fn now(&self) -> Time<Steady> {
        self.wall.now()
    }

    /// Calls `wake` whenever playback moves otherwise than before: another segment, state or pace. It is
    /// called by the player's thread and must not block. It is kept as long as the player's handles are.
    pub fn on_change(&self, wake: Waker) {
        let watchers = self.watchers.lock();
        watchers.unwrap_or_else(PoisonError::into_inner).push(wake);
    }

    /// Shows the counts of the player that is being started.
    pub(super) fn follow(&self, tally: &Tally) {
        // A player is started once.
        let _ = self.tally.set(tally.clone());
    }

    pub(super) fn publish(&self, status: Status) {
        let mut known = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        // Unpaced, each message moves the segment a little, and may have to be read first: that is no other
        // motion.
        let motion = |it: &Status| {
            let is_paced = it.pace != Pace::Max;
            let segment = Some(it.segment).filter(|_| is_paced);
            let state = match it.state {
                State::Starved if !is_paced => State::Playing,
                state => state,
            };
            // While it stands nothing else tells that a step was made.
            let steps = Some((it.sent, it.seeks)).filter(|_| is_paced && !it.segment.is_rolling());
            (segment, it.segment.generation(), state, it.pace, steps)
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

    fn request(&self, command: Command, reply: Option<Sender<Status>>) -> Result<(), Stopped> {
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
