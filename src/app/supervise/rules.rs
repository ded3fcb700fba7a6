//! [`Rules`]: what the user has requested for events on the network.

use bagplay::cli::{OnDisconnect, PlayArgs};
use bagplay::time::Duration;

/// What the user has requested for events on the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// What to do when the path to the network is lost.
    pub(crate) on_disconnect: OnDisconnect,
    /// How long to wait for subscribers.
    pub(crate) wait_timeout: Duration,
    /// Whether another publisher of `/clock` ends the run.
    pub(crate) strict_clock: bool,
    /// How long the path to the network may be lost; `None`: for ever.
    pub(crate) path_limit: Option<Duration>,
}

impl Rules {
    /// The rules for a recording that is played.
    pub(crate) fn of(args: &PlayArgs) -> Self {
        Self {
            on_disconnect: args.wire.on_disconnect,
            wait_timeout: args.topics.wait_timeout,
            strict_clock: args.clock.strict_clock,
            path_limit: None,
        }
    }

    /// The same for a run with verdicts, which has to end: without a path it does not wait longer than for subscribers.
    pub(crate) fn of_ci(args: &PlayArgs) -> Self {
        let on_disconnect = args.wire.on_disconnect;
        let is_held = on_disconnect == OnDisconnect::Hold;
        Self {
            path_limit: is_held.then_some(args.topics.wait_timeout),
            ..Self::of(args)
        }
    }
}
