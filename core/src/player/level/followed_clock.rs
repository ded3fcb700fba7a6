//! [`FollowedClock`]: what is received of another clock, as segments for a [`LeadHandle`](super::lead::LeadHandle).
//!
//! Values only, no thread and no clock of its own: `at` and `now` are instants of the player's clock.
//!
//! A value of the clock (a tick) is where the clock is until the next one. Ticks alone do not say what is a jump, so:
//!
//! | the next tick | is |
//! |---|---|
//! | moves in the direction of the clock, or stands | no jump |
//! | moves against it by 1 ms at most | ignored |
//! | moves against it by more | a jump; if the next movement is against it as well, the direction has changed: where the clock was last before both, if it has not stood since |
//! | is ahead by more than 100 s and by more than the fastest clock (×1000) can have moved | a jump |
//! | comes from another server, and the former one has sent no tick for a second | a jump |
//!
//! A server that also sends its state says what is a jump. Then a tick that does not agree with the last state is not
//! used: the state that explains it is on its way. Of another server it is a jump if it does not agree.

use super::recent_ticks::RecentTicks;
use crate::time::{AtEnd, Duration, Ros, Segment, Speed, Steady, Time, TimeRange};

/// A tick that is farther than this against the direction of the clock is a jump.
const JITTER: Duration = Duration::from_millis(1);
/// No step ahead up to this is a jump: ticks that were held up on the network arrive together.
const LONGEST_STEP: Duration = Duration::from_secs(100);
/// The factor of the fastest clock.
const FASTEST: i64 = 1000;
/// A state is sent once a second: one that is older than this says nothing of the next tick.
const STATE_IS_VALID: Duration = Duration::from_millis(2500);
/// How long time goes on from a state, if that is asked for.
const STATE_MOVES_ON: Duration = Duration::from_millis(1500);
/// How much sooner or later than the ticks a state may arrive.
const SKEW: Duration = Duration::from_millis(200);
/// As long as a server has sent a tick within this time, other servers are ignored.
const SERVER_IS_THERE: Duration = Duration::from_secs(1);

/// How a clock is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FollowOptions {
    /// Added to the values of the clock, to get log time.
    pub offset: Duration,
    /// Whether the clock is assumed to move on between two of its values.
    pub extrapolates: bool,
    /// A clock that sends nothing for longer than this is lost.
    pub timeout: Duration,
}

/// The state of a clock, as its server sends it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LeadState {
    /// The time of the clock.
    pub time: Time<Ros>,
    /// Seconds of clock time per second of wall time: 0 while it stands, negative backwards, NaN if unknown.
    pub factor: f64,
    /// Counts its jumps.
    pub generation: u64,
}

/// What a followed clock does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LeadMotion {
    /// It has sent nothing so far.
    Unknown,
    /// It has sent nothing for the time-out.
    Lost,
    /// Its value does not change.
    Stands,
    /// It moves: seconds of clock time per second of wall time, negative backwards; `None` if that is not known yet.
    Moves(Option<f64>),
}

/// A clock that is followed.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::player::{FollowOptions, FollowedClock, LeadMotion};
/// use bagplay::time::{Duration, Time};
/// let mut clock = FollowedClock::new(FollowOptions {
///     offset: Duration::from_secs(100),
///     extrapolates: false,
///     timeout: Duration::from_secs(2),
/// });
/// let (server, now) = (7, Time::from_secs(1));
/// let lead = clock.tick(Time::from_secs(5), server, now).expect("a known clock");
/// assert_eq!(lead.position(now), Time::from_secs(105));
/// // It goes back: a jump.
/// let jumped = clock.tick(Time::from_secs(3), server, now).expect("a known clock");
/// assert_ne!(jumped.generation(), lead.generation());
/// assert!(clock.becomes_lost(Time::from_secs(9)));
/// assert_eq!(clock.motion(Time::from_secs(9)), LeadMotion::Lost);
/// ```
#[derive(Debug)]
pub struct FollowedClock {
    options: FollowOptions,
    /// The identity of the server whose ticks count.
    server: Option<u128>,
    /// When its last tick arrived. A state does not say of which server it is: of one that was restarted it may come
    /// while the former one counts.
    ticked: Option<Time<Steady>>,
    /// When the last tick or state that counts arrived.
    heard: Option<Time<Steady>>,
    has_rival: bool,
    /// Where the clock is, or was last.
    segment: Segment,
    /// The last value that counted and when it arrived.
    last: Option<(Time<Ros>, Time<Steady>)>,
    is_known: bool,
    /// Whether the last movement was against the direction.
    has_turned: bool,
    /// Where the clock was before that movement, if it has not stood since.
    turned_at: Option<Time<Ros>>,
    ticks: RecentTicks,
    state: Option<(LeadState, Time<Steady>)>,
    /// The generation of the last state, also of one that is not valid any more.
    state_generation: Option<u64>,
    /// A tick that does not agree with the last state.
    unexplained: Option<Time<Ros>>,
}

impl FollowedClock {
    /// Nothing has been received.
    pub fn new(options: FollowOptions) -> Self {
        Self {
            options,
            server: None,
            ticked: None,
            heard: None,
            has_rival: false,
            segment: Segment::new(TimeRange::ALL, Speed::NORMAL, AtEnd::Hold),
            last: None,
            is_known: false,
            has_turned: false,
            turned_at: None,
            ticks: RecentTicks::default(),
            state: None,
            state_generation: None,
            unexplained: None,
        }
    }

    /// A value of the clock from `server` arrived at `at`; returns where the clock is now, `None` if that is not known.
    /// A first value of zero means that the server has no time yet. While one server is heard, values of others are
    /// ignored.
    pub fn tick(&mut self, time: Time<Ros>, server: u128, at: Time<Steady>) -> Option<Segment> {
        let is_other = self.server.is_some_and(|known| known != server);
        let is_there = |heard| at.saturating_since(heard) <= SERVER_IS_THERE;
        if is_other && self.ticked.is_some_and(is_there) {
            self.has_rival = true;
            return self.lead();
        }
        if time == Time::ZERO && !self.is_known {
            return None;
        }
        (self.server, self.ticked, self.heard) = (Some(server), Some(at), Some(at));
        let time = time.saturating_add(self.options.offset);
        let is_of = |(state, since)| agrees(state, since, time, at);
        if is_other && !self.valid_state(at).is_some_and(is_of) {
            // The state of the former server.
            (self.state, self.unexplained) = (None, None);
        }
        match self.valid_state(at) {
            Some((state, since)) if !agrees(state, since, time, at) => {
                self.unexplained = Some(time);
            }
            // States that are extrapolated move the clock alone.
            Some((state, _)) if self.is_known && self.extrapolates(state) => {
                self.ticks.add(time, at);
            }
            Some(_) => self.arrive_at(time, at),
            None if is_other => self.jump(time, at),
            None => self.step(time, at),
        }
        self.lead()
    }

    /// A state of the clock arrived at `at`; returns where the clock is now, `None` if that is not known.
    pub fn state(&mut self, state: LeadState, at: Time<Steady>) -> Option<Segment> {
        if state.time == Time::ZERO && !self.is_known {
            return None;
        }
        let time = state.time.saturating_add(self.options.offset);
        let state = LeadState { time, ..state };
        let before = self.state_generation.replace(state.generation);
        (self.state, self.heard) = (Some((state, at)), Some(at));
        let speed = Speed::from_f64(state.factor).ok();
        let turns = speed.is_some_and(|it| it.is_reverse() != self.segment.speed().is_reverse());
        if turns {
            self.turn(at);
        }
        // The server sends a tick right after a jump, and the state behind it.
        let tick = self.unexplained.take();
        if turns || before.is_some_and(|before| before != state.generation) {
            // The tick of the turn itself may agree with the state before it.
            let last = self.last.filter(|_| turns).map(|(last, _)| last);
            let is_of_jump = |tick: &Time<Ros>| {
                let gap = state.time.saturating_since(*tick).saturating_abs();
                !self.segment.is_before(state.time, *tick) && gap <= skew(state.factor)
            };
            let begins = tick.filter(is_of_jump).or(last.filter(is_of_jump));
            self.jump(begins.unwrap_or(time), at);
        } else if let Some(tick) = tick.filter(|tick| agrees(state, at, *tick, at)) {
            self.arrive_at(tick, at);
        }
        if self.options.extrapolates {
            self.arrive_at(time, at);
            if let Some(speed) = speed {
                self.roll(time, speed, STATE_MOVES_ON, at);
            }
        }
        self.lead()
    }

    /// Whether the clock has become lost: it has sent nothing for the time-out before `now`. True once.
    pub fn becomes_lost(&mut self, now: Time<Steady>) -> bool {
        let is_over = |heard| now.saturating_since(heard) > self.options.timeout;
        let is_lost = self.is_known && self.heard.is_none_or(is_over);
        if is_lost {
            (self.is_known, self.state) = (false, None);
            self.ticks = RecentTicks::default();
        }
        is_lost
    }

    /// What the clock does.
    pub fn motion(&self, now: Time<Steady>) -> LeadMotion {
        let state = self.valid_state(now).map(|(state, _)| state);
        match state.filter(|state| !state.factor.is_nan()) {
            _ if !self.is_known && self.last.is_none() => LeadMotion::Unknown,
            _ if !self.is_known => LeadMotion::Lost,
            Some(state) if Speed::from_f64(state.factor).is_ok() => {
                LeadMotion::Moves(Some(state.factor))
            }
            Some(_) => LeadMotion::Stands,
            None if self.ticks.stands(now) => LeadMotion::Stands,
            None => LeadMotion::Moves(self.ticks.factor().filter(|factor| *factor != 0.0)),
        }
    }

    /// The server whose values count, by the identity that was given with them.
    pub fn server(&self) -> Option<u128> {
        self.server
    }

    /// Whether values of another server were ignored since the last call.
    pub fn take_rival(&mut self) -> bool {
        std::mem::take(&mut self.has_rival)
    }

    fn lead(&self) -> Option<Segment> {
        self.is_known.then_some(self.segment)
    }

    fn valid_state(&self, now: Time<Steady>) -> Option<(LeadState, Time<Steady>)> {
        self.state
            .filter(|(_, since)| now.saturating_since(*since) <= STATE_IS_VALID)
    }

    /// Whether the clock is assumed to move on from this state.
    fn extrapolates(&self, state: LeadState) -> bool {
        self.options.extrapolates && Speed::from_f64(state.factor).is_ok()
    }

    /// A tick of a server that does not send its state.
    fn step(&mut self, time: Time<Ros>, at: Time<Steady>) {
        let Some((last, since)) = self.last else {
            return self.arrive_at(time, at);
        };
        let moved = time.saturating_since(last);
        let ahead = if self.segment.speed().is_reverse() {
            -moved
        } else {
            moved
        };
        let possible = at.saturating_since(since).saturating_mul(FASTEST);
        if ahead < -JITTER {
            self.has_turned = !self.has_turned;
            if self.has_turned {
                self.turned_at = Some(last);
                self.jump(time, at);
            } else {
                let from = self.turned_at.take();
                // A clock that has turned moves by about as much from tick to tick; one that was sought twice need not.
                let is_near = |from: &Time<Ros>| {
                    let gap = last.saturating_since(*from).saturating_abs();
                    gap <= moved.saturating_abs().saturating_mul(2)
                };
                self.turn(at);
                self.jump(from.filter(is_near).unwrap_or(time), at);
                // It is there with the next tick.
                self.last = Some((time, at));
            }
        } else if ahead > LONGEST_STEP.max(possible) {
            self.jump(time, at);
        } else if !ahead.is_negative() {
            self.has_turned &= ahead == Duration::ZERO;
            self.turned_at = None;
            self.arrive_at(time, at);
            self.extrapolate(time, at);
        } else {
            // Jitter: the clock stays where it is.
            self.arrive_at(last, at);
        }
    }

    /// The clock runs in the other direction from now on.
    fn turn(&mut self, at: Time<Steady>) {
        let turned = self.segment.speed().reversed();
        self.segment = self.segment.with_speed(turned, at);
    }

    /// The clock has jumped to `time`.
    fn jump(&mut self, time: Time<Ros>, at: Time<Steady>) {
        self.segment = self.segment.seek(time);
        self.ticks = RecentTicks::default();
        self.unexplained = None;
        self.arrive_at(time, at);
    }

    /// The clock is at `time` and is not assumed to move on.
    fn arrive_at(&mut self, time: Time<Ros>, at: Time<Steady>) {
        self.ticks.add(time, at);
        let is_first = self.last.replace((time, at)).is_none();
        let held = if is_first {
            self.segment.seek(time)
        } else if self.segment.is_before(time, self.segment.position(at)) {
            self.segment.hold_back(time, at)
        } else {
            self.segment.advance_to(time, at)
        };
        self.segment = held.play_until(None, at);
        self.is_known = true;
    }

    /// Time is assumed to move on at the factor of the last ticks, until the next tick is due.
    fn extrapolate(&mut self, time: Time<Ros>, at: Time<Steady>) {
        let is_wanted = self.options.extrapolates && self.ticks.is_moving();
        let factor = self.ticks.factor().filter(|_| is_wanted);
        let speed = factor.and_then(|factor| Speed::from_f64(factor).ok());
        let is_reverse = self.segment.speed().is_reverse();
        let speed = speed.filter(|speed| speed.is_reverse() == is_reverse);
        if let (Some(speed), Some(interval)) = (speed, self.ticks.interval()) {
            self.roll(time, speed, interval, at);
        }
    }

    /// The clock, which is at `time`, moves on at `speed` for as long as `span`.
    fn roll(&mut self, time: Time<Ros>, speed: Speed, span: Duration, at: Time<Steady>) {
        let distance = span.mul_f64(speed.as_f64()).unwrap_or(Duration::ZERO);
        let limit = time.saturating_add(distance);
        let rolling = self.segment.with_speed(speed, at).roll(at);
        self.segment = rolling.play_until(Some(limit), at);
    }
}

/// How far a clock of this factor moves while a state and a tick may be apart.
fn skew(factor: f64) -> Duration {
    let moved = SKEW.mul_f64(factor.abs()).unwrap_or(Duration::MAX);
    JITTER.saturating_mul(10).saturating_add(moved)
}

/// Whether a tick at `at` may follow a state of `since`: not before it, and not farther than the state lets expect.
fn agrees(state: LeadState, since: Time<Steady>, tick: Time<Ros>, at: Time<Steady>) -> bool {
    let moved = tick.saturating_since(state.time);
    let moved = if state.factor < 0.0 { -moved } else { moved };
    let elapsed = at.saturating_since(since);
    let expected = elapsed.mul_f64(state.factor.abs());
    // Of a clock of unknown factor any distance is possible.
    let limit = expected.map_or(Duration::MAX, |it| it.saturating_add(skew(state.factor)));
    moved >= -JITTER && moved <= limit
}
