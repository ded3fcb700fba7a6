//! [`Wall`] and [`Waiter`]: the only file of the player that reads the machine's clock and waits for it.

use std::time::Instant;

use crossbeam_utils::sync::Parker;

use crate::time::{Duration, Steady, Time};

/// The longest part of a wait that is spent spinning.
const LONGEST_SPIN: Duration = Duration::from_micros(80);

/// The monotonic clock; zero is when it was made.
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

    /// Never earlier than a previous result.
    pub(super) fn now(self) -> Time<Steady> {
        Time::from_nanos(Duration::from(self.origin.elapsed()).as_nanos())
    }
}

/// Waits for instants: parks the thread first, and spins at the end.
///
/// The spin is as long as this machine recently took to wake a thread, so that little time is spun in vain. It
/// grows quickly when a wake-up was late, and shrinks slowly when wake-ups are early.
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

    /// Returns at `deadline`; earlier if woken, or if only the spin is left.
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

    /// The thread woke `late` after its alarm; a negative value means that something else woke it earlier.
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
