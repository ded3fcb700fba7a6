//! Waits until everything that was put has left. zenoh's close does not wait for that.
//!
//! zenoh 1.10 cancels a link's sending task when the session closes, in the middle of a write if need be, and
//! undeclarations overtake data. So before anything is closed, two conditions must hold. First, silence: the
//! system's buffers of all links stay empty for a while, and at the end no sending task is busy. (The links of
//! this process's router count, too; clients receive through it, so its receiving tasks count as well.) Second,
//! every session with an admin space (real `rmw_zenoh` nodes and routers have one) has answered the queries that were
//! sent after the data, one in the queue of each priority. If the system does not report its buffers, only the query
//! counts.

use std::thread;
use std::time::Duration;

use zenoh::qos::{CongestionControl, Priority};

use super::arrival::Arrival;
use super::buffers::sockets::{SendBuffers, is_at_work};
use super::publisher::LowPut;
use crate::wire::net::now::steady;
use crate::wire::net::router::RouterSlot;

/// How long the buffers must stay empty: zenoh sometimes waits a moment for more data.
const SILENCE: Duration = Duration::from_millis(40);
/// A sending thread that is busy for this long while the buffers stay empty sends data of another session.
const STARVED: Duration = Duration::from_secs(1);
/// The timeout of the queries: longer than any wait, because the wait has its own end.
const LONGEST: Duration = Duration::from_secs(86_400);
/// The shortest patience: an acknowledgement may take this long although the receiver is not slow.
pub(crate) const LEAST_PATIENCE: Duration = Duration::from_millis(200);
/// How often the buffers are sampled at first, and after [`OFTEN_FOR`]: a sample asks about each link and looks at each
/// thread, and slow subscribers may need the time of the processor.
const SAMPLE_EVERY: Duration = Duration::from_millis(5);
const LATER_EVERY: Duration = Duration::from_millis(50);
const OFTEN_FOR: Duration = Duration::from_secs(1);

/// The result of the wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Drained {
    /// All messages have left.
    Whole,
    /// A subscriber took nothing for the stall timeout, or left while it was stuck.
    Untaken {
        /// Bytes in the system's buffers and in shared memory; what zenoh has queued before them is not known.
        bytes: u64,
    },
    /// The caller ended the wait.
    CalledOff {
        /// As in [`Drained::Untaken`].
        bytes: u64,
    },
}

impl Drained {
    /// The result of two waits, one after the other.
    pub const fn and(self, other: Self) -> Self {
        let bytes = self.bytes() + other.bytes();
        match (self, other) {
            (Self::Whole, Self::Whole) => Self::Whole,
            (Self::CalledOff { .. }, _) | (_, Self::CalledOff { .. }) => Self::CalledOff { bytes },
            _ => Self::Untaken { bytes },
        }
    }

    /// The bytes that have not left.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Whole => 0,
            Self::Untaken { bytes } | Self::CalledOff { bytes } => bytes,
        }
    }
}

/// Returns when everything that was put has left, when nothing has moved for `patience`, or when
/// `is_called_off`, which is called at each sample, returns `true`.
pub(crate) fn drain(
    sessions: &[zenoh::Session],
    router: &RouterSlot,
    patience: Duration,
    mut is_called_off: impl FnMut() -> bool,
) -> Drained {
    let (began, mut buffers, mut silence) = (steady(), SendBuffers::default(), Silence::default());
    // When the queries were sent or the buffers were last not empty; and the answers.
    let mut asked: Option<(Duration, Vec<Arrival>)> = None;
    loop {
        let router = router.zenoh();
        // Read before the buffers: a task that finished after they were read could have filled them.
        let is_at_work = is_at_work(router.is_some());
        let now = steady().duration_since(began);
        buffers.sample(sessions, router.as_ref(), now);
        let is_empty = buffers.bytes() == 0;
        let is_silent = silence.is_reached(is_empty, is_at_work, now);
        // Not earlier: a query would wait for room in a full queue.
        if is_silent && asked.is_none() {
            asked = Some((now, sessions.iter().flat_map(ask).collect()));
        }
        if let Some((at, answers)) = &mut asked {
            if !is_empty {
                *at = now;
            }
            // A session that does not answer, but has taken everything, has the data.
            if answers.iter().all(Arrival::is_certain) || now.saturating_sub(*at) >= patience {
                return match buffers.lost() {
                    0 => Drained::Whole,
                    bytes => Drained::Untaken { bytes },
                };
            }
        }
        let bytes = buffers.bytes() + buffers.lost();
        if is_called_off() {
            return Drained::CalledOff { bytes };
        }
        if buffers.are_stuck(patience) {
            return Drained::Untaken { bytes };
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the system reports an empty send buffer only when asked"
        )]
        thread::sleep(if now < OFTEN_FOR {
            SAMPLE_EVERY
        } else {
            LATER_EVERY
        });
    }
}

/// Returns when no bytes are `held` in shared memory, when their number has reached no new minimum for `patience`, when
/// there are no receivers any more, or when `is_called_off` returns `true`. The memory of a session ends with it, so
/// what a subscriber has not read by then is lost to it. A subscriber that keeps messages cannot be told from one that
/// has not read them.
pub(crate) fn drain_memory(
    held: impl Fn() -> u64,
    has_receivers: impl Fn() -> bool,
    patience: Duration,
    mut is_called_off: impl FnMut() -> bool,
) -> Drained {
    let (began, mut least) = (steady(), u64::MAX);
    let mut moved_at = Duration::ZERO;
    loop {
        let (bytes, now) = (held(), steady().duration_since(began));
        if bytes == 0 {
            return Drained::Whole;
        }
        if bytes < least {
            (least, moved_at) = (bytes, now);
        }
        if is_called_off() {
            return Drained::CalledOff { bytes };
        }
        // Messages that zenoh had queued for a link when it closed stay taken.
        if now.saturating_sub(moved_at) >= patience || !has_receivers() {
            return Drained::Untaken { bytes };
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "zenoh does not tell when a buffer is dropped by another process"
        )]
        thread::sleep(SAMPLE_EVERY);
    }
}

/// How long the buffers have been empty.
#[derive(Default, Debug)]
struct Silence {
    since: Option<Duration>,
}

impl Silence {
    /// Whether the buffers have been empty for long enough, as of a sample made at `now`.
    fn is_reached(&mut self, is_empty: bool, is_at_work: bool, now: Duration) -> bool {
        self.since = is_empty.then(|| self.since.unwrap_or(now));
        let lasts = self
            .since
            .map_or(Duration::ZERO, |since| now.saturating_sub(since));
        lasts >= SILENCE && (lasts >= STARVED || !is_at_work)
    }
}

/// One query behind the messages of each priority: they have queues of their own.
fn ask(session: &zenoh::Session) -> impl Iterator<Item = Arrival> + use<'_> {
    let priorities = [Priority::Data, LowPut::PRIORITY].into_iter();
    priorities
        .filter_map(|priority| Arrival::ask(session, priority, CongestionControl::Block, LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_reached_when_the_buffers_stay_empty_and_no_task_is_busy() {
        let mut silence = Silence::default();
        // Milliseconds, whether the buffers are empty and a task is busy, whether silence is reached.
        for (at, is_empty, is_at_work, expected) in [
            (0, true, false, false),
            (39, true, false, false),
            (40, true, false, true),
            (45, false, false, false),
            (50, true, false, false),
            (89, true, false, false),
            (95, true, true, false),
            (100, true, false, true),
            (1049, true, true, false),
            (1050, true, true, true),
        ] {
            let now = Duration::from_millis(at);
            let is_reached = silence.is_reached(is_empty, is_at_work, now);
            assert_eq!(is_reached, expected, "{at}");
        }
    }
}
