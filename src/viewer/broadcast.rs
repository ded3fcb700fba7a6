//! [`Broadcast`]: what all viewers are told of the player: its state and the time. Each change is told once; what did
//! not change is not repeated.
//!
//! Nothing here blocks: the library puts what is sent into a queue for each viewer.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use crossbeam_channel::Sender;
use foxglove::WebSocketServerHandle;
use foxglove::websocket::{PlaybackState, PlaybackStatus, Status as Note};

use super::playback::{stamp, state};
use super::times::Times;
use crate::player::{State, Status, Transport};
use crate::time::{Duration, Ros, Segment, Steady, Time};

/// How long after a request the state is told once more: on a busy machine, the answer to a request may be sent after
/// what the request has caused.
const CONFIRM_AFTER: Duration = Duration::from_millis(100);
/// The shortest wall time between two jumps that are told. Laps of a short loop follow each other faster.
const SHORTEST_BETWEEN_JUMPS: Duration = Duration::from_millis(10);

/// Tells all viewers what the player does.
pub(super) struct Broadcast {
    transport: Transport,
    /// Wakes the thread that calls [`Broadcast::catch_up`].
    wake: Sender<()>,
    server: RwLock<Option<WebSocketServerHandle>>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    times: Times,
    /// What viewers were told last.
    told: Option<Told>,
    jump: Jump,
    /// The id of the last request for a seek, until its jump.
    request_id: Option<String>,
    /// Requests whose commands the player has not taken yet. Meanwhile its status is that before them.
    open_requests: usize,
    confirm_at: Option<Time<Steady>>,
}

/// The last jump of the player.
#[derive(Debug)]
struct Jump {
    /// The generation that it has begun; `None` before the player has started.
    generation: Option<u64>,
    told_at: Time<Steady>,
    is_untold: bool,
}

impl Default for Jump {
    fn default() -> Self {
        Self {
            generation: None,
            told_at: Time::MIN,
            is_untold: false,
        }
    }
}

/// A state, as far as a change of it has to be told.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Told {
    status: PlaybackStatus,
    speed_bits: u32,
    generation: u64,
    /// Where playback is held, if it does not play.
    held: Option<u64>,
}

impl Told {
    fn of(state: &PlaybackState, status: &Status) -> Self {
        Self {
            status: state.status,
            speed_bits: state.playback_speed.to_bits(),
            generation: status.segment.generation(),
            held: (status.state != State::Playing).then_some(state.current_time),
        }
    }
}

impl Broadcast {
    pub(super) fn new(transport: Transport, wake: Sender<()>) -> Self {
        Self {
            transport,
            wake,
            server: RwLock::default(),
            known: Mutex::default(),
        }
    }

    pub(super) const fn transport(&self) -> &Transport {
        &self.transport
    }

    /// From now on there are viewers.
    pub(super) fn begin(&self, server: WebSocketServerHandle) {
        let mut known = self.server.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some(server);
        drop(known);
        // One may have connected already.
        self.welcome();
    }

    /// From now on there are none.
    pub(super) fn end(&self) -> Option<WebSocketServerHandle> {
        let mut known = self.server.write().unwrap_or_else(PoisonError::into_inner);
        known.take()
    }

    /// Wakes the thread that tells changes.
    pub(super) fn wake(&self) {
        // One waiting wake-up is enough.
        let _ = self.wake.try_send(());
    }

    /// Playback has this segment now. If it begins with a jump, viewers are told to clear what they show. Called before
    /// anything that follows the jump is published.
    pub(super) fn segment(&self, segment: &Segment) {
        let mut known = self.lock();
        let generation = Some(segment.generation());
        if known.jump.generation == generation {
            return;
        }
        let is_start = known.jump.generation.is_none();
        known.jump.generation = generation;
        let now = self.transport.now();
        let at = known.times.jump(segment, now);
        if is_start {
            return;
        }
        known.jump.is_untold = true;
        if now.saturating_since(known.jump.told_at) >= SHORTEST_BETWEEN_JUMPS
            && let Some(status) = self.transport.status()
        {
            let status = Status {
                segment: *segment,
                state: State::Starved,
                ..status
            };
            self.tell_jump(&mut known, &status, at);
        }
    }

    /// A message of this time comes next.
    pub(super) fn before_message(&self, at: Time<Ros>) {
        let mut known = self.lock();
        if let Some(at) = known.times.reach(at, self.transport.now()) {
            self.tell_time(at);
        }
    }

    /// Tells a viewer that has just connected, with all others, what the player does.
    pub(super) fn welcome(&self) {
        let mut known = self.lock();
        let Some(status) = self.status(&known) else {
            // The thread that is woken tells it as soon as there is one.
            known.told = None;
            return self.wake();
        };
        let now = self.transport.now();
        self.tell(&mut known, &status, state(&status, now));
        let at = status.segment.position(now);
        // Without viewers, no times were sent.
        known.times.reach_at_once(at, now);
        self.tell_time(known.times.last().unwrap_or(at));
        drop(known);
        self.wake();
    }

    /// A request is going to be carried out; if it is for a seek, this is its id.
    pub(super) fn begin_request(&self, seek_id: Option<String>) {
        let mut known = self.lock();
        known.open_requests += 1;
        if seek_id.is_some() {
            known.request_id = seek_id;
        }
    }

    /// Whether the player has taken the commands of all requests.
    pub(super) fn is_settled(&self) -> bool {
        self.lock().open_requests == 0
    }

    /// The player has taken the commands of a request.
    pub(super) fn end_request(&self) {
        let mut known = self.lock();
        known.open_requests = known.open_requests.saturating_sub(1);
        known.confirm_at = Some(self.transport.now().saturating_add(CONFIRM_AFTER));
        drop(known);
        self.wake();
    }

    /// A request, or a part of it, has no effect.
    pub(super) fn refuse(&self, reason: &str) {
        self.with_server(|server| server.publish_status(Note::warning(reason)));
    }

    /// Tells the changes since the last call, and the time. Returns how long it takes until there may be more without a
    /// change of the player; `None`: there will not be.
    pub(super) fn catch_up(&self) -> Option<Duration> {
        if !self.has_viewers() {
            return None;
        }
        let mut known = self.lock();
        let status = self.status(&known)?;
        let now = self.transport.now();
        let is_moving = matches!(status.state, State::Playing | State::Stalled)
            && (status.segment.is_rolling() || status.state == State::Stalled);
        let state = state(&status, now);
        let at = status.segment.position(now);
        if known.jump.is_untold {
            let since = now.saturating_since(known.jump.told_at);
            if since < SHORTEST_BETWEEN_JUMPS {
                return Some(SHORTEST_BETWEEN_JUMPS.saturating_sub(since));
            }
            self.tell_jump(&mut known, &status, at);
        }
        let is_settled = known.open_requests == 0 || status.state == State::Stalled;
        if is_settled {
            let is_due = known.confirm_at.is_some_and(|at| at <= now);
            if is_due {
                known.confirm_at = None;
            }
            if is_due || known.told != Some(Told::of(&state, &status)) {
                self.tell(&mut known, &status, state);
            }
        }
        let time = if is_moving {
            known.times.reach(at, now)
        } else {
            known.times.reach_at_once(at, now)
        };
        if let Some(time) = time {
            self.tell_time(time);
        }
        let next = is_moving.then(|| known.times.until_next(now));
        let confirm = known.confirm_at.map(|at| at.saturating_since(now));
        next.into_iter().chain(confirm).min()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_server<T>(&self, act: impl FnOnce(&WebSocketServerHandle) -> T) -> Option<T> {
        let server = self.server.read().unwrap_or_else(PoisonError::into_inner);
        server.as_ref().map(act)
    }

    /// Whether a viewer is connected.
    pub(super) fn has_viewers(&self) -> bool {
        let count = self.with_server(WebSocketServerHandle::client_count);
        count.is_some_and(|count| count > 0)
    }

    /// The status, unless it is that before the last jump, or there is none yet.
    fn status(&self, known: &Known) -> Option<Status> {
        let status = self.transport.status()?;
        let jump = known.jump.generation.unwrap_or(0);
        (status.segment.generation() >= jump).then_some(status)
    }

    fn tell(&self, known: &mut Known, status: &Status, state: PlaybackState) {
        known.told = Some(Told::of(&state, status));
        self.with_server(|server| server.broadcast_playback_state(state));
    }

    /// Playback has jumped to `at`.
    fn tell_jump(&self, known: &mut Known, status: &Status, at: Time<Ros>) {
        let now = self.transport.now();
        (known.jump.told_at, known.jump.is_untold) = (now, false);
        let state = PlaybackState {
            current_time: stamp(at),
            did_seek: true,
            request_id: known.request_id.take(),
            ..state(status, now)
        };
        self.tell(known, status, state);
        self.tell_time(at);
    }

    fn tell_time(&self, at: Time<Ros>) {
        self.with_server(|server| server.broadcast_time(stamp(at)));
    }
}

impl fmt::Debug for Broadcast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broadcast")
            .field("known", &self.lock())
            .finish_non_exhaustive()
    }
}
