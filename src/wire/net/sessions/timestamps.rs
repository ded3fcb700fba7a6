//! [`Timestamps`]: the zenoh timestamps of the messages of one session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use zenoh::time::{NTP64, Timestamp, TimestampId};

/// Makes the timestamps of the messages of one session from readings of the wall clock. Each timestamp is later than
/// the one before, even if the clock is set back: subscribers drop a message whose timestamp is not later.
#[derive(Debug)]
pub(crate) struct Timestamps {
    session: TimestampId,
    last: AtomicU64,
}

impl Timestamps {
    pub(super) fn of(session: &zenoh::Session) -> Self {
        let now = session.new_timestamp();
        Self {
            session: *now.get_id(),
            last: AtomicU64::new(now.get_time().as_u64()),
        }
    }

    /// The timestamp of a message that is put at `unix_nanos`: that time, or the next one after the last timestamp.
    #[inline]
    pub(crate) fn next(&self, unix_nanos: i64) -> Timestamp {
        let since = Duration::from_nanos(u64::try_from(unix_nanos).unwrap_or(0));
        let now = NTP64::from(since).as_u64();
        let before = self.last.fetch_max(now, Ordering::Relaxed);
        let time = if before < now {
            now
        } else {
            self.last.fetch_add(1, Ordering::Relaxed) + 1
        };
        Timestamp::new(NTP64(time), self.session)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SECOND: i64 = 1_700_000_000_500_000_000;

    fn timestamps() -> Timestamps {
        Timestamps {
            session: TimestampId::rand(),
            last: AtomicU64::new(0),
        }
    }

    #[test]
    fn timestamps_are_unix_times_and_rise_when_the_clock_does_not() {
        let timestamps = timestamps();
        let first = timestamps.next(SECOND);
        assert_eq!(*first.get_id(), timestamps.session);
        let since = first.get_time().to_duration();
        assert_eq!(since, Duration::from_millis(1_700_000_000_500));
        let mut before = first;
        for nanos in [SECOND, SECOND - 1_000, SECOND + 1, i64::MIN, SECOND + 2] {
            let next = timestamps.next(nanos);
            assert!(next > before, "{nanos}");
            before = next;
        }
    }

    #[test]
    fn threads_get_different_timestamps_and_each_thread_later_ones() {
        const EACH: i64 = 10_000;
        let timestamps = timestamps();
        let of_one_thread = || -> Vec<Timestamp> {
            // Half of the readings are equal.
            let readings = (0..EACH).map(|n| SECOND + n / 2);
            readings.map(|nanos| timestamps.next(nanos)).collect()
        };
        let all: Vec<_> = std::thread::scope(|scope| {
            let threads = [(); 2].map(|()| scope.spawn(of_one_thread));
            threads
                .into_iter()
                .flat_map(|thread| {
                    let made = thread.join().expect("no panic");
                    assert!(made.is_sorted_by(|a, b| a < b));
                    made
                })
                .collect()
        });
        let different: BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }
}
