//! [`PlayOutput`]: the output of the program, to the network or to nothing, and beside it to viewers.

use std::collections::BTreeSet;

use bagplay::bag::{Message, TopicId};
use bagplay::output::{Delivery, Null, Occasion, Output};
use bagplay::ros1::Ros1Output;
use bagplay::time::{Duration, Ros, Segment, Time};
#[cfg(feature = "foxglove")]
use bagplay::viewer::ViewerOutput;
use bagplay::wire::{SplitWatch, WireOutput};

/// The output of the program.
#[derive(Debug)]
pub(crate) struct PlayOutput {
    main: Main,
    /// Topics that the wire cannot carry.
    viewers_only: BTreeSet<TopicId>,
    #[cfg(feature = "foxglove")]
    viewers: Option<ViewerOutput>,
}

/// The output whose deliveries count.
#[derive(Debug)]
enum Main {
    Wire {
        output: Box<WireOutput>,
        splits: SplitWatch,
    },
    Ros1(Box<Ros1Output>),
    Null(Null),
}

impl Output for PlayOutput {
    fn segment(&mut self, segment: &Segment) {
        if let Main::Wire { splits, .. } = &mut self.main {
            splits.segment(segment);
        }
        self.inner().segment(segment);
        #[cfg(feature = "foxglove")]
        if let Some(viewers) = &mut self.viewers {
            viewers.segment(segment);
        }
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
        if let (Main::Wire { splits, .. }, Occasion::Due) = (&mut self.main, occasion) {
            splits.message(message.key);
        }
        let delivery = if self.viewers_only.contains(&message.topic) {
            Delivery::Sent
        } else {
            self.inner().message(message, occasion)
        };
        #[cfg(feature = "foxglove")]
        if let Some(viewers) = &mut self.viewers {
            viewers.message(message, occasion);
        }
        delivery
    }
}

impl PlayOutput {
    /// To the network.
    pub(super) fn wire(output: WireOutput, splits: SplitWatch) -> Self {
        let output = Box::new(output);
        Self::of(Main::Wire { output, splits })
    }

    /// To nodes of ROS 1.
    pub(super) fn ros1(output: Ros1Output) -> Self {
        Self::of(Main::Ros1(Box::new(output)))
    }

    /// To nothing.
    pub(super) fn null() -> Self {
        Self::of(Main::Null(Null))
    }

    fn of(main: Main) -> Self {
        Self {
            main,
            viewers_only: BTreeSet::new(),
            #[cfg(feature = "foxglove")]
            viewers: None,
        }
    }

    /// Sends these topics to viewers alone.
    pub(super) fn with_viewers_only(self, viewers_only: BTreeSet<TopicId>) -> Self {
        Self {
            viewers_only,
            ..self
        }
    }

    /// Sends all topics to viewers, too.
    #[cfg(feature = "foxglove")]
    pub(super) fn with_viewers(self, viewers: ViewerOutput) -> Self {
        Self {
            viewers: Some(viewers),
            ..self
        }
    }

    fn inner(&mut self) -> &mut dyn Output {
        match &mut self.main {
            Main::Wire { output, .. } => output.as_mut(),
            Main::Ros1(output) => output.as_mut(),
            Main::Null(output) => output,
        }
    }
}
