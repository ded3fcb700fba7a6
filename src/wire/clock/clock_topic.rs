//! `/clock` as ROS 2 publishes it, and a repeater thread that repeats the last value, never a newer one, while the
//! player's thread is stuck in another put, and for new subscribers.
//!
//! A tick goes ahead of messages that wait to be sent, except after a jump. Messages from before the jump must arrive
//! before the new clock, or subscribers that have reset would see the old time again. Messages from after it must
//! arrive after the new clock. So after a jump ticks stay in line with messages, and wait for room as they do, until no
//! put has had to wait for half a second, or for five seconds at most. With a clock before each message, ticks and
//! repeated values always stay in line: otherwise the clock would run forward and back for subscribers with messages
//! queued. Only when a put has been stuck for half a second does the repeated value go ahead, for the other
//! subscribers.
//!
//! Values that go ahead take links of their own (the main session), so a value that is put in line afterwards may
//! arrive first. Therefore the first value in line after one that went ahead waits until all subscribers that can
//! answer have received that one ([`Arrivals`]). Otherwise the last tick before a jump could arrive after the clock of
//! the jump. Best effort messages take the main session, too, so the first value in line after a jump also waits for
//! those, but not for long: where they are queued for longer, they may be dropped as well.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use zenoh::qos::Priority;

use crate::ros::Reliability;
use crate::time::{Ros, Time};

use super::arrivals::{Arrivals, Awaited};
use super::jump::{Jump, SETTLED};
use super::needs::ClockNeeds;
use super::payload::encode_clock;
use crate::wire::dialect::interface::TopicSpec;
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::net::now::steady;
use crate::wire::options::ClockOptions;
use crate::wire::publish::monitor::TopicCounts;
use crate::wire::publish::publisher::{PutRules, TopicPublisher};
use crate::wire::publish::stalls::{Putter, Stalls};

/// Ticks per second if the player has no rate.
const DEFAULT_HZ: f64 = 40.0;
/// How often a value sent in line for a new subscriber is sent again.
const AGAIN: u32 = 3;
/// A put that takes this long had to wait for room.
const WAITED: Duration = Duration::from_millis(1);

/// Shared by the player's thread, the repeater and zenoh's threads.
#[derive(Debug)]
pub(crate) struct Shared {
    last: Mutex<LastTick>,
    /// Stays in line with messages. It has no token and no sequence numbers of its own.
    in_line: TopicPublisher,
    /// Locked during a put in line, so that values are sent in order. Never locked while `last` is locked,
    /// because that put may wait.
    in_line_put: Arc<Mutex<Arrivals>>,
    /// Whether each message comes directly after its clock.
    is_per_message: bool,
    /// Whether the player's thread is inside a put.
    is_putting: AtomicBool,
    /// Whether there is a jump in `last`, so that it matters how long puts wait. Set by the player's thread alone.
    has_jump: AtomicBool,
    stalls: Stalls,
    /// The number of values put in line. Only the thread that holds the lock `in_line_put` changes it.
    counts: Arc<TopicCounts>,
}

#[derive(Debug)]
struct LastTick {
    time: Option<Time<Ros>>,
    /// How long the clock may be silent.
    silence: Duration,
    put_at: Instant,
    /// Goes ahead of messages: used by the repeater, and by the player if order does not matter. It puts while
    /// this is locked, so that values are sent in order.
    ahead: TopicPublisher,
    /// Whether a value went ahead after the last one in line.
    went_ahead: bool,
    /// Whether no value was put in line since the last jump.
    has_jumped: bool,
    /// The last jump, if messages from before it may still wait to be sent.
    jump: Option<Jump>,
    has_clamped: bool,
}

/// What the repeater is asked to do.
#[derive(Clone, Copy, Debug)]
enum Request {
    /// There is a new subscriber: send the last value again.
    Repeat,
    /// The clock may be silent for another time than before.
    Look,
    /// The clock ends.
    End,
}

/// `/clock` while it is served. Dropping this ends the repeater.
#[derive(Debug)]
pub(crate) struct Clock {
    shared: Arc<Shared>,
    requests: Sender<Request>,
    events: Events,
    repeater: Option<JoinHandle<()>>,
}

impl Clock {
    /// Declares the publishers of `topic` and starts the repeater.
    pub(crate) fn start(
        needs: &ClockNeeds,
        topic: &TopicSpec,
        options: ClockOptions,
    ) -> Result<Self, WireError> {
        let ClockNeeds {
            sessions,
            rules,
            events,
            ..
        } = needs;
        // A priority of its own means a queue of its own: behind bulk messages it would be milliseconds late.
        let first = PutRules {
            priority: Priority::RealTime,
            waits: false,
            ..rules.clone()
        };
        let ahead = TopicPublisher::declare(sessions, topic, &first, events, None)?;
        // The same session and priority means the same queue: no link lets one overtake the other. Reliable, so
        // that it waits for room as messages do; otherwise messages could arrive without their clock.
        let in_line = TopicSpec {
            token: None,
            reliability: Reliability::Reliable,
            ..topic.clone()
        };
        let shared = Arc::new(Shared {
            last: Mutex::new(LastTick {
                time: None,
                silence: silence(options),
                put_at: steady(),
                ahead,
                went_ahead: false,
                has_jumped: false,
                jump: None,
                has_clamped: false,
            }),
            in_line: TopicPublisher::declare(sessions, &in_line, rules, events, None)?,
            in_line_put: Arc::clone(&needs.in_line_put),
            is_per_message: options.per_message,
            is_putting: AtomicBool::new(false),
            has_jump: AtomicBool::new(false),
            stalls: needs.stalls.of(Putter::Clock),
            counts: Arc::clone(&needs.counts),
        });
        let (of_repeater, of_in_line) = (Arc::clone(&shared), Arc::clone(&shared));
        let (requests, received) = bounded(1);
        // A put in line may wait, and the repeater must not, so another thread makes it.
        let (put_in_line, wanted) = bounded::<()>(1);
        thread::Builder::new()
            .name("clock-in-line".to_owned())
            .spawn(move || wanted.iter().for_each(|()| of_in_line.put_in_line()))
            .map_err(WireError::Thread)?;
        let repeater = thread::Builder::new()
            .name("clock-repeater".to_owned())
            .spawn(move || of_repeater.repeat(&received, &put_in_line))
            .map_err(WireError::Thread)?;
        let clock = Self {
            shared,
            requests,
            events: events.clone(),
            repeater: Some(repeater),
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
        let mut last = self.shared.lock();
        let now = steady();
        (last.time, last.put_at) = (Some(time), now);
        let is_first_clamped =
            clock.is_clamped && !std::mem::replace(&mut last.has_clamped, clock.is_clamped);
        last.jump = last.jump.filter(|jump| !jump.is_settled(now));
        let has_jump = &self.shared.has_jump;
        has_jump.store(last.jump.is_some(), Ordering::Relaxed);
        if self.shared.is_per_message || last.jump.is_some() {
            // Set before the lock is released, so that the repeater, which waits for the lock, does not put
            // first.
            self.shared.is_putting.store(true, Ordering::Relaxed);
            drop(last);
            self.while_putting(|| self.shared.put_in_line());
        } else {
            last.put_ahead(&clock.bytes);
        }
        if is_first_clamped {
            self.events.warn(format!(
                "{time} does not fit into /clock (32-bit seconds, years 1901 to 2038): the nearest time that fits is sent"
            ));
        }
    }

    /// Has another rate from now on.
    pub(crate) fn change(&self, options: ClockOptions) {
        self.shared.lock().silence = silence(options);
        // A request that already waits has the same effect.
        let _ = self.requests.try_send(Request::Look);
    }

    /// Notes that everything put from now on belongs to the time after a jump.
    pub(crate) fn jump(&self) {
        let at = steady();
        let mut last = self.shared.lock();
        (last.jump, last.has_jumped) = (Some(Jump { at, waited: at }), true);
        self.shared.has_jump.store(true, Ordering::Relaxed);
    }

    /// The thread that puts calls another output now, or is done with it. The repeater repeats the clock if that takes
    /// long.
    pub(crate) fn waits_elsewhere(&self, is_waiting: bool) {
        self.shared.is_putting.store(is_waiting, Ordering::Relaxed);
    }

    /// Makes a put in line; the repeater repeats the clock if it takes long.
    pub(crate) fn while_putting<T>(&self, put: impl FnOnce() -> T) -> T {
        let before = self.shared.has_jump.load(Ordering::Relaxed).then(steady);
        self.shared.is_putting.store(true, Ordering::Relaxed);
        let done = put();
        self.shared.is_putting.store(false, Ordering::Relaxed);
        let Some(before) = before else { return done };
        let after = steady();
        let waited = after.saturating_duration_since(before);
        if waited >= WAITED
            && let Some(jump) = &mut self.shared.lock().jump
        {
            jump.waited = after;
        }
        done
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

    /// Ends the repeater and undeclares the token.
    pub(crate) fn stop(&mut self) {
        let mut last = self.shared.lock();
        last.ahead.undeclare_token();
        // A put in line that still waits has nothing to put.
        last.time = None;
        drop(last);
        if let Some(repeater) = self.repeater.take() {
            // An error means that the repeater has already ended.
            let _ = self.requests.send(Request::End);
            // The thread has reported its panic itself.
            drop(repeater.join());
        }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, LastTick> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the last value in line with messages. Waits for room as they do, and before that for a put in line
    /// by another thread.
    fn put_in_line(&self) {
        let in_line_put = &self.in_line_put;
        let mut only_put = in_line_put.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = self.lock();
        let awaited = Awaited {
            ticks: std::mem::take(&mut last.went_ahead),
            messages: std::mem::take(&mut last.has_jumped),
        };
        drop(last);
        only_put.wait(awaited);
        let mut last = self.lock();
        let Some(time) = last.time else { return };
        let stamped = last.ahead.stamp_for(&self.in_line);
        drop(last);
        let payload = Bytes::copy_from_slice(&encode_clock(time).bytes);
        let bytes = payload.len();
        let put = || self.in_line.put_with(payload, stamped);
        // Measures only this put, not the wait for the other thread.
        let (put, waited) = self.stalls.while_putting(put);
        // An error means that the session is closed; the player learns that from its messages.
        if put.is_ok() {
            self.counts.count_sent(bytes);
            self.stalls.put_took(&self.counts, waited);
        }
        // Until here: only one thread may count at a time.
        drop(only_put);
    }

    /// Puts the last value again while the player's thread is stuck in a put, and for new subscribers, until it is
    /// asked to end.
    fn repeat(&self, requests: &Receiver<Request>, put_in_line: &Sender<()>) {
        let mut patience = self.lock().silence;
        let mut is_wanted = false;
        // Repeated, because a subscriber may be known a moment before its link to the session that puts in line
        // is up.
        let mut again = 0;
        loop {
            match requests.recv_timeout(patience) {
                Ok(Request::Repeat) => (is_wanted, again) = (true, AGAIN),
                Ok(Request::Look) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Request::End) | Err(RecvTimeoutError::Disconnected) => return,
            }
            let mut last = self.lock();
            let (now, silence) = (steady(), last.silence);
            let silent = now.saturating_duration_since(last.put_at);
            let is_putting = self.is_putting.load(Ordering::Relaxed);
            let is_settled = last.jump.is_none_or(|jump| jump.is_settled(now));
            let is_free = is_settled && !self.is_per_message;
            let is_stuck = silent >= silence && is_putting && is_settled;
            patience = silence.saturating_sub(silent);
            let goes_ahead = is_stuck || (is_wanted && is_free);
            // A value in line would wait behind a put that is stuck.
            if goes_ahead || (is_wanted && !is_putting) {
                if goes_ahead {
                    last.repeat(now);
                } else {
                    // One that already waits has the same effect.
                    let _ = put_in_line.try_send(());
                    last.put_at = now;
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

impl LastTick {
    /// Puts the value again, ahead of messages.
    fn repeat(&mut self, now: Instant) {
        let Some(time) = self.time else { return };
        self.put_ahead(&encode_clock(time).bytes);
        self.put_at = now;
    }

    fn put_ahead(&mut self, clock: &[u8]) {
        self.went_ahead = true;
        // An error means that the session is closed; the player learns that from its messages.
        drop(self.ahead.put(Bytes::copy_from_slice(clock)));
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
    use crate::wire::dialect::interface::{MessageForm, Nodes};
    use crate::wire::dialect::plan::CLOCK;
    use crate::wire::net::sessions::put::{PutSession, PutSessions};
    use crate::wire::options::Congestion;
    use crate::wire::publish::monitor::Lane;
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
        let stalls = Stalls::new(Nodes::Unannounced, events.clone(), timeout, None);
        let topic = TopicSpec {
            ids: Vec::new(),
            name: CLOCK.to_owned(),
            key: "clock".to_owned(),
            token: None,
            offered: None,
            reliability: Reliability::Reliable,
            latched: None,
            form: MessageForm::Plain,
        };
        let rules = PutRules {
            congestion: Congestion::Block,
            priority: Priority::Data,
            waits: true,
            shared_memory: None,
        };
        let options = ClockOptions {
            hz: None,
            per_message: true,
        };
        let sessions = PutSessions {
            main: PutSession::without_clock(main.clone(), false),
            blocking: None,
        };
        let needs = ClockNeeds::new(sessions, rules, false, events, stalls);
        (main, Clock::start(&needs, &topic, options).unwrap())
    }

    /// A subscriber in the publisher's own session is called within the put, by the thread that puts.
    #[test]
    fn the_last_tick_is_not_locked_while_a_put_in_line_waits() {
        const TIMEOUT: Duration = Duration::from_secs(10);
        let (session, clock) = per_message(TIMEOUT);
        let shared = Arc::clone(&clock.shared);
        let (send, puts) = bounded(1000);
        let subscriber = session.declare_subscriber("clock").callback(move |sample| {
            // What goes ahead of messages never waits, and is put under the lock.
            if sample.priority() != Priority::Data {
                return;
            }
            let began = steady();
            let is_free = || shared.last.try_lock().is_ok();
            let is_late = || steady().saturating_duration_since(began) >= TIMEOUT;
            while !is_free() && !is_late() {
                thread::yield_now();
            }
            let _ = send.try_send((thread::current().id(), !is_late()));
        });
        let _subscriber = subscriber.wait().unwrap();
        let this = thread::current().id();
        let wait_for_put = |is_own: bool| {
            loop {
                let (thread, is_free) = puts.recv_timeout(2 * TIMEOUT).expect("a put in line");
                assert!(is_free, "its thread held the lock");
                if (thread == this) == is_own {
                    return;
                }
            }
        };
        clock.tick(Time::from_nanos(1));
        wait_for_put(true);
        // A new subscriber: the repeater has the value put again.
        clock.waker()();
        wait_for_put(false);
    }

    #[test]
    fn a_tick_that_waits_for_another_put_in_line_is_not_a_stall() {
        const TIMEOUT: Duration = Duration::from_secs(1);
        let (_session, clock) = per_message(TIMEOUT);
        // As the thread that repeats in line does while its put waits.
        let put = clock.shared.in_line_put.lock().unwrap();
        let waits_since = steady();
        thread::scope(|scope| {
            scope.spawn(|| clock.tick(Time::from_nanos(1)));
            while !clock.shared.is_putting.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            while steady().saturating_duration_since(waits_since) < 2 * TIMEOUT {
                thread::yield_now();
            }
            drop(put);
        });
        let counts = Arc::clone(&clock.shared.counts);
        assert_eq!(counts.sent.get(), 1);
        assert_eq!(counts.puts_in(Lane::Ordinary).stalled(), 0);
        assert_eq!(counts.lost.load(Ordering::Relaxed), 0);
    }
}
