//! [`PlayOutput`]: the output of the program, to the network or to nothing.

use bagplay::bag::Message;
use bagplay::output::{Delivery, Null, Occasion, Output};
use bagplay::time::{Duration, Ros, Segment, Time};
use bagplay::wire::{SplitWatch, WireOutput};

/// The output of the program.
#[derive(Debug)]
pub(crate) enum PlayOutput {
    Wire {
        output: Box<WireOutput>,
        splits: SplitWatch,
    },
    Null(Null),
}

impl Output for PlayOutput {
    fn segment(&mut self, segment: &Segment) {
        if let Self::Wire { splits, .. } = self {
            splits.segment(segment);
        }
        self.inner().segment(segment);
    }
    fn clock(&mut self, time: Time<Ros>) {
        self.inner().clock(time);
    }
    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        self.inner().serve_clock(period)
    }
    fn finish(&mut self) {
        self.inner().finish();
    }
    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        if let (Self::Wire { splits, .. }, Occasion::Due) = (&mut *self, occasion) {
            splits.message(message.key);
        }
        self.inner().message(message, occasion)
    }
}

impl PlayOutput {
    fn inner(&mut self) -> &mut dyn Output {
        match self {
            Self::Wire { output, .. } => output.as_mut(),
            Self::Null(output) => output,
        }
    }
}
