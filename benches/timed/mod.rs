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

/// An output, the processor time of its thread from the first message to the last, and the time of the last.
pub(crate) struct Timed<O> {
    out: O,
    left: u64,
    before: Option<u64>,
    spent: Option<(u64, Instant)>,
}

impl<O> Timed<O> {
    /// `messages` is how many there are.
    pub(crate) fn new(out: O, messages: u64) -> Self {
        Self {
            out,
            left: messages,
            before: None,
            spent: None,
        }
    }

    /// The processor time in nanoseconds, and when the last message had been put; an error if it was not put.
    pub(crate) fn spent(&self) -> Result<(u64, Instant), &'static str> {
        self.spent.ok_or("not all messages were put")
    }
}

impl<O: Output> Output for Timed<O> {
    fn segment(&mut self, segment: &Segment) {
        self.out.segment(segment);
    }

    fn clock(&mut self, time: Time<Ros>) {
        self.out.clock(time);
    }

    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        self.out.serve_clock(period)
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        let before = *self
            .before
            .get_or_insert_with(|| processor_nanos(ClockId::ThreadCPUTime));
        let delivery = self.out.message(message, occasion);
        self.left -= 1;
        if self.left == 0 {
            self.spent = Some((
                processor_nanos(ClockId::ThreadCPUTime) - before,
                Instant::now(),
            ));
        }
        delivery
    }

    fn finish(&mut self) {
        self.out.finish();
    }
}
