//! [`Service`]: a service type, and the messages that several packages share.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::time::{Duration, Ros, Time};

/// A ROS 2 service type: its name, its hash and its two messages.
pub trait Service {
    /// `package/srv/Name`.
    const TYPE: &'static str;
    /// The type hash, `RIHS01_` and 64 hexadecimal digits.
    const HASH: &'static str;
    /// The request.
    type Request: Serialize + DeserializeOwned;
    /// The response.
    type Response: Serialize + DeserializeOwned;
}

/// A response that tells a client that its request was not carried out. The client waits for ever if it gets none.
pub trait Failed {
    /// The response, with the reason if it has a field for it. A type without status has only one response.
    fn failed(reason: &str) -> Self;
}

/// Declares a [`Service`]: name of the Rust type, name of the ROS type, digits of the hash, request and response.
macro_rules! service {
    ($(#[$doc:meta])* $name:ident, $ros:literal, $hash:literal, $request:ty => $response:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {}

        impl $crate::wire::services::messages::service::Service for $name {
            const TYPE: &'static str = $ros;
            const HASH: &'static str = concat!("RIHS01_", $hash);
            type Request = $request;
            type Response = $response;
        }
    };
}
pub(crate) use service;

/// A message without fields. On the wire it has one byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Empty {
    /// Always 0; receivers ignore it.
    structure_needs_at_least_one_member: u8,
}

impl Failed for Empty {
    fn failed(_: &str) -> Self {
        Self::default()
    }
}

/// `builtin_interfaces/msg/Time`, and `Duration`, which has the same layout: seconds and nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stamp {
    /// Whole seconds, rounded down.
    pub sec: i32,
    /// The rest, in nanoseconds: 0 to 999,999,999.
    pub nanosec: u32,
}

impl Stamp {
    /// A time; one outside of 32-bit seconds is clamped.
    pub fn of(time: Time<Ros>) -> Self {
        let (sec, nanosec) = time.to_sec_nanosec();
        match i32::try_from(sec) {
            Ok(sec) => Self { sec, nanosec },
            Err(_) if sec < 0 => Self {
                sec: i32::MIN,
                nanosec: 0,
            },
            Err(_) => Self {
                sec: i32::MAX,
                nanosec: 999_999_999,
            },
        }
    }

    /// Nanoseconds; `None` if the fraction is a second or more.
    fn nanos(self) -> Option<i64> {
        let nanos = i64::from(self.sec) * 1_000_000_000 + i64::from(self.nanosec);
        (self.nanosec < 1_000_000_000).then_some(nanos)
    }

    /// As a time; `None` if the fraction is a second or more.
    pub fn time(self) -> Option<Time<Ros>> {
        self.nanos().map(Time::from_nanos)
    }

    /// As a span; `None` if the fraction is a second or more.
    pub fn span(self) -> Option<Duration> {
        self.nanos().map(Duration::from_nanos)
    }

    /// Whether it is zero, which the services of rosbag2 use for "not given".
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}
