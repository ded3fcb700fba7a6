//! An output around another one, which measures what all messages of a run cost the thread that puts them.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

use std::time::Instant;

use bagplay::bag::Message;
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::time::{Duration, Ros, Segment, Time};
use rustix::time::{ClockId, clock_gettime};

/// The processor time of this thread or process so far, by a clock of the system, in nanoseconds.
pub(crate) fn processor_nanos(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap_or(0)
}

/// An output, and the processor time of its thread from its first segment until the last message has been put.
pub(crate) struct Timed<O> {
    out: O,
    before: Option<u64>,
    spent: Option<(u64, Instant)>,
}

impl<O> Timed<O> {
    pub(crate) fn new(out: O) -> Self {
        Self {
            out,
            before: None,
            spent: None,
        }
    }

    /// The processor time in nanoseconds, and when the last message had been put; an error if the run has not ended.
    pub(crate) fn spent(&self) -> Result<(u64, Instant), &'static str> {
        self.spent.ok_or("not all messages were put")
    }
}

impl<O: Output> Output for Timed<O> {
    fn segment(&mut self, segment: &Segment) {
        self.before
            .get_or_insert_with(|| processor_nanos(ClockId::ThreadCPUTime));
        self.out.segment(segment);
    }

    fn clock(&mut self, time: Time<Ros>) {
        self.out.clock(time);
    }

    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        self.out.serve_clock(period)
    }

    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        self.out.message(message, occasion)
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
    fn finish(&mut self) {
        let spent = |before| processor_nanos(ClockId::ThreadCPUTime) - before;
        self.spent = self.before.map(|before| (spent(before), Instant::now()));
        self.out.finish();
    }
}
