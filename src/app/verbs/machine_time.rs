//! [`MachineTime`]: keeps a player at the time of a clock of this machine.
//!
//! The player follows a segment that rolls at factor 1. The system clock does not run exactly so: it is adjusted a
//! little all the time, and its date can be set. So it is read again and again, and the segment corrected.

use std::thread;
use std::time::Duration as StdDuration;

use anyhow::Context;
use bagplay::cli::{Exit, clock_range};
use bagplay::clock::{Clock, MachineSource, SimTime};
use bagplay::player::Transport;
use bagplay::time::{AtEnd, Duration, Ros, Segment, Speed, Steady, Time};
use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use crate::app::failure::{Failure, OrExit};

/// How often the system clock is read.
const EVERY: StdDuration = StdDuration::from_millis(20);
/// A deviation above this means that the date was set: a jump. Smaller ones are made up for without a jump; if the
/// clock is ahead, it stands still for that long.
const JUMP: Duration = Duration::from_millis(10);
/// A deviation up to this is not corrected.
const EXACT: Duration = Duration::from_micros(20);
/// Two readings that belong together take less than this, unless the thread was interrupted between them.
const TOGETHER: Duration = Duration::from_micros(100);
/// How often a reading that was interrupted is repeated.
const REPEATS: usize = 10;

/// A clock of this machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MachineClock {
    System,
    Steady,
}

impl MachineClock {
    /// What it is called in messages to users.
    const fn name(self) -> &'static str {
        match self {
            Self::System => "the system clock of this machine",
            Self::Steady => "the steady clock of this machine",
        }
    }

    fn now(self) -> Time<Ros> {
        match self {
            Self::System => Clock::system().now().assume_ros(),
            Self::Steady => Time::from_nanos(Clock::steady().now().as_nanos()),
        }
    }

    /// The time of this clock, and the instant on the player's clock at which it was read.
    fn read(self, transport: &Transport) -> (Time<Ros>, Time<Steady>) {
        let once = || {
            let before = transport.now();
            let time = self.now();
            let took = transport.now().saturating_since(before);
            let middle = Duration::from_nanos(took.as_nanos() / 2);
            (took, (time, before.saturating_add(middle)))
        };
        let mut best = once();
        for _ in 0..REPEATS {
            if best.0 <= TOGETHER {
                break;
            }
            let next = once();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }
}

/// Sets the clock that a player follows, until this is dropped.
#[derive(Debug)]
pub(crate) struct MachineTime {
    first: Time<Ros>,
    /// The thread ends when this is dropped.
    _alive: Sender<()>,
}

impl MachineTime {
    /// Sets the clock now, and from then on in a thread of its own. Fails on a machine without a system clock if that
    /// is the clock.
    pub(crate) fn start(clock: MachineClock, transport: &Transport) -> Result<Self, Failure> {
        if clock == MachineClock::System {
            SimTime::new(MachineSource::System)
                .enable()
                .or_exit(Exit::Failed)?;
        }
        transport.lead().set_name(clock.name());
        let (first, now) = clock.read(transport);
        let mut followed = Followed::new(first, now);
        transport.lead().set(followed.segment);
        let (alive, end) = bounded(0);
        if clock == MachineClock::System {
            let transport = transport.clone();
            let correct = move || {
                while end.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                    let (time, now) = clock.read(&transport);
                    if let Some(segment) = followed.correct(time, now) {
                        transport.lead().set(segment);
                    }
                }
            };
            thread::Builder::new()
                .name("machine-time".into())
                .spawn(correct)
                .context("the thread that reads the system clock cannot be started")
                .or_exit(Exit::Failed)?;
        }
        Ok(Self {
            first,
            _alive: alive,
        })
    }

    /// The time at the start.
    pub(crate) fn first(&self) -> Time<Ros> {
        self.first
    }
}

/// The clock of the machine as the player sees it.
#[derive(Debug)]
struct Followed {
    segment: Segment,
}

impl Followed {
    fn new(time: Time<Ros>, now: Time<Steady>) -> Self {
        let segment = Segment::new(clock_range(), Speed::NORMAL, AtEnd::Hold);
        Self {
            segment: segment.seek(time).roll(now),
        }
    }

    /// The corrected segment for a clock that shows `time` at `now`; `None` if the present one is right.
    fn correct(&mut self, time: Time<Ros>, now: Time<Steady>) -> Option<Segment> {
        let ahead = self.segment.position(now).saturating_since(time);
        let deviation = ahead.saturating_abs();
        if deviation <= EXACT {
            return None;
        }
        self.segment = if deviation > JUMP {
            self.segment.seek(time).roll(now)
        } else {
            self.segment.delayed(ahead)
        };
        Some(self.segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_that_is_set_is_a_jump_and_an_adjustment_is_not() {
        let wall = |ms: i64| Time::<Steady>::from_millis(ms);
        let micros = |us: i64| Time::<Ros>::from_micros(1_000_000_000 + us);
        let mut followed = Followed::new(micros(0), wall(5));
        let first = followed.segment.generation();
        // (read at ms, clock in µs, corrected, jumps so far)
        for (ms, us, is_corrected, jumps) in [
            (25, 20_000, false, 0),
            (45, 40_015, false, 0),
            (65, 60_030, true, 0),
            (85, 79_900, true, 0),
            (105, 3_600_000_000, true, 1),
            (125, 3_600_020_000, false, 1),
            (145, 140_000, true, 2),
        ] {
            let corrected = followed.correct(micros(us), wall(ms));
            assert_eq!(corrected.is_some(), is_corrected, "{us}");
            assert_eq!(followed.segment.generation(), first + jumps, "{us}");
            let shown = followed.segment.position(wall(ms));
            assert!(shown.abs_diff(micros(us)) <= EXACT, "{us}: {shown}");
            assert!(followed.segment.is_rolling());
        }
    }
}
