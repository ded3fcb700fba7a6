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

/// How important what is said has to be.
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

/// How messages are put on the network.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Wire {
    /// As `rmw_zenoh_cpp` does: for ROS 2 nodes.
    #[default]
    #[value(name = "rmw_zenoh")]
    RmwZenoh,
    /// Plain: the topic name as key, the payload as it is.
    Zenoh,
    /// Nowhere.
    Null,
}

/// The ROS distribution on the other side.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RosDistro {
    /// As the nodes that are there.
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

/// What a reliable topic does when a subscriber does not keep up.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CongestionArg {
    /// Wait for it.
    #[default]
    Block,
    /// Wait with one message, drop what comes meanwhile.
    BlockFirst,
    /// Drop, as ros2 bag play does.
    Drop,
}

/// What happens when the path to the network is lost.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OnDisconnect {
    /// Stand still until it is back.
    #[default]
    Hold,
    /// Play on; what is published meanwhile may be lost.
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
        _ => Err("a clock ticks at 0.001 to 100000 Hz".into()),
    }
}
