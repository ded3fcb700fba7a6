//! [`Wall`]: the one place of the player that reads the machine's clock and waits for it.

use std::time::Instant;

use crossbeam_utils::sync::Parker;

use crate::time::{Duration, Steady, Time};

/// The most of a wait that is spun.
const LONGEST_SPIN: Duration = Duration::from_micros(80);

/// The monotonic clock, counted from when it was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wall {
    origin: Instant,
}

impl Wall {
    #[expect(
        clippy::disallowed_methods,
        reason = "the rim of the player: here its instants come from"
    )]
    pub(super) fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    /// Never before an earlier answer.
    pub(super) fn now(self) -> Time<Steady> {
        Time::from_nanos(Duration::from(self.origin.elapsed()).as_nanos())
    }
}

/// Waits for instants: parked for most of the time, spun for the last stretch.
///
/// The stretch is as long as this machine lately took to wake a thread, so that little is spun in vain:
/// it follows the wake-ups that were too late at once and shrinks slowly when they are early.
#[derive(Debug)]
pub(super) struct Waiter {
    wall: Wall,
    parker: Parker,
    spin: Duration,
}

impl Waiter {
    pub(super) fn new(wall: Wall, parker: Parker) -> Self {
        Self {
            wall,
            parker,
            spin: LONGEST_SPIN,
        }
    }

    /// Returns when woken.
    pub(super) fn wait(&self) {
        self.parker.park();
    }

    /// Returns at `deadline`; or earlier if woken, or when only the last stretch is left.
    pub(super) fn wait_until(&mut self, deadline: Time<Steady>) {
        let left = deadline.saturating_since(self.wall.now());
        if left > self.spin {
            let alarm = deadline.saturating_add(-self.spin);
            self.parker
                .park_timeout(left.saturating_sub(self.spin).to_std());
            self.learn(self.wall.now().saturating_since(alarm));
            return;
        }
        while self.wall.now() < deadline {
            std::hint::spin_loop();
        }
    }

    /// The parker overslept by `late`; woken by somebody else it did not sleep to the end.
    fn learn(&mut self, late: Duration) {
        if late.is_negative() {
            return;
        }
        let off = late.saturating_sub(self.spin).as_nanos();
        let step = if off > 0 { off / 4 } else { off / 32 };
        self.spin = self
            .spin
            .saturating_add(Duration::from_nanos(step))
            .clamp(Duration::ZERO, LONGEST_SPIN);
    }
}

/// Asks the system to wake this thread when it is due and not up to 50 µs later, its default.
pub(super) fn wake_precisely() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)) {
        tracing::debug!("timer slack stays at its default: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spin_follows_how_late_the_machine_wakes() {
        let mut waiter = Waiter::new(Wall::new(), Parker::new());
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
        waiter.learn(Duration::from_secs(1));
        assert_eq!(waiter.spin, LONGEST_SPIN);
        waiter.learn(micros(-500));
        assert_eq!(waiter.spin, LONGEST_SPIN);
    }
}
