//! [`Broadcast`]: what all viewers are told of the player: its state and the time. Each change is told once; what did
//! not change is not repeated.
//!
//! Nothing here blocks: the library puts what is sent into a queue for each viewer.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use crossbeam_channel::Sender;
use foxglove::WebSocketServerHandle;
use foxglove::websocket::{PlaybackState, PlaybackStatus, Status as Note};

use super::playback::{factor, is_moving, stamp, state};
use super::times::Times;
use crate::player::{Pace, State, Status, Transport};
use crate::time::{Duration, Ros, Segment, Steady, Time};

/// How long after a request the state is told once more. The answer has the expected state. If the player does
/// something else, its state may have been told before the answer.
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
    /// The id of the request whose seek the player carries out.
    seek_id: Option<String>,
    /// The speed after the last request.
    requested_speed: f32,
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
    /// It was told later than it was made; see [`Broadcast::take_late_jump`].
    was_told_late: bool,
    /// The id of the request that asked for it.
    id: Option<String>,
}

impl Default for Jump {
    fn default() -> Self {
        Self {
            generation: None,
            told_at: Time::MIN,
            is_untold: false,
            was_told_late: false,
            id: None,
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
            held: (state.status != PlaybackStatus::Playing).then_some(state.current_time),
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

    /// The server has started.
    pub(super) fn begin(&self, server: WebSocketServerHandle) {
        let mut known = self.server.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some(server);
        drop(known);
        // One may have connected already.
        self.welcome();
    }

    /// The server has ended.
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
    /// anything that follows the jump is published. `false`: they are told later, because the last jump is too near.
    pub(super) fn segment(&self, segment: &Segment) -> bool {
        let mut known = self.lock();
        let generation = Some(segment.generation());
        if known.jump.generation == generation {
            return true;
        }
        // The player may jump before it has told where it starts.
        let is_start = segment.generation() == 0;
        known.jump.generation = generation;
        let now = self.transport.now();
        let at = known.times.jump(segment, now);
        if let Some(id) = known.seek_id.take() {
            known.jump.id = Some(id);
        }
        if is_start {
            return true;
        }
        known.jump.is_untold = true;
        if now.saturating_since(known.jump.told_at) >= SHORTEST_BETWEEN_JUMPS
            && let Some(status) = self.transport.status()
        {
            // The status is that before the jump.
            let pace = match status.pace {
                Pace::At(_) => Pace::At(segment.speed()),
                pace => pace,
            };
            let status = Status {
                segment: *segment,
                state: State::Starved,
                pace,
                ..status
            };
            self.tell_jump(&mut known, &status, at);
        }
        !known.jump.is_untold
    }

    /// Whether a jump was told since the last call that had not been told when it was made.
    pub(super) fn take_late_jump(&self) -> bool {
        std::mem::take(&mut self.lock().jump.was_told_late)
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

    /// A request is going to be carried out, after which the player has this speed.
    pub(super) fn begin_request(&self, speed: f32) {
        let mut known = self.lock();
        known.open_requests += 1;
        known.requested_speed = speed;
    }

    /// The speed that the player will have after the requests that it has not taken yet; `None`: it has taken all.
    pub(super) fn requested_speed(&self) -> Option<f32> {
        let known = self.lock();
        (known.open_requests > 0).then_some(known.requested_speed)
    }

    /// The next jump is what the request with this id asks for.
    pub(super) fn begin_seek(&self, id: &str) {
        self.lock().seek_id = Some(id.to_owned());
    }

    /// The player has carried out the seek of a request, or refused it.
    pub(super) fn end_seek(&self, id: &str) {
        self.lock().seek_id.take_if(|open| open == id);
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
        let is_moving = is_moving(&status);
        let state = state(&status, now);
        let at = status.segment.position(now);
        if known.jump.is_untold {
            let since = now.saturating_since(known.jump.told_at);
            if since < SHORTEST_BETWEEN_JUMPS {
                return Some(SHORTEST_BETWEEN_JUMPS.saturating_sub(since));
            }
            self.tell_jump(&mut known, &status, at);
            known.jump.was_told_late = true;
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
        let confirm = known.confirm_at.filter(|_| is_settled);
        let confirm = confirm.map(|at| at.saturating_since(now));
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
        let is_changing = known.open_requests > 0;
        let playback_speed = is_changing.then_some(known.requested_speed);
        let state = PlaybackState {
            current_time: stamp(at),
            did_seek: true,
            playback_speed: playback_speed.unwrap_or_else(|| factor(status)),
            request_id: known.jump.id.take(),
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
