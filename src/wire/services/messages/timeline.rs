//! `bagplay_interfaces/srv`: what a screen on another host needs of a player besides its status. The definitions are in
//! `share/bagplay_interfaces`.

use serde::{Deserialize, Serialize};

use super::bagplay::Done;
use super::service::{Empty, Failed, Stamp, service};

service!(
    /// What a player plays.
    GetTimeline,
    "bagplay_interfaces/srv/GetTimeline",
    "3723b5ce72cbdacc66df4e91848d892b395c2e18c1c8912bd34041dc44f489b0",
    Empty => Timeline
);
service!(
    /// How many messages there are in each part of a range.
    GetDensity,
    "bagplay_interfaces/srv/GetDensity",
    "188b8de1720278dc70ee9ffab9f6904be33ee40ce3c7cad9198624b7a71014f7",
    DensityRequest => Density
);
service!(
    /// The message of a topic at or before a time, as text.
    GetMessage,
    "bagplay_interfaces/srv/GetMessage",
    "e8c8f8585a7e120aa629dedbbdfd21f58eae4e464034c45de28e906d809457ad",
    MessageRequest => MessageText
);
service!(
    /// What changes during a run, in addition to the status.
    GetProgress,
    "bagplay_interfaces/srv/GetProgress",
    "815a2f45cf018fc7d2f1738c5d881a82876dff38a02d0ace096f13e9c74b0567",
    Empty => Progress
);
service!(
    /// Mutes a topic, or unmutes it.
    SetMuted,
    "bagplay_interfaces/srv/SetMuted",
    "bcf6922f232b1d7b92c4b4c421146436cc2afbf4e9747e620888437d8463da37",
    MuteRequest => Done
);
service!(
    /// The marks of the recording.
    GetMarks,
    "bagplay_interfaces/srv/GetMarks",
    "355a8612617c1ba700d0c190cad6a5a92eafa051033a79e8d90a1f742b9bfc09",
    Empty => Marks
);
service!(
    /// Adds or removes a mark.
    SetMark,
    "bagplay_interfaces/srv/SetMark",
    "72ee5d69a96d32910bb53bb5e8a8222239f93d08b4221752df5dcdb19dc411a1",
    MarkRequest => Done
);

/// The longest definition of a type that is sent, in bytes.
pub const MAX_SCHEMA_BYTES: usize = 1 << 16;
/// How many bytes of definitions a [`Timeline`] has at most.
pub const MAX_SCHEMA_BYTES_OF_ALL: usize = 1 << 22;

/// What a player plays. Apart from the clock it does not change during a run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Timeline {
    /// The name of the recording, for display; empty without a recording.
    pub name: String,
    /// How `/clock` is served, such as `40 Hz`; empty if it is not.
    pub clock: String,
    /// The time of the clock minus the recorded time.
    pub clock_shift: Stamp,
    /// The topics. Other services give topics in the same order.
    pub topics: Vec<TimelineTopic>,
}

/// A topic of the recording.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TimelineTopic {
    /// The name on the network; for a topic that is not played, the recorded name.
    pub name: String,
    /// The name of the type; empty if the recording does not name it.
    pub type_name: String,
    /// The encoding of the type's recorded definition, such as `ros2msg`; empty if there is none.
    pub schema_encoding: String,
    /// The recorded definition; empty if there is none, if it is longer than [`MAX_SCHEMA_BYTES`], or if it and those
    /// of the topics before it are longer than [`MAX_SCHEMA_BYTES_OF_ALL`].
    pub schema: Vec<u8>,
    /// The encoding of its messages, such as `cdr`.
    pub encoding: String,
    /// The number of recorded messages; −1 if it is not known.
    pub messages: i64,
    /// Whether it is latched.
    pub is_latched: bool,
    /// The QoS profiles of the recorded publishers, in the form of liveliness tokens.
    pub recorded_qos: Vec<String>,
    /// The QoS profile with which it is published, in the form of liveliness tokens; empty if there is none.
    pub qos: String,
    /// Why it is not played; empty if it is.
    pub left_out: String,
}

/// A range of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DensityRequest {
    /// The start of the range.
    pub start: Stamp,
    /// Its end, which belongs to it.
    pub end: Stamp,
}

/// How many messages there are in each part of a range.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Density {
    /// Whether all of the range has been read. If not, a later request gets more.
    pub is_whole: bool,
    /// What is known so far, in the order of [`Timeline::topics`]; empty if nothing is known yet.
    pub topics: Vec<TopicDensity>,
    /// Why no density can be given; empty if it can.
    pub message: String,
}

/// How many messages of one topic there are in each part of a range.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TopicDensity {
    /// The number of messages in each part of the range. The parts have the same length. Fractions are estimates.
    pub messages: Vec<f32>,
    /// The payload bytes of all messages in the range; −1 if they are not known.
    pub bytes: i64,
}

/// A topic and a time.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MessageRequest {
    /// The topic, by its name in [`Timeline::topics`].
    pub topic: String,
    /// The time.
    pub time: Stamp,
}

/// A message as text.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MessageText {
    /// Whether the message was found. If not, and [`MessageText::message`] is empty, there is none at or before the
    /// time.
    pub is_found: bool,
    /// Why it was not found, although there may be one.
    pub message: String,
    /// When it was received.
    pub log_time: Stamp,
    /// When it was sent.
    pub publish_time: Stamp,
    /// The length of its payload, in bytes.
    pub bytes: u64,
    /// The format from which it was decoded: `cdr`, `ros1`, `json` or `hex` (bytes that were not decoded).
    pub format: String,
    /// Its fields.
    pub lines: Vec<FieldText>,
    /// Why it is shown as bytes or in part; empty if it was decoded.
    pub problem: String,
    /// Whether fields are left out because there are too many.
    pub is_cut: bool,
}

/// One field of a message.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FieldText {
    /// The depth of nesting; 0 for fields of the message itself.
    pub depth: u32,
    /// Its name.
    pub name: String,
    /// Its value; empty for a nested message, whose fields follow.
    pub value: String,
}

/// What changes during a run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Whether anything has been read ahead.
    pub has_read: bool,
    /// The time of the last message that has been read ahead.
    pub read_to: Stamp,
    /// How many chunks have been searched in the look-up of latched messages for which playback waits.
    pub searched: u64,
    /// How many chunks have to be searched; 0 if playback does not wait.
    pub to_search: u64,
    /// How `/clock` is served, such as `40 Hz`; empty if it is not.
    pub clock: String,
    /// The number of nodes that follow `/clock`; −1 if it is not known.
    pub clock_subscribers: i32,
    /// Grows with each change of the marks.
    pub marks_revision: u64,
    /// In the order of [`Timeline::topics`].
    pub topics: Vec<TopicProgress>,
}

/// What was sent on a topic, and to how many subscribers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TopicProgress {
    /// Messages sent.
    pub sent: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// How many of these messages were late.
    pub late: u64,
    /// Messages that could not be sent.
    pub dropped: u64,
    /// Latched messages that were resent after seeks.
    pub refilled: u64,
    /// Messages that were not sent because the topic was muted.
    pub skipped: u64,
    /// The number of subscribers; −1 if it is not known.
    pub subscribers: i32,
    /// Whether it is muted.
    pub is_muted: bool,
}

/// Whether a topic is to be muted.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MuteRequest {
    /// The topic, by its name in [`Timeline::topics`].
    pub topic: String,
    /// Whether it is to be muted.
    pub is_muted: bool,
}

/// A named moment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MarkAt {
    /// When.
    pub time: Stamp,
    /// Its name; may be empty.
    pub name: String,
}

/// The marks of the recording, in the order of time.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Marks {
    /// The marks.
    pub marks: Vec<MarkAt>,
    /// Why they cannot be read; empty if they can.
    pub message: String,
}

/// A mark to add or to remove.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MarkRequest {
    /// The mark. It replaces a mark at the same time.
    pub mark: MarkAt,
    /// Whether the mark at this time is removed instead.
    pub is_removed: bool,
}

impl Failed for Timeline {
    fn failed(_: &str) -> Self {
        Self::default()
    }
}

impl Failed for Density {
    fn failed(reason: &str) -> Self {
        Self {
            is_whole: true,
            message: reason.to_owned(),
            ..Self::default()
        }
    }
}

impl Failed for MessageText {
    fn failed(reason: &str) -> Self {
        Self {
            message: reason.to_owned(),
            ..Self::default()
        }
    }
}

impl Failed for Progress {
    fn failed(_: &str) -> Self {
        Self::default()
    }
}

impl Failed for Marks {
    fn failed(reason: &str) -> Self {
        Self {
            message: reason.to_owned(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::service_hash;
    use crate::wire::services::messages::service::Service;

    /// The text of a service and of the messages that it refers to.
    macro_rules! definition {
        ($service:literal $(, $message:literal)*) => {
            concat!(
                include_str!(concat!("../../../../share/bagplay_interfaces/srv/", $service, ".srv")),
                "\n",
                $(
                    "================================================================================\n",
                    "MSG: bagplay_interfaces/", $message, "\n",
                    include_str!(concat!("../../../../share/bagplay_interfaces/msg/", $message, ".msg")),
                    "\n",
                )*
                "================================================================================\n",
                "MSG: builtin_interfaces/Duration\nint32 sec\nuint32 nanosec\n",
            )
        };
    }

    #[test]
    fn hashes_are_those_of_the_definitions() {
        fn hashes<S: Service>(text: &str) -> (String, &'static str) {
            let computed = service_hash(S::TYPE, text.as_bytes()).unwrap();
            (computed.hash, S::HASH)
        }
        let (computed, written): (Vec<String>, Vec<&str>) = [
            hashes::<GetTimeline>(definition!("GetTimeline", "TimelineTopic")),
            hashes::<GetDensity>(definition!("GetDensity", "TopicDensity")),
            hashes::<GetMessage>(definition!("GetMessage", "FieldLine")),
            hashes::<GetProgress>(definition!("GetProgress", "TopicProgress")),
            hashes::<SetMuted>(definition!("SetMuted")),
            hashes::<GetMarks>(definition!("GetMarks", "Mark")),
            hashes::<SetMark>(definition!("SetMark", "Mark")),
        ]
        .into_iter()
        .unzip();
        assert_eq!(computed, written);
    }
}
