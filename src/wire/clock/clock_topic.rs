//! The clock on the wire: `/clock` as ROS 2 publishes it, and a keeper that does not let it fall silent.
//!
//! The player's thread ticks. When it is stuck in a put of something else, the keeper repeats the last value,
//! never a newer one; it does so too when somebody begins to follow.
//!
//! A tick overtakes messages that wait to be sent, except after a jump: what is from before the jump has to arrive
//! before its clock does, or a follower that has forgotten the old time is told it once more; and what comes after
//! the jump has to find the clock there. So ticks stay in line, and wait for room as messages do, until nothing
//! has had to wait for half a second, or for five seconds. With a clock before each message they always do. What the
//! keeper repeats then stays in line as well: it would be a step forward and back to whoever has a queue. Only when a
//! put has been stuck for half a second it goes ahead, for all the others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use zenoh::qos::Priority;

use crate::ros::{Qos, Reliability};
use crate::time::{Ros, Time};

use super::payload::encode_clock;
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::net::now::steady;
use crate::wire::options::ClockOptions;
use crate::wire::publish::blocking_session::Lanes;
use crate::wire::publish::monitor::Row;
use crate::wire::publish::publisher::{Spec, TopicPublisher};
use crate::wire::publish::stalls::Stalls;
use crate::wire::rmw_zenoh::graph::CLOCK;

/// Ticks a second where the player was given none.
const DEFAULT_HZ: f64 = 40.0;
/// So often what a new follower is told in line is told once more.
const AGAIN: u32 = 3;
/// A put that takes this long has found no room.
const WAITED: Duration = Duration::from_millis(1);
/// If for so long no put has found no room, what waited then is gone: all that zenoh queues, at 16 Mbit/s.
const SETTLED: Duration = Duration::from_millis(500);
/// After so long it is gone though large messages find no room all the time: at less than 2 Mbit/s.
const LONGEST: Duration = Duration::from_secs(5);

/// What the player's thread, the keeper and zenoh's threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Stays in line with messages; no token and no count of its own.
    in_line: TopicPublisher,
    /// Held while something is put in line, so that values go out in their order. Never with the state's lock held:
    /// that put may wait.
    line: Mutex<()>,
    /// Each message comes right after its clock.
    is_per_message: bool,
    /// The player's thread is inside a put.
    is_putting: AtomicBool,
    stalls: Stalls,
    /// Counts what is put in line.
    row: Arc<Row>,
}

#[derive(Debug)]
struct State {
    last: Option<Time<Ros>>,
    last_put: Instant,
    /// Overtakes messages: what the keeper uses, and the player where order does not matter. It puts under the
    /// lock, so that values go out in their order.
    ahead: TopicPublisher,
    /// The last jump, if messages from before it may still wait to be sent.
    jump: Option<Jump>,
    has_clamped: bool,
}

/// A jump of the clock.
#[derive(Clone, Copy, Debug)]
struct Jump {
    at: Instant,
    /// When a put was last seen to find no room, or it itself.
    waited: Instant,
}

impl Jump {
    fn is_settled(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.waited) >= SETTLED
            || now.saturating_duration_since(self.at) >= LONGEST
    }
}

/// What the keeper is asked.
#[derive(Clone, Copy, Debug)]
enum Request {
    /// Somebody new follows: send the last value again.
    Repeat,
    /// The clock is over.
    End,
}

/// `/clock` while it is served. Dropping it ends the keeper.
#[derive(Debug)]
pub(crate) struct Clock {
    shared: Arc<Shared>,
    requests: Sender<Request>,
    events: Events,
    keeper: Option<JoinHandle<()>>,
}

impl Clock {
    /// Declares the publisher of `spec` and starts the keeper.
    pub(crate) fn start(
        lanes: &Lanes,
        spec: &Spec,
        options: ClockOptions,
        events: &Events,
        stalls: Stalls,
    ) -> Result<Self, WireError> {
        // Its own priority is its own queue: bulk messages ahead of it would delay it by milliseconds.
        let ahead = Spec {
            priority: Priority::RealTime,
            waits: false,
            ..spec.clone()
        };
        let ahead = TopicPublisher::declare(lanes, &ahead, events, None)?;
        // One session and priority, one queue: no link lets one overtake the other. It waits for room as messages do,
        // or they would come without their clock.
        let in_line = Spec {
            token: None,
            qos: Qos {
                reliability: Reliability::Reliable,
                ..spec.qos
            },
            ..spec.clone()
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                last: None,
                last_put: steady(),
                ahead,
                jump: None,
                has_clamped: false,
            }),
            in_line: TopicPublisher::declare(lanes, &in_line, events, None)?,
            line: Mutex::default(),
            is_per_message: options.per_message,
            is_putting: AtomicBool::new(false),
            stalls,
            row: Arc::new(Row::plain(Vec::new(), CLOCK.to_owned())),
        });
        let silence = silence(options);
        let (kept, repeated) = (Arc::clone(&shared), Arc::clone(&shared));
        let (requests, asked) = bounded(1);
        // A put in line may wait, and whoever looks after the clock must not.
        let (in_line, wanted) = bounded::<()>(1);
        thread::Builder::new()
            .name("clock-line".to_owned())
            .spawn(move || wanted.iter().for_each(|()| repeated.put_in_line()))
            .map_err(WireError::Thread)?;
        let keeper = thread::Builder::new()
            .name("clock-keeper".to_owned())
            .spawn(move || kept.keep(silence, &asked, &in_line))
            .map_err(WireError::Thread)?;
        let clock = Self {
            shared,
            requests,
            events: events.clone(),
            keeper: Some(keeper),
        };
        let matching = clock.shared.in_line.on_match(clock.waker());
        matching.map_err(|source| WireError::Declare {
            what: "the clock".to_owned(),
            source,
        })?;
        Ok(clock)
    }

    /// The clock shows `time`. Waits for room if it has to stay in line.
    pub(crate) fn tick(&self, time: Time<Ros>) {
        let clock = encode_clock(time);
        let mut state = self.shared.lock();
        let now = steady();
        (state.last, state.last_put) = (Some(time), now);
        let is_news =
            clock.is_clamped && !std::mem::replace(&mut state.has_clamped, clock.is_clamped);
        state.jump = state.jump.filter(|jump| !jump.is_settled(now));
        // An error means that the session is closed: the player learns it from its messages.
        if self.shared.is_per_message || state.jump.is_some() {
            // The keeper, which waits for the lock, does not come between.
            self.shared.is_putting.store(true, Ordering::Relaxed);
            drop(state);
            self.while_putting(|| self.shared.put_in_line());
        } else {
            let payload = Bytes::copy_from_slice(&clock.bytes);
            let stamp = state.ahead.stamp();
            drop(state.ahead.put_stamped(&payload, stamp));
        }
        if is_news {
            self.events.warn(format!(
                "{time} does not fit into /clock (32-bit seconds, years 1901 to 2038): its nearest end is sent"
            ));
        }
    }

    /// What its followers missed.
    pub(crate) fn row(&self) -> Arc<Row> {
        Arc::clone(&self.shared.row)
    }

    /// What is put from now on is of another time.
    pub(crate) fn jump(&self) {
        let at = steady();
        self.shared.lock().jump = Some(Jump { at, waited: at });
    }

    /// Puts something in line; the keeper looks after the clock meanwhile.
    pub(crate) fn while_putting(&self, put: impl FnOnce()) {
        let before = steady();
        self.shared.is_putting.store(true, Ordering::Relaxed);
        put();
        self.shared.is_putting.store(false, Ordering::Relaxed);
        let after = steady();
        let waited = after.saturating_duration_since(before);
        if waited >= WAITED
            && let Some(jump) = &mut self.shared.lock().jump
        {
            jump.waited = after;
        }
    }

    /// Answers who begins to follow without a token: plain zenoh tells only of the first.
    pub(crate) fn answer_matches(&self) -> Result<(), WireError> {
        let matching = self.shared.lock().ahead.on_match(self.waker());
        matching.map_err(|source| WireError::Declare {
            what: "the clock".to_owned(),
            source,
        })
    }

    /// What to call when somebody begins to follow; waits for nothing.
    pub(crate) fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let requests = self.requests.clone();
        // A request that waits already says the same.
        Arc::new(move || {
            let _ = requests.try_send(Request::Repeat);
        })
    }

    /// Ends the keeper and takes the token back.
    pub(crate) fn stop(&mut self) {
        self.shared.lock().ahead.undeclare_token();
        if let Some(keeper) = self.keeper.take() {
            // An error means that the keeper is gone already.
            let _ = self.requests.send(Request::End);
            // A panic of the keeper has been reported by its thread.
            drop(keeper.join());
        }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the last value in line with messages. Waits for room as they do, after a put in line of another thread.
    fn put_in_line(&self) {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        let Some(last) = state.last else { return };
        let stamp = state.ahead.stamp();
        drop(state);
        let payload = Bytes::copy_from_slice(&encode_clock(last).bytes);
        let bytes = payload.len();
        let put = || self.in_line.put_stamped(&payload, stamp);
        // Only this put's own wait counts, not that for the other thread.
        let (put, waited) = self.stalls.while_putting(put);
        drop(line);
        // An error means that the session is closed: the player learns it from its messages.
        if put.is_ok() {
            self.row.count_sent(bytes);
            self.stalls.put_took(&self.row, waited);
        }
    }

    fn keep(&self, silence: Duration, asked: &Receiver<Request>, in_line: &Sender<()>) {
        let mut patience = silence;
        let mut is_wanted = false;
        // Its link to the session that puts in line may be up a moment later than it is known as a follower.
        let mut again = 0;
        loop {
            match asked.recv_timeout(patience) {
                Ok(Request::Repeat) => (is_wanted, again) = (true, AGAIN),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Request::End) | Err(RecvTimeoutError::Disconnected) => return,
            }
            let mut state = self.lock();
            let now = steady();
            let silent = now.saturating_duration_since(state.last_put);
            let is_putting = self.is_putting.load(Ordering::Relaxed);
            let is_settled = state.jump.is_none_or(|jump| jump.is_settled(now));
            let is_free = is_settled && !self.is_per_message;
            let is_stuck = silent >= silence && is_putting && is_settled;
            patience = silence.saturating_sub(silent);
            let goes_ahead = is_stuck || (is_wanted && is_free);
            // Behind what is stuck it would wait as well.
            if goes_ahead || (is_wanted && !is_putting) {
                if goes_ahead {
                    state.repeat(now);
                } else {
                    // One that waits already says the same.
                    let _ = in_line.try_send(());
                    state.last_put = now;
                }
                is_wanted = !goes_ahead && again > 0;
                again -= u32::from(is_wanted);
                patience = silence;
            }
            if patience.is_zero() || is_wanted {
                patience = silence.min(SETTLED);
            }
        }
    }
}

impl State {
    /// Puts the last value once more, ahead of messages.
    fn repeat(&mut self, now: Instant) {
        let Some(last) = self.last else { return };
        let payload = Bytes::copy_from_slice(&encode_clock(last).bytes);
        let stamp = self.ahead.stamp();
        // An error means that the session is closed, and nobody is left to hear it.
        drop(self.ahead.put_stamped(&payload, stamp));
        self.last_put = now;
    }
}

/// How long the clock may be silent: one and a half ticks; where it has to stay in line, until that is stuck.
fn silence(options: ClockOptions) -> Duration {
    let hz = options
        .hz
        .filter(|hz| hz.is_finite() && *hz > 0.0)
        .unwrap_or(DEFAULT_HZ);
    let silence = Duration::from_secs_f64(1.5 / hz.clamp(0.1, 10_000.0));
    if options.per_message {
        silence.max(SETTLED)
    } else {
        silence
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::options::Congestion;
    use crate::wire::rmw_zenoh::graph::Graph;
    use zenoh::Wait;

    #[test]
    fn silence_is_one_and_a_half_ticks() {
        let silence = |hz, per_message| silence(ClockOptions { hz, per_message });
        assert_eq!(silence(Some(100.0), false), Duration::from_millis(15));
        assert_eq!(silence(Some(100.0), true), SETTLED);
        assert_eq!(silence(Some(0.5), true), Duration::from_secs(3));
        for odd in [
            None,
            Some(0.0),
            Some(-1.0),
            Some(f64::NAN),
            Some(f64::INFINITY),
        ] {
            assert_eq!(silence(odd, false), Duration::from_secs_f64(1.5 / 40.0));
        }
    }

    #[test]
    fn a_tick_that_waits_for_another_put_in_line_is_not_a_stall() {
        const TIMEOUT: Duration = Duration::from_secs(1);
        let mut config = zenoh::Config::default();
        for (key, value) in [
            ("mode", "\"peer\""),
            ("scouting/multicast/enabled", "false"),
            ("listen/endpoints", "[]"),
        ] {
            config.insert_json5(key, value).unwrap();
        }
        let main = zenoh::open(config).wait().unwrap();
        let events = Events::new(|_| ());
        let graph = Graph::new(main.zid().to_string(), "/player".to_owned());
        let stalls = Stalls::new(graph, events.clone(), TIMEOUT, None);
        let spec = Spec {
            key: "clock".to_owned(),
            token: None,
            qos: Qos::default(),
            congestion: Congestion::Block,
            priority: Priority::Data,
            waits: true,
        };
        let options = ClockOptions {
            hz: None,
            per_message: true,
        };
        let lanes = Lanes {
            main,
            patient: None,
        };
        let clock = Clock::start(&lanes, &spec, options, &events, stalls).unwrap();
        // As the thread that repeats in line does while its put waits.
        let line = clock.shared.line.lock().unwrap();
        let waits_since = steady();
        thread::scope(|scope| {
            scope.spawn(|| clock.tick(Time::from_nanos(1)));
            while !clock.shared.is_putting.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            while steady().saturating_duration_since(waits_since) < 2 * TIMEOUT {
                thread::yield_now();
            }
            drop(line);
        });
        let row = clock.row();
        assert_eq!(row.sent.load(Ordering::Relaxed), 1);
        assert_eq!(row.stalled.load(Ordering::Relaxed), 0);
        assert_eq!(row.lost.load(Ordering::Relaxed), 0);
    }
}
