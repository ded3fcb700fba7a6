//! `/clock` as ROS 2 publishes it, and a keeper thread that repeats the last value, never a newer one, while the
//! player's thread is stuck in another put, and for new subscribers.
//!
//! A tick goes ahead of messages that wait to be sent, except after a jump. Messages from before the jump must arrive
//! before the new clock, or subscribers that have reset would see the old time again; messages from after it must find
//! the new clock. So after a jump ticks stay in line with messages, and wait for room as they do, until no put has had
//! to wait for half a second, or for five seconds at most. With a clock before each message ticks always stay in line,
//! and so do repeated values: ahead, the clock would run forward and back for subscribers with messages queued. Only
//! when a put has been stuck for half a second does the repeated value go ahead, for the other subscribers.

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
use crate::wire::net::blocking_session::Lanes;
use crate::wire::net::now::steady;
use crate::wire::options::ClockOptions;
use crate::wire::publish::monitor::Row;
use crate::wire::publish::publisher::{Spec, TopicPublisher};
use crate::wire::publish::stalls::Stalls;
use crate::wire::rmw_zenoh::graph::CLOCK;

/// Ticks per second if the player has no rate.
const DEFAULT_HZ: f64 = 40.0;
/// How often a value sent in line for a new subscriber is sent again.
const AGAIN: u32 = 3;
/// A put that takes this long had to wait for room.
const WAITED: Duration = Duration::from_millis(1);
/// If no put had to wait for this long, everything that waited before has been sent: it is enough for all that
/// zenoh queues at 16 Mbit/s.
const SETTLED: Duration = Duration::from_millis(500);
/// After this time it has been sent even if large messages wait all the time: enough below 2 Mbit/s.
const LONGEST: Duration = Duration::from_secs(5);

/// Shared by the player's thread, the keeper and zenoh's threads.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Stays in line with messages. It has no token and no sequence numbers of its own.
    in_line: TopicPublisher,
    /// Locked during a put in line, so that values are sent in order. Never locked while the state is locked,
    /// because that put may wait.
    line: Mutex<()>,
    /// Whether each message comes directly after its clock.
    is_per_message: bool,
    /// Whether the player's thread is inside a put.
    is_putting: AtomicBool,
    stalls: Stalls,
    /// Counts the values put in line.
    row: Arc<Row>,
}

#[derive(Debug)]
struct State {
    last: Option<Time<Ros>>,
    last_put: Instant,
    /// Goes ahead of messages: used by the keeper, and by the player if order does not matter. It puts while
    /// the state is locked, so that values are sent in order.
    ahead: TopicPublisher,
    /// The last jump, if messages from before it may still wait to be sent.
    jump: Option<Jump>,
    has_clamped: bool,
}

/// A jump of the clock.
#[derive(Clone, Copy, Debug)]
struct Jump {
    at: Instant,
    /// When a put last had to wait for room; at first, the time of the jump.
    waited: Instant,
}

impl Jump {
    fn is_settled(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.waited) >= SETTLED
            || now.saturating_duration_since(self.at) >= LONGEST
    }
}

/// What the keeper is asked to do.
#[derive(Clone, Copy, Debug)]
enum Request {
    /// There is a new subscriber: send the last value again.
    Repeat,
    /// The clock ends.
    End,
}

/// `/clock` while it is served. Dropping this ends the keeper.
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
        // A priority of its own means a queue of its own: behind bulk messages it would be milliseconds late.
        let ahead = Spec {
            priority: Priority::RealTime,
            waits: false,
            ..spec.clone()
        };
        let ahead = TopicPublisher::declare(lanes, &ahead, events, None)?;
        // The same session and priority means the same queue: no link lets one overtake the other. Reliable, so
        // that it waits for room as messages do; otherwise messages could arrive without their clock.
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
        // A put in line may wait, and the keeper must not, so another thread makes it.
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

    /// Sends `time` as the clock. Waits for room if it has to stay in line.
    pub(crate) fn tick(&self, time: Time<Ros>) {
        let clock = encode_clock(time);
        let mut state = self.shared.lock();
        let now = steady();
        (state.last, state.last_put) = (Some(time), now);
        let is_news =
            clock.is_clamped && !std::mem::replace(&mut state.has_clamped, clock.is_clamped);
        state.jump = state.jump.filter(|jump| !jump.is_settled(now));
        // An error means that the session is closed; the player learns that from its messages.
        if self.shared.is_per_message || state.jump.is_some() {
            // Set before the lock is released, so that the keeper, which waits for the lock, does not put
            // first.
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

    /// Counts what subscribers of the clock missed.
    pub(crate) fn row(&self) -> Arc<Row> {
        Arc::clone(&self.shared.row)
    }

    /// Everything put from now on belongs to the time after a jump.
    pub(crate) fn jump(&self) {
        let at = steady();
        self.shared.lock().jump = Some(Jump { at, waited: at });
    }

    /// Makes a put in line; the keeper watches the clock meanwhile.
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

    /// Repeats the clock for subscribers without a token. Plain zenoh reports only the first of them.
    pub(crate) fn answer_matches(&self) -> Result<(), WireError> {
        let matching = self.shared.lock().ahead.on_match(self.waker());
        matching.map_err(|source| WireError::Declare {
            what: "the clock".to_owned(),
            source,
        })
    }

    /// A function to call for a new subscriber; it does not block.
    pub(crate) fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let requests = self.requests.clone();
        // A request that already waits has the same effect.
        Arc::new(move || {
            let _ = requests.try_send(Request::Repeat);
        })
    }

    /// Ends the keeper and undeclares the token.
    pub(crate) fn stop(&mut self) {
        self.shared.lock().ahead.undeclare_token();
        if let Some(keeper) = self.keeper.take() {
            // An error means that the keeper has already ended.
            let _ = self.requests.send(Request::End);
            // The keeper's thread has reported its panic itself.
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

    /// Puts the last value in line with messages. Waits for room as they do, and before that for a put in line
    /// by another thread.
    fn put_in_line(&self) {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        let Some(last) = state.last else { return };
        let stamp = state.ahead.stamp();
        drop(state);
        let payload = Bytes::copy_from_slice(&encode_clock(last).bytes);
        let bytes = payload.len();
        let put = || self.in_line.put_stamped(&payload, stamp);
        // Measures only this put, not the wait for the other thread.
        let (put, waited) = self.stalls.while_putting(put);
        drop(line);
        // An error means that the session is closed; the player learns that from its messages.
        if put.is_ok() {
            self.row.count_sent(bytes);
            self.stalls.put_took(&self.row, waited);
        }
    }

    fn keep(&self, silence: Duration, asked: &Receiver<Request>, in_line: &Sender<()>) {
        let mut patience = silence;
        let mut is_wanted = false;
        // Repeated, because a subscriber may be known a moment before its link to the session that puts in line
        // is up.
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
            // A value in line would wait behind a put that is stuck.
            if goes_ahead || (is_wanted && !is_putting) {
                if goes_ahead {
                    state.repeat(now);
                } else {
                    // One that already waits has the same effect.
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
    /// Puts the last value again, ahead of messages.
    fn repeat(&mut self, now: Instant) {
        let Some(last) = self.last else { return };
        let payload = Bytes::copy_from_slice(&encode_clock(last).bytes);
        let stamp = self.ahead.stamp();
        // An error means that the session is closed and has no subscribers any more.
        drop(self.ahead.put_stamped(&payload, stamp));
        self.last_put = now;
    }
}

/// How long the clock may be silent: one and a half ticks; with a clock per message, half a second or more.
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

    /// A peer without links, and a clock before each message on it.
    fn per_message(timeout: Duration) -> (zenoh::Session, Clock) {
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
        let stalls = Stalls::new(graph, events.clone(), timeout, None);
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
            main: main.clone(),
            patient: None,
        };
        let clock = Clock::start(&lanes, &spec, options, &events, stalls).unwrap();
        (main, clock)
    }

    /// A subscriber in the publisher's own session is called within the put, by the thread that puts.
    #[test]
    fn nobody_holds_the_lock_of_the_state_while_a_put_in_line_waits() {
        const TIMEOUT: Duration = Duration::from_secs(10);
        let (session, clock) = per_message(TIMEOUT);
        let shared = Arc::clone(&clock.shared);
        let (tell, told) = bounded(1000);
        let subscriber = session.declare_subscriber("clock").callback(move |sample| {
            // What goes ahead of messages never waits, and is put under the lock.
            if sample.priority() != Priority::Data {
                return;
            }
            let began = steady();
            let is_free = || shared.state.try_lock().is_ok();
            let is_late = || steady().saturating_duration_since(began) >= TIMEOUT;
            while !is_free() && !is_late() {
                thread::yield_now();
            }
            let _ = tell.try_send((thread::current().id(), !is_late()));
        });
        let _subscriber = subscriber.wait().unwrap();
        let this = thread::current().id();
        let wait_for_put = |is_own: bool| {
            loop {
                let (thread, is_free) = told.recv_timeout(2 * TIMEOUT).expect("a put in line");
                assert!(is_free, "its thread held the lock");
                if (thread == this) == is_own {
                    return;
                }
            }
        };
        clock.tick(Time::from_nanos(1));
        wait_for_put(true);
        // Somebody new follows, and the keeper has it repeated.
        clock.waker()();
        wait_for_put(false);
    }

    #[test]
    fn a_tick_that_waits_for_another_put_in_line_is_not_a_stall() {
        const TIMEOUT: Duration = Duration::from_secs(1);
        let (_session, clock) = per_message(TIMEOUT);
        // Stands for the thread that repeats in line, while its put waits.
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
