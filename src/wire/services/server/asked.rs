//! [`Asked`]: when clients asked for the status, and whether one of them was told the end.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration as StdDuration;

use crate::time::{Duration, Steady, Time};

/// A client that asks again and again has asked so many times ...
const REPEATEDLY: usize = 3;
/// ... within so long.
const OF_LATE: Duration = Duration::from_millis(500);

/// What is known of the clients that ask, shared between threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked(Arc<(Mutex<Known>, Condvar)>);

#[derive(Debug, Default)]
struct Known {
    /// The last ones, the latest one first.
    last: [Option<Time<Steady>>; REPEATEDLY],
    /// A client was told that the run is over.
    is_end_told: bool,
}

/// Which clients have asked recently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Askers {
    /// Nobody.
    Nobody,
    /// At least one, which may have left.
    Somebody,
    /// At least one that asks repeatedly, and will probably ask again.
    Repeatedly,
}

impl Asked {
    /// A client has asked at `now`, and is told whether the run is over.
    pub(crate) fn at(&self, now: Time<Steady>, is_over: bool) {
        let (known, told) = &*self.0;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.last.rotate_right(1);
        known.last[0] = Some(now);
        known.is_end_told |= is_over;
        told.notify_all();
    }

    /// Who has asked shortly before `now`.
    pub(crate) fn of_late(&self, now: Time<Steady>) -> Askers {
        let (known, _) = &*self.0;
        let known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_late =
            |at: Option<Time<Steady>>| at.is_some_and(|at| now.saturating_since(at) <= OF_LATE);
        if known.last.into_iter().all(is_late) {
            Askers::Repeatedly
        } else if is_late(known.last[0]) {
            Askers::Somebody
        } else {
            Askers::Nobody
        }
    }

    /// Waits until a client was told the end, or the patience ends.
    pub(crate) fn wait_until_end_is_told(&self, patience: StdDuration) {
        let (known, told) = &*self.0;
        let known = known.lock().unwrap_or_else(PoisonError::into_inner);
        // A panic of another thread has been reported.
        let _ = told.wait_timeout_while(known, patience, |known| !known.is_end_told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_again_and_again_is_told_from_who_asked_once() {
        let asked = Asked::default();
        let at = Time::from_millis;
        assert_eq!(asked.of_late(at(0)), Askers::Nobody);
        asked.at(at(0), false);
        assert_eq!(asked.of_late(at(500)), Askers::Somebody);
        assert_eq!(asked.of_late(at(501)), Askers::Nobody);
        asked.at(at(600), false);
        asked.at(at(700), false);
        assert_eq!(asked.of_late(at(700)), Askers::Somebody);
        asked.at(at(800), false);
        assert_eq!(asked.of_late(at(1100)), Askers::Repeatedly);
        assert_eq!(asked.of_late(at(1101)), Askers::Somebody);
    }

    #[test]
    fn the_wait_ends_when_a_client_is_told_the_end() {
        let asked = Asked::default();
        asked.wait_until_end_is_told(StdDuration::ZERO);
        let other = asked.clone();
        let telling = std::thread::spawn(move || {
            other.at(Time::from_millis(1), false);
            other.at(Time::from_millis(2), true);
        });
        // Without a bound: otherwise this does not end.
        asked.wait_until_end_is_told(StdDuration::MAX);
        telling.join().unwrap();
        asked.at(Time::from_millis(3), false);
        asked.wait_until_end_is_told(StdDuration::MAX);
    }
}
