//! [`RemoteRecording`]: what a player elsewhere plays.

use bytes::Bytes;

use crate::bag::{Schema, Topic};
use crate::ros::Qos;
use crate::time::{Duration, TimeRange};
use crate::wire::rmw_zenoh::qos_chunk::decode_qos;
use crate::wire::services::messages::timeline::{Timeline, TimelineTopic};

/// What a player elsewhere plays.
#[derive(Clone, Debug)]
pub struct RemoteRecording {
    /// The recording, as a user would call it; empty if the player has none.
    pub name: String,
    /// How `/clock` was served when the player was asked, such as `40 Hz`; empty if it is not.
    pub clock: String,
    /// Added to log time to get the time of the clock.
    pub clock_shift: Duration,
    /// Its range.
    pub range: TimeRange,
    /// Its topics.
    pub topics: Vec<RemoteTopic>,
}

/// A topic of a player elsewhere.
#[derive(Clone, Debug)]
pub struct RemoteTopic {
    /// What the recording says of it.
    pub recorded: Topic,
    /// The name on the network.
    pub name: String,
    /// The QoS profile that it is published with.
    pub qos: Option<Qos>,
    /// Why it is not played, if it is not.
    pub left_out: Option<String>,
}

impl RemoteRecording {
    pub(super) fn new(timeline: Timeline, clock_shift: Duration, range: TimeRange) -> Self {
        Self {
            name: timeline.name,
            clock: timeline.clock,
            clock_shift,
            range,
            topics: timeline.topics.into_iter().map(remote_topic).collect(),
        }
    }
}

fn remote_topic(told: TimelineTopic) -> RemoteTopic {
    let schema = Schema {
        name: told.type_name,
        encoding: told.schema_encoding,
        data: Bytes::from(told.schema),
    };
    let qos = decode_qos(&told.qos);
    let recorded_qos = told.recorded_qos.iter();
    let recorded_qos = recorded_qos.filter_map(|qos| decode_qos(qos));
    RemoteTopic {
        recorded: Topic {
            name: told.name.clone(),
            schema: (!schema.name.is_empty()).then_some(schema),
            encoding: told.encoding,
            offered_qos: recorded_qos.collect(),
            type_hash: None,
            ros1_md5: None,
            is_latched: told.is_latched,
            message_count: u64::try_from(told.messages).ok(),
        },
        name: told.name,
        qos: qos.filter(|_| !told.qos.is_empty()),
        left_out: Some(told.left_out).filter(|reason| !reason.is_empty()),
    }
}
