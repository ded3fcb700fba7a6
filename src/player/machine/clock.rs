//! [`Ticker`]: the wall instants of `/clock`, on a fixed grid.
//!
//! A tick that is missed is skipped: the grid never moves, so wake-up errors do not add up.

use crate::time::{Duration, Steady, Time};

#[derive(Clone, Copy, Debug)]
pub(super) struct Ticker {
    period: Option<Duration>,
    next: Option<Time<Steady>>,
}

impl Ticker {
    /// Ticks every `period`, from the first instant it is asked about; `None` means never.
    pub(super) fn new(period: Option<Duration>) -> Self {
        Self { period, next: None }
    }

    /// The instant of the next tick; `now` before the first tick.
    pub(super) fn next(&self, now: Time<Steady>) -> Option<Time<Steady>> {
        self.period.map(|_| self.next.unwrap_or(now))
    }

    /// Starts the grid at `now`, whose tick has been sent, unless it has started before.
    pub(super) fn begin(&mut self, now: Time<Steady>) {
        if self.next.is_none() {
            self.ticked(now);
        }
    }

    /// The tick at `now` has been sent: moves to the first grid instant after it.
    pub(super) fn ticked(&mut self, now: Time<Steady>) {
        let (Some(period), Some(tick)) = (self.period, self.next(now)) else {
            return;
        };
        let period = period.as_nanos().max(1);
        let missed = now.saturating_since(tick).as_nanos().max(0) / period;
        self.next =
            Some(tick.saturating_add(Duration::from_nanos((missed + 1).saturating_mul(period))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_stands_however_late_the_ticks_are() {
        let at = |nanos| Time::from_nanos(nanos);
        let mut ticker = Ticker::new(Some(Duration::from_nanos(10)));
        // (woken at, next tick)
        for (now, next) in [(100, 110), (113, 120), (120, 130), (159, 160), (160, 170)] {
            ticker.ticked(at(now));
            assert_eq!(ticker.next(at(now)), Some(at(next)), "woken at {now}");
        }
        assert_eq!(Ticker::new(None).next(at(0)), None);
    }
}
