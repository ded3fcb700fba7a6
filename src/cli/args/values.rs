//! The values of flags that are enumerations or numbers of their own type.

use clap::ValueEnum;

use crate::player::Pace;
use crate::time::{InvalidSpeed, Speed};

/// How results are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// When colours are used.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Color {
    /// On terminals, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The lowest level of messages that are logged.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LogLevel {
    /// As with -v.
    Debug,
    /// As without the flag.
    Info,
    /// Warnings and errors.
    Warn,
    /// As with -q.
    Error,
    /// As error.
    Fatal,
}

/// Which stamp orders messages.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum MessageOrder {
    /// When they were received (MCAP `log_time`).
    #[default]
    Received,
    /// When they were sent (MCAP `publish_time`).
    Sent,
}

impl From<MessageOrder> for crate::bag::MessageOrder {
    fn from(order: MessageOrder) -> Self {
        match order {
            MessageOrder::Received => Self::Received,
            MessageOrder::Sent => Self::Sent,
        }
    }
}

/// The protocol on the network.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Wire {
    /// That of `rmw_zenoh_cpp`: for ROS 2 nodes.
    #[default]
    #[value(name = "rmw_zenoh")]
    RmwZenoh,
    /// Zenoh alone: the topic name as key, the recorded payload.
    Zenoh,
    /// None: nothing is sent.
    Null,
}

/// The ROS distribution of the subscribers.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RosDistro {
    /// That of the nodes that are present.
    #[default]
    Auto,
    /// No type hashes on the wire.
    Humble,
    /// RIHS01 type hashes.
    Jazzy,
    /// As Jazzy.
    Kilted,
    /// As Jazzy.
    Lyrical,
    /// As Jazzy.
    Rolling,
}

/// What reliable topics do while a subscriber does not keep up.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CongestionArg {
    /// Wait for the subscriber.
    #[default]
    Block,
    /// Wait with one message, drop the others meanwhile.
    BlockFirst,
    /// Drop messages, as ros2 bag play does.
    Drop,
}

/// What to do when the connection to the router is lost.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OnDisconnect {
    /// Hold playback until it is restored.
    #[default]
    Hold,
    /// Play on; messages published meanwhile may be lost.
    Continue,
    /// End with exit code 1.
    Exit,
}

/// A rate: `max` or a factor.
pub(crate) fn parse_pace(text: &str) -> Result<Pace, InvalidSpeed> {
    if text == "max" {
        Ok(Pace::Max)
    } else {
        text.parse::<Speed>().map(Pace::At)
    }
}

/// The frequency of a clock.
pub(crate) fn parse_hz(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(hz) if (0.001..=100_000.0).contains(&hz) => Ok(hz),
        _ => Err("the rate of /clock is 0.001 to 100000 Hz".into()),
    }
}
