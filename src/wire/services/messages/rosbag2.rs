//! `rosbag2_interfaces/srv`: the services of a player.
//!
//! Two of them have a second form since ROS 2 Lyrical, with the same name and another hash; a Humble node has no
//! hash at all. The layout of a request follows from the hash in the key that it was sent to.

use serde::{Deserialize, Serialize};

use super::service::{Empty, Failed, Stamp, service};

service!(
    /// Pause.
    Pause,
    "rosbag2_interfaces/srv/Pause",
    "b101e6aaf344c37f1405f5a1f484fee1c7d2acc61c6f04aeb636e9ab3f51a497",
    Empty => Empty
);
service!(
    /// Play on.
    Resume,
    "rosbag2_interfaces/srv/Resume",
    "fb4a116a8bdfc09c4c9f48df3b295d1f546053b4bb145bcbd4c92e7eef9896b8",
    Empty => Empty
);
service!(
    /// Play on, in the form of Lyrical and later.
    ResumeAt,
    "rosbag2_interfaces/srv/Resume",
    "fb0ccd61ead193e540182fd827f77ea672e88e00cef92b361046e6113ccc6fdc",
    ResumeRequest => Verdict
);
service!(
    /// Pause if playing, otherwise play.
    TogglePaused,
    "rosbag2_interfaces/srv/TogglePaused",
    "c4382ba5856616caf3fb7b3ecffd0eb244015814861263ccc8241b2f6c9463ae",
    Empty => Empty
);
service!(
    /// Whether playback is paused.
    IsPaused,
    "rosbag2_interfaces/srv/IsPaused",
    "c4d007c4a9ca1a76729d96b81c20db85b88b454eee371c0d8afe3aa31b899a40",
    Empty => Paused
);
service!(
    /// The rate.
    GetRate,
    "rosbag2_interfaces/srv/GetRate",
    "c4f24894657b45b0cca8c720ce039924cfa1a5b8baa7d1ffd94881812d8700eb",
    Empty => Rate
);
service!(
    /// Changes the rate.
    SetRate,
    "rosbag2_interfaces/srv/SetRate",
    "571e1d5335cc99a8e4132c46e4ea9bf873e85c39f23d375146cb7d249d939629",
    Rate => Success
);
service!(
    /// Begins to play.
    Play,
    "rosbag2_interfaces/srv/Play",
    "e87b287e52219f5f32127c876a0688c537b8a5762612f33b8e740c3b89d19d2b",
    PlayRequest => Success
);
service!(
    /// Publishes the next message while paused.
    PlayNext,
    "rosbag2_interfaces/srv/PlayNext",
    "2b397d59555ce383e6af4b4e43142934ad4b208bd7da01409d472f1fa481d45b",
    Empty => Success
);
service!(
    /// Publishes the next messages at once while paused; 0 means all.
    Burst,
    "rosbag2_interfaces/srv/Burst",
    "3cba361b055bbec262593fcb727aeb9fb6d096f70b50e6cd9b548b63296f2380",
    BurstRequest => BurstResponse
);
service!(
    /// Jumps to a time.
    Seek,
    "rosbag2_interfaces/srv/Seek",
    "6e9b6b38c44f111e36e43903da565fb2775ab0f0e69c02169a5fb0f130b23eb4",
    SeekRequest => Success
);
service!(
    /// Ends playback.
    Stop,
    "rosbag2_interfaces/srv/Stop",
    "668ca94eac65895275ec6d59de0206e522deebe199d9978ffc5ddbaa84a3401e",
    Empty => Empty
);
service!(
    /// Ends playback, in the form of Lyrical and later.
    StopWithVerdict,
    "rosbag2_interfaces/srv/Stop",
    "850e221df0c7d2a552842c2712987c33efd9e469699861782ed62fb319ccb536",
    Empty => Verdict
);

/// When and how to play on.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ResumeRequest {
    /// When to play on, by the node's time; zero, and any time in the past: now.
    pub resume_time: Stamp,
    /// 0: by the node's time; 1: by publish times; 2: by receive times.
    pub resume_mode: i32,
    /// For modes 1 and 2.
    pub tracking_topic_name: String,
}

/// Whether a request was carried out, with a code.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// 0 for success.
    pub return_code: i32,
    /// The reason otherwise.
    pub error_string: String,
}

/// Whether playback is paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Paused {
    /// Paused, for whatever reason that a resume would end.
    pub paused: bool,
}

/// A playback rate.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rate {
    /// Seconds of log time per second of wall time.
    pub rate: f64,
}

/// Whether a request was carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Success {
    /// It was.
    pub success: bool,
}

/// What to play; zero means "not given" in each field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PlayRequest {
    /// Where to start, as a span after the start of the recording.
    pub start_offset: Stamp,
    /// How long to play, in log time.
    pub playback_duration: Stamp,
    /// Until when to play.
    pub playback_until_timestamp: Stamp,
}

/// How many messages to publish.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BurstRequest {
    /// 0 means all.
    pub num_messages: u64,
}

/// How many messages were published.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BurstResponse {
    /// The number that was really published.
    pub actually_burst: u64,
}

/// Where to jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SeekRequest {
    /// The time.
    pub time: Stamp,
}

impl Failed for Verdict {
    fn failed(reason: &str) -> Self {
        Self {
            return_code: 3,
            error_string: reason.to_owned(),
        }
    }
}

impl Failed for Paused {
    fn failed(_: &str) -> Self {
        Self { paused: false }
    }
}

impl Failed for Rate {
    fn failed(_: &str) -> Self {
        Self { rate: f64::NAN }
    }
}

impl Failed for Success {
    fn failed(_: &str) -> Self {
        Self { success: false }
    }
}

impl Failed for BurstResponse {
    fn failed(_: &str) -> Self {
        Self { actually_burst: 0 }
    }
}
