//! [`Watched`]: an output around another one that sees when each message was due by the player's clock.

use bagplay::bag::Message;
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::time::{Duration, Ros, Segment, Steady, Time};

/// What sees the messages, before they are sent.
pub(crate) trait Watch {
    /// `due`: the instant at which the message was due, as `Transport::now` counts them; `None` while playback is held.
    fn message(&mut self, message: &Message, due: Option<Time<Steady>>);
}

/// An output around another one.
pub(crate) struct Watched<O, W> {
    out: O,
    pub(crate) watch: W,
    segment: Option<Segment>,
}

impl<O, W> Watched<O, W> {
    pub(crate) const fn new(out: O, watch: W) -> Self {
        Self {
            out,
            watch,
            segment: None,
        }
    }
}

impl<O: Output, W: Watch> Output for Watched<O, W> {
    fn segment(&mut self, segment: &Segment) {
        self.segment = Some(*segment);
        self.out.segment(segment);
    }

    fn clock(&mut self, time: Time<Ros>) {
        self.out.clock(time);
    }

    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        self.out.serve_clock(period)
    }

    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        let due = self.segment.and_then(|it| it.wall_at(message.log_time));
        self.watch.message(message, due);
        self.out.message(message, occasion)
    }

    fn waits_elsewhere(&mut self, is_waiting: bool) {
        self.out.waits_elsewhere(is_waiting);
    }

    fn finish(&mut self) {
        self.out.finish();
    }
}
