//! `bagplay_interfaces/srv`: what the services of rosbag2 cannot do. The definitions are in `share/bagplay_interfaces`,
//! for use in a ROS 2 workspace.

use serde::{Deserialize, Serialize};

use super::service::{Empty, Failed, Stamp, service};
use crate::time::TimeRange;

service!(
    /// What a player is doing.
    GetStatus,
    "bagplay_interfaces/srv/GetStatus",
    "172052be3ae34cce1c230764297bb5339f1606f2c02fd841c9fcada8a599ceee",
    Empty => PlayerStatus
);
service!(
    /// Changes the rate and the direction.
    SetPace,
    "bagplay_interfaces/srv/SetPace",
    "c2278dc19f18d6a493b1ff0c0f2d815fda11cd543f3cbf7d4dfb295b1d76fe7e",
    PaceRequest => Done
);
service!(
    /// Jumps to a time, and tells the position after the jump.
    SeekTo,
    "bagplay_interfaces/srv/SeekTo",
    "41a21175aa175244801ac4079d259b27e03c43452b752fcbc857ab0b57fa3daf",
    TimeRequest => Landed
);
service!(
    /// Publishes the next messages, or jumps to an earlier one.
    Step,
    "bagplay_interfaces/srv/Step",
    "62c3e73afc584c1f44b98be9bc0b8e95b9e3ce522783b3d18acfa990e21e7b75",
    StepRequest => Stepped
);
service!(
    /// Changes the range that is played, and whether it is played again at its end.
    SetRange,
    "bagplay_interfaces/srv/SetRange",
    "2613611eb27c0bed493b0cfd319e4438983b6696dad9b4734c5016f8e2cdcca7",
    RangeRequest => Done
);
service!(
    /// Begins or ends an A–B loop.
    SetLoop,
    "bagplay_interfaces/srv/SetLoop",
    "60027a51dd4e6d02292142b1a19519f4ed38ab0370899696aec0b2a0a45d1808",
    RangeRequest => Done
);
service!(
    /// Plays up to a time, and pauses there.
    PlayUntil,
    "bagplay_interfaces/srv/PlayUntil",
    "89a3926c0b66dbc32b8f682f0adf84a0075be1eee29170bbf4ea2d98599cfb11",
    TimeRequest => Done
);

/// What a player is doing. All times are those of its clock.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PlayerStatus {
    /// Where playback is.
    pub clock: Stamp,
    /// The first message of the recording.
    pub recording_start: Stamp,
    /// The last message of the recording.
    pub recording_end: Stamp,
    /// The start of the range that is played.
    pub range_start: Stamp,
    /// The end of the range that is played; it belongs to the range.
    pub range_end: Stamp,
    /// Whether there is an A–B loop.
    pub has_ab_loop: bool,
    /// The start of the A–B loop; zero if there is none.
    pub loop_start: Stamp,
    /// The end of the A–B loop, which belongs to it; zero if there is none.
    pub loop_end: Stamp,
    /// `playing`, `paused`, `starved`, `gated`, `stalled`, `held`, `ended` or `stopped`; `unknown` if the request
    /// could not be read, or the player has not started.
    pub state: String,
    /// Why it is gated: `delay`, `subscribers`, `path`, `answer`, `lead`.
    pub gates: Vec<String>,
    /// Seconds of log time per second of wall time: negative backwards, infinite as fast as possible, NaN while another
    /// clock is followed.
    pub rate: f64,
    /// The clock that is followed, such as `/clock of /simulator`; empty if none is, or if it has no name.
    pub followed: String,
    /// Whether the range is played again at its end.
    pub is_loop: bool,
    /// Counts the jumps.
    pub generation: u64,
    /// The number of completed laps.
    pub laps: u64,
    /// The messages sent, without those that were sent again after a jump.
    pub messages: u64,
    /// Payload bytes of those messages.
    pub bytes: u64,
    /// How many of these messages were late.
    pub late: u64,
    /// The number of damaged places found in the recording so far.
    pub damaged: u64,
}

/// A rate.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PaceRequest {
    /// Seconds of log time per second of wall time, from 0.001 to 1000, negative backwards; infinite: as fast as
    /// possible.
    pub rate: f64,
}

/// A time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TimeRequest {
    /// The time.
    pub time: Stamp,
}

/// How many messages to step, and of which topic.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StepRequest {
    /// How many messages; negative: back.
    pub steps: i64,
    /// Only messages of this topic are counted; empty: all messages.
    pub topic: String,
}

/// A range, and whether it is a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RangeRequest {
    /// Whether the range is played again at its end.
    pub is_loop: bool,
    /// The start of the range; zero: that of the recording.
    pub start: Stamp,
    /// The end of the range, which belongs to it; zero: that of the recording.
    pub end: Stamp,
}

impl RangeRequest {
    /// A part of the recording, in times of the player's clock.
    pub fn of(range: TimeRange, is_loop: bool) -> Self {
        Self {
            is_loop,
            start: Stamp::of(range.start()),
            end: Stamp::of(range.stop()),
        }
    }

    /// No range.
    pub fn none(is_loop: bool) -> Self {
        Self {
            is_loop,
            ..Self::default()
        }
    }
}

/// Whether a request was carried out.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Done {
    /// Whether it was carried out.
    pub success: bool,
    /// Why not.
    pub message: String,
}

/// The position after a jump.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Landed {
    /// Whether the jump took place.
    pub success: bool,
    /// The requested time, or the edge of the recording if the time is outside.
    pub landed: Stamp,
    /// Why not.
    pub message: String,
}

/// What became of steps.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stepped {
    /// Whether all steps were made.
    pub success: bool,
    /// How many messages were published.
    pub published: u64,
    /// Why fewer steps were made.
    pub message: String,
}

impl PlayerStatus {
    /// The state of a player while the clock that it follows stands.
    pub const HELD: &str = "held";
    /// The state of a player that has not started, or that could not read the request.
    pub const UNKNOWN: &str = "unknown";
}

impl Failed for PlayerStatus {
    fn failed(_: &str) -> Self {
        Self {
            state: Self::UNKNOWN.to_owned(),
            rate: f64::NAN,
            ..Self::default()
        }
    }
}

impl Failed for Done {
    fn failed(reason: &str) -> Self {
        Self {
            success: false,
            message: reason.to_owned(),
        }
    }
}

impl Failed for Landed {
    fn failed(reason: &str) -> Self {
        Self {
            message: reason.to_owned(),
            ..Self::default()
        }
    }
}

impl Failed for Stepped {
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

    #[test]
    fn hashes_are_those_of_the_definitions() {
        fn hashes<S: Service>(text: &str) -> (String, &'static str) {
            let computed = service_hash(S::TYPE, text.as_bytes()).unwrap();
            (computed.hash, S::HASH)
        }
        macro_rules! definition {
            ($name:literal) => {
                include_str!(concat!(
                    "../../../../share/bagplay_interfaces/srv/",
                    $name,
                    ".srv"
                ))
            };
        }
        let (computed, written): (Vec<String>, Vec<&str>) = [
            hashes::<GetStatus>(definition!("GetStatus")),
            hashes::<SetPace>(definition!("SetPace")),
            hashes::<SeekTo>(definition!("SeekTo")),
            hashes::<Step>(definition!("Step")),
            hashes::<SetRange>(definition!("SetRange")),
            hashes::<SetLoop>(definition!("SetLoop")),
            hashes::<PlayUntil>(definition!("PlayUntil")),
        ]
        .into_iter()
        .unzip();
        assert_eq!(computed, written);
    }
}
