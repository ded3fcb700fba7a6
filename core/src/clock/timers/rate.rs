//! [`Rate`]: keeps a loop at a frequency of a clock's time, by roscpp's rules.
//!
//! A loop that is late by up to a period catches up with its grid. One that is later, or whose time was set back to
//! before the start of its cycle, starts a new grid. (rclcpp sleeps whole periods in that case and loses the rate.)

use super::timer::InvalidPeriod;
use crate::clock::handle::Clock;
use crate::clock::waiting::on_jump::SleepError;
use crate::clock::waiting::sleep_options::SleepOptions;
use crate::clock::waiting::waiters::WaitTarget;
use crate::time::{Duration, Kind, Ros, Time};

/// Keeps a loop at a frequency.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::clock::{Clock, OnJump, Rate};
/// let mut rate = Rate::from_hz(&Clock::steady(), 1_000.0)?;
/// for _ in 0..3 {
///     rate.sleep(OnJump::Continue)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Rate<K: Kind = Ros> {
    clock: Clock<K>,
    period: Duration,
    /// Where the current cycle began; `None` if the clock had no time then: the cycle begins with the first time.
    cycle_start: Option<Time<Ros>>,
    cycle: Duration,
}

/// Whether the loop kept its rate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cycle {
    /// There was time left to sleep.
    Kept,
    /// The cycle took a period or longer; it did not sleep.
    Missed,
}

/// Where the next cycle begins, and whether there is time to sleep until then.
fn next_cycle(cycle_start: Time<Ros>, period: Duration, now: Time<Ros>) -> (Time<Ros>, Cycle) {
    let end = if now < cycle_start {
        now.saturating_add(period)
    } else {
        cycle_start.saturating_add(period)
    };
    if now < end {
        (end, Cycle::Kept)
    } else if now > end.saturating_add(period) {
        (now, Cycle::Missed)
    } else {
        (end, Cycle::Missed)
    }
}

/// The time now, if the clock has one.
fn now_if_started<K: Kind>(clock: &Clock<K>) -> Option<Time<Ros>> {
    let state = clock.core.lock_after_handlers();
    state.has_time().then(|| state.now(clock.core.wall()))
}

impl<K: Kind> Rate<K> {
    /// A cycle every `period`, the first one from now. On a clock that is not started, the first cycle begins with its
    /// first time.
    ///
    /// # Errors
    /// If the period is not positive.
    pub fn new(clock: &Clock<K>, period: Duration) -> Result<Self, InvalidPeriod> {
        if period <= Duration::ZERO {
            return Err(InvalidPeriod::NotPositive(period));
        }
        Ok(Self {
            clock: clock.clone(),
            period,
            cycle_start: now_if_started(clock),
            cycle: Duration::ZERO,
        })
    }

    /// `hz` cycles a second. The period is rounded to the nearest nanosecond.
    ///
    /// # Errors
    /// If it is not positive or not finite, above 1e9 Hz (a period of less than a nanosecond), or so low that a
    /// period is longer than 292 years.
    pub fn from_hz(clock: &Clock<K>, hz: f64) -> Result<Self, InvalidPeriod> {
        if !(hz > 0.0 && hz.is_finite()) {
            return Err(InvalidPeriod::NotARate(hz));
        }
        if hz > 1e9 {
            return Err(InvalidPeriod::TooFast(hz));
        }
        let period = Duration::from_secs_f64(1.0 / hz);
        Self::new(clock, period.ok_or(InvalidPeriod::TooSlow(hz))?)
    }

    /// Sleeps for the rest of the cycle. If the time is set back meanwhile to before the start of the cycle, and the
    /// options do not end the sleep for that, a new cycle begins at that time.
    ///
    /// # Errors
    /// As [`Clock::sleep_until`]; the next cycle then begins at the time of the error.
    pub fn sleep(&mut self, options: impl Into<SleepOptions>) -> Result<Cycle, SleepError> {
        let (cycle_start, period) = (self.cycle_start, self.period);
        let (mut cycle, mut kept) = (Duration::ZERO, Cycle::Kept);
        // The cycle is computed under the clock's lock: no jump can happen between that and the begin of the sleep.
        let slept = self.clock.core.sleep(&options.into(), |state, now| {
            let target = if state.has_time() {
                let began = cycle_start.or(state.time.first).unwrap_or(now);
                cycle = now.saturating_since(began);
                let (end, is_kept) = next_cycle(began, period, now);
                kept = is_kept;
                WaitTarget::until(end)
            } else {
                WaitTarget::for_span(period, state, now)
            };
            WaitTarget {
                period: Some(period),
                ..target
            }
        });
        self.cycle = cycle;
        self.cycle_start = slept.map_or_else(|_| now_if_started(&self.clock), Some);
        slept.map(|_| kept)
    }

    /// Begins the next cycle now.
    pub fn reset(&mut self) {
        self.cycle_start = now_if_started(&self.clock);
    }

    /// The length of a cycle.
    pub const fn period(&self) -> Duration {
        self.period
    }

    /// How long the last cycle's work took, without the sleep.
    pub const fn last_cycle(&self) -> Duration {
        self.cycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules of roscpp: period 100, cycle begun at 0.
    #[test]
    fn late_loops_catch_up_by_one_period_and_no_more() {
        for (now, cycle_start, kept) in [
            (0, 100, Cycle::Kept),
            (99, 100, Cycle::Kept),
            (100, 100, Cycle::Missed),
            (199, 100, Cycle::Missed),
            (200, 100, Cycle::Missed),
            (201, 201, Cycle::Missed),
            (-1, 99, Cycle::Kept),
            (-800, -700, Cycle::Kept),
        ] {
            let at = Time::<Ros>::from_nanos;
            let planned = next_cycle(at(0), Duration::from_nanos(100), at(now));
            assert_eq!(planned, (at(cycle_start), kept), "at {now}");
        }
    }

    /// The rules of roscpp: after an overrun to 350 the loop sleeps 0, 90, 90…; after 1300 → 500 it sleeps 100, 90….
    #[test]
    fn the_rate_is_back_after_one_cycle() {
        let at = Time::<Ros>::from_nanos;
        for (cycle_start, mut now, sleeps) in [(0, 350, [0, 90, 90]), (1_250, 500, [100, 90, 90])] {
            let mut cycle_start = at(cycle_start);
            for sleep in sleeps {
                let (next, kept) = next_cycle(cycle_start, Duration::from_nanos(100), at(now));
                let slept = if kept == Cycle::Kept {
                    next.as_nanos() - now
                } else {
                    0
                };
                assert_eq!(slept, sleep, "at {now}");
                cycle_start = next;
                now += slept + 10;
            }
        }
    }
}
