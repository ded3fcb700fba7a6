//! [`Wall`] and [`Waiter`]: the only file of the player that reads the machine's clock and waits for it.

use std::time::Instant;

use crossbeam_utils::sync::Parker;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::awake::Awake;
use super::priority::Scheduling;
use crate::time::{Duration, Steady, Time};

/// The longest part of a wait that is spent spinning.
const LONGEST_SPIN: Duration = Duration::from_micros(80);

/// If a thread wakes later than this, other threads had the processor. Spinning does not help then and uses up the time
/// slice of the thread.
const OTHERS_RAN: Duration = Duration::from_micros(400);

/// One part in so many of the time may be spun by default: 2 %.
const SHARE: i64 = 50;
/// The most that is kept of what was not spun.
const MOST_KEPT: Duration = Duration::from_millis(1);

/// How much processor time may be spent to send on time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Spin {
    /// At most 2 % of one processor: with a thousand messages a second, each is sent about 20 µs earlier than without.
    #[default]
    Limited,
    /// As much as each message needs, up to 80 µs.
    Unlimited,
}

/// The monotonic clock; zero is when it was made.
#[derive(Clone, Copy, Debug)]
pub(in crate::player) struct Wall {
    origin: Instant,
}

impl Wall {
    #[expect(
        clippy::disallowed_methods,
        reason = "the rim of the player: here its instants come from"
    )]
    pub(in crate::player) fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    /// Never earlier than a previous result.
    pub(in crate::player) fn now(self) -> Time<Steady> {
        Time::from_nanos(Duration::from(self.origin.elapsed()).as_nanos())
    }
}

/// How many messages without a schedule are sent by one reading of the clock.
#[derive(Debug)]
pub(in crate::player) struct Burst {
    left: u8,
    /// The last tick of the kernel before the first of them.
    tick: Timespec,
}

impl Burst {
    /// The most that are sent after the first one.
    const MOST: u8 = 127;

    pub(in crate::player) fn begin() -> Self {
        Self {
            left: Self::MOST,
            tick: last_tick(),
        }
    }

    /// Whether one more may be sent; `false` once the kernel's tick has moved.
    #[inline]
    pub(in crate::player) fn may_go_on(&mut self) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            return false;
        };
        self.left = left;
        self.tick == last_tick()
    }
}

/// The time of the kernel's last tick, which is cheap to read.
#[cfg(target_os = "linux")]
#[inline]
fn last_tick() -> Timespec {
    clock_gettime(ClockId::MonotonicCoarse)
}

/// The start of the present millisecond, in place of the kernel's tick.
#[cfg(not(target_os = "linux"))]
#[inline]
fn last_tick() -> Timespec {
    let mut now = clock_gettime(ClockId::Monotonic);
    now.tv_nsec -= now.tv_nsec % 1_000_000;
    now
}

/// Waits for instants: parks the thread first, and spins at the end.
///
/// The spin is as long as this machine recently took to wake a thread, so that little time is spun in vain. It
/// grows quickly when a wake-up was late, and shrinks slowly when wake-ups are early. A [`Budget`] limits it further.
#[derive(Debug)]
pub(in crate::player) struct Waiter {
    wall: Wall,
    parker: Parker,
    awake: Awake,
    spin: Duration,
    budget: Budget,
    /// The deadline for which the thread has been parked already: what is left of it is spun.
    is_spun: Option<Time<Steady>>,
}

impl Waiter {
    pub(in crate::player) fn new(
        wall: Wall,
        parker: Parker,
        (spin, scheduling): (Spin, Scheduling),
    ) -> Self {
        Self {
            wall,
            parker,
            awake: Awake::new(scheduling),
            spin: LONGEST_SPIN,
            budget: Budget::new(spin, wall.now()),
            is_spun: None,
        }
    }

    /// Returns when woken.
    pub(in crate::player) fn wait(&self) {
        self.parker.park();
    }

    /// Returns when woken, which may take hours: processors may sleep.
    pub(in crate::player) fn rest(&mut self) {
        self.awake.rest();
        self.parker.park();
    }

    /// Returns at `deadline`; earlier if woken, or if only the spin is left.
    pub(in crate::player) fn wait_until(&mut self, deadline: Time<Steady>) {
        self.awake.keep();
        let now = self.wall.now();
        let left = deadline.saturating_since(now);
        let spin = self.spin.min(self.budget.at(now, left));
        if left > spin && self.is_spun != Some(deadline) {
            let alarm = deadline.saturating_add(-spin);
            self.parker.park_timeout(left.saturating_sub(spin).to_std());
            let late = self.wall.now().saturating_since(alarm);
            // Something else may have woken it earlier.
            if !late.is_negative() {
                self.is_spun = Some(deadline);
                self.learn(late);
            }
            return;
        }
        while self.wall.now() < deadline {
            std::hint::spin_loop();
        }
        self.budget.spend(self.wall.now().saturating_since(now));
    }

    /// The thread woke `late` after its alarm.
    fn learn(&mut self, late: Duration) {
        let off = late.saturating_sub(self.spin).as_nanos();
        let step = if late > OTHERS_RAN {
            -self.spin.as_nanos() / 4
        } else if off > 0 {
            off / 4
        } else {
            off / 32
        };
        self.spin = self
            .spin
            .saturating_add(Duration::from_nanos(step))
            .clamp(Duration::ZERO, LONGEST_SPIN);
    }
}

/// How long may be spun: a share of the time that passes. What is not spun is kept for a while, so that messages that
/// come seldom, or a few in a row, are exact.
#[derive(Debug)]
struct Budget {
    spin: Spin,
    left: Duration,
    counted_at: Time<Steady>,
}

impl Budget {
    fn new(spin: Spin, now: Time<Steady>) -> Self {
        Self {
            spin,
            left: MOST_KEPT,
            counted_at: now,
        }
    }

    /// What will be left in `ahead` from `now`.
    fn at(&mut self, now: Time<Steady>, ahead: Duration) -> Duration {
        if self.spin == Spin::Unlimited {
            return LONGEST_SPIN;
        }
        self.left = self.after(now.saturating_since(self.counted_at));
        self.counted_at = now;
        self.after(ahead).max(Duration::ZERO)
    }

    fn after(&self, span: Duration) -> Duration {
        let more = Duration::from_nanos(span.as_nanos() / SHARE);
        self.left.saturating_add(more).min(MOST_KEPT)
    }

    fn spend(&mut self, spun: Duration) {
        self.left = self.left.saturating_sub(spun);
    }
}

/// Asks the system to wake this thread on time; by default a wake-up may be up to 50 µs late.
pub fn wake_precisely() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)) {
        tracing::debug!("timer slack stays at its default: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITED: (Spin, Scheduling) = (Spin::Limited, Scheduling::Normal);
    const UNLIMITED: (Spin, Scheduling) = (Spin::Unlimited, Scheduling::Normal);

    #[test]
    fn the_spin_follows_how_late_the_machine_wakes() {
        let mut waiter = Waiter::new(Wall::new(), Parker::new(), UNLIMITED);
        let micros = Duration::from_micros;
        for _ in 0..1_000 {
            waiter.learn(micros(20));
        }
        assert!(
            (19..=21).contains(&(waiter.spin.as_nanos() / 1_000)),
            "{:?}",
            waiter.spin
        );
        for _ in 0..20 {
            waiter.learn(micros(70));
        }
        assert!(waiter.spin > micros(60), "{:?}", waiter.spin);
        waiter.learn(OTHERS_RAN);
        assert_eq!(waiter.spin, LONGEST_SPIN);
        // Other work ran meanwhile: no spin of 80 µs would have been enough.
        for _ in 0..20 {
            waiter.learn(Duration::from_millis(4));
        }
        assert!(waiter.spin < micros(1), "{:?}", waiter.spin);
    }

    /// Spins before each of a thousand messages, as long as is allowed; returns how long each was.
    fn spun(spin: Spin, every: Duration) -> Vec<Duration> {
        let mut now = Time::from_nanos(0);
        let mut budget = Budget::new(spin, now);
        let mut all = Vec::new();
        for _ in 0..1_000 {
            let allowed = LONGEST_SPIN.min(budget.at(now, every));
            now = now.saturating_add(every);
            budget.spend(allowed);
            all.push(allowed);
        }
        all
    }

    #[test]
    fn no_more_than_the_budget_is_spun() {
        let ms = Duration::from_millis;
        let often = spun(Spin::Limited, ms(1));
        let sum = often
            .iter()
            .fold(Duration::ZERO, |sum, one| sum.saturating_add(*one));
        assert!(sum <= ms(20 + 1), "{sum}");
        // At first all of the spin, and in the end the same share for each.
        assert_eq!(often[0], LONGEST_SPIN);
        assert!(
            often[500..]
                .iter()
                .all(|one| *one == Duration::from_micros(20))
        );
        // Ten times a second, each may have all of it.
        let seldom = spun(Spin::Limited, ms(100));
        assert!(seldom.iter().all(|one| *one == LONGEST_SPIN));
        let unlimited = spun(Spin::Unlimited, ms(1));
        assert!(unlimited.iter().all(|one| *one == LONGEST_SPIN));
    }

    #[test]
    fn what_is_left_after_the_alarm_is_spun_whatever_else_wakes_the_thread() {
        let wall = Wall::new();
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        let mut waiter = Waiter::new(wall, parker, LIMITED);
        waiter.budget.spend(Duration::from_secs(1));
        let spin = waiter.spin;
        let deadline = wall.now().saturating_add(Duration::from_secs(60));
        // Woken before the alarm: nothing is learned, and it would be parked again.
        unparker.unpark();
        waiter.wait_until(deadline);
        assert!(wall.now() < deadline);
        assert_eq!((waiter.is_spun, waiter.spin), (None, spin));
        // After the alarm it is not parked, although nothing is left of the budget.
        let deadline = wall.now().saturating_add(Duration::from_millis(1));
        waiter.is_spun = Some(deadline);
        unparker.unpark();
        waiter.wait_until(deadline);
        assert!(wall.now() >= deadline);
    }

    #[test]
    fn processors_may_sleep_while_no_instant_is_waited_for() {
        let wall = Wall::new();
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        let mut waiter = Waiter::new(wall, parker, (Spin::Limited, Scheduling::Realtime));
        unparker.unpark();
        waiter.wait_until(wall.now().saturating_add(Duration::from_secs(60)));
        assert!(!matches!(waiter.awake, Awake::Resting));
        unparker.unpark();
        waiter.rest();
        assert!(!matches!(waiter.awake, Awake::Kept(_)));
    }
}
