//! The values of flags that are enumerations, names, sizes, or numbers of their own type.

use std::fmt;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::player::{Pace, parse_clock_hz};
use crate::time::{InvalidSpeed, Speed, Unreadable};
use crate::wire::Ros1Messages;

const A_SIZE: &str = "a size: write bytes, or with a unit (64MiB, 500k, 1G)";

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
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Wire {
    /// That of `rmw_zenoh_cpp`: for ROS 2 nodes.
    #[default]
    #[value(name = "rmw_zenoh")]
    RmwZenoh,
    /// That of `zenoh-bridge-ros2dds`: for ROS 2 nodes on DDS.
    #[value(name = "ros2dds")]
    Ros2Dds,
    /// Those of ROS 1 (TCPROS, XML-RPC): for ROS 1 nodes.
    Ros1,
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

/// Whether large messages leave through shared memory.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SharedMemoryArg {
    /// If the zenoh configuration file says so.
    #[default]
    Auto,
    /// To subscribers on this host that use it too.
    On,
    /// Never.
    Off,
}

impl fmt::Display for Wire {
    /// As it is named on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", PossibleValue::get_name))
    }
}

impl Wire {
    /// Whether the subscribers are ROS 2 nodes.
    pub fn is_ros2(self) -> bool {
        matches!(self, Self::RmwZenoh | Self::Ros2Dds)
    }
}

/// What becomes of ROS 1 messages on the wires of ROS 2.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum TranscodeArg {
    /// They are sent as ROS 2 messages.
    #[default]
    Auto,
    /// They are not played.
    Off,
}

impl From<TranscodeArg> for Ros1Messages {
    fn from(transcode: TranscodeArg) -> Self {
        match transcode {
            TranscodeArg::Auto => Self::Transcoded,
            TranscodeArg::Off => Self::LeftOut,
        }
    }
}

/// The order in which messages are sent.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OrderOf {
    /// That of the recording.
    #[default]
    All,
    /// Each topic keeps its own order; small messages do not wait for large messages of other topics.
    Topic,
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
    parse_clock_hz(text).map_err(str::to_owned)
}

/// The name of a node, with its namespace if it has one.
pub(super) fn parse_node(text: &str) -> Result<String, String> {
    parse(text, "this is not the name of a ROS node")
}

/// The name of a topic. As in other flags, a slash at its end has no meaning.
pub(super) fn parse_topic(text: &str) -> Result<String, String> {
    let name = text.strip_suffix('/').unwrap_or(text);
    parse(name, "this is not the name of a ROS topic")?;
    Ok(text.to_owned())
}

/// Words of letters, digits and `_`, separated by single slashes; no word starts with a digit. Else the reason.
fn parse(text: &str, otherwise: &str) -> Result<String, String> {
    let is_word = |word: &str| {
        let mut characters = word.chars();
        characters.all(|it| it.is_ascii_alphanumeric() || it == '_')
            && word.starts_with(|first: char| !first.is_ascii_digit())
    };
    let words = text.strip_prefix('/').unwrap_or(text);
    if words.split('/').all(is_word) {
        Ok(text.to_owned())
    } else {
        Err(otherwise.to_owned())
    }
}

/// A number of bytes: plain, with SI units (k, M, G) or binary ones (Ki, Mi, Gi), `B` optional.
pub fn parse_size(text: &str) -> Result<u64, Unreadable> {
    let refuse = || Unreadable::new(text, A_SIZE);
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale: u64 = match unit
        .trim()
        .trim_end_matches(['b', 'B'])
        .to_ascii_lowercase()
        .as_str()
    {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        _ => return Err(refuse()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(scale).ok_or_else(refuse);
    }
    let number: f64 = number.parse().map_err(|_| refuse())?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a size with a fraction is approximate, and digits alone are not negative"
    )]
    Ok((number * scale as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_between_single_slashes() {
        for name in ["/clock", "clock", "/sim/clock", "/_a/b2"] {
            assert_eq!(parse_topic(name).as_deref(), Ok(name));
            assert_eq!(parse_node(name).as_deref(), Ok(name));
        }
        for name in ["", "/", "//x", "/a//b", "/a//", "/2a", "/a b", "/a*"] {
            let error = parse_topic(name).unwrap_err();
            assert!(error.ends_with("ROS topic"), "{name}: {error}");
            assert!(parse_node(name).is_err(), "{name}");
        }
        assert!(parse_topic("/a/").is_ok() && parse_node("/a/").is_err());
    }

    #[test]
    fn sizes_know_si_and_binary_units() {
        for (text, bytes) in [
            ("64MiB", Some(64 << 20)),
            ("500k", Some(500_000)),
            ("1.5G", Some(1_500_000_000)),
            ("7", Some(7)),
            ("1TB", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(parse_size(text).ok(), bytes, "{text}");
        }
    }
}
