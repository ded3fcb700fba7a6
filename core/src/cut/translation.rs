//! [`Translation`]: which topics a cut has in another form than the recording, and how they are written.

use std::collections::{BTreeMap, HashMap};

use mcap::records::Channel;

use super::options::Payloads;
use crate::bag::{Bag, SchemaRecord, Topic, TopicId};
use crate::ros::Qos;
use crate::transcode::{NoRos2Form, TranscodeError, Transcoder};

/// Where the payload begins in what follows the channel of a message record: after sequence number and two times.
const PAYLOAD: usize = 20;
/// The metadata of a channel in which rosbag2 has the profiles of its publishers, and the hash of its type.
pub(super) const OFFERS: &str = "offered_qos_profiles";
const TYPE_HASH: &str = "topic_type_hash";

/// The topics that are transcoded, and those that cannot be.
#[derive(Debug, Default)]
pub(crate) struct Translation {
    transcoders: HashMap<TopicId, Transcoded>,
    pub(crate) refused: BTreeMap<TopicId, NoRos2Form>,
}

/// How a topic is written.
#[derive(Debug)]
struct Transcoded {
    transcoder: Transcoder,
    /// The topic in its ROS 2 form.
    topic: Topic,
    latching: Latching,
}

/// Which publishers of a topic late joiners get messages of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Latching {
    AsRecorded,
    /// All, though none of them latched: static transforms.
    All,
}

impl Translation {
    pub(crate) fn of(bag: &Bag, payloads: Payloads) -> Self {
        let mut found = Self::default();
        if payloads == Payloads::AsRecorded {
            return found;
        }
        for (id, topic) in (0..).map(TopicId).zip(bag.topics()) {
            match Transcoder::for_topic(topic) {
                None => {}
                Some(Ok(transcoder)) => {
                    found
                        .transcoders
                        .insert(id, Transcoded::new(transcoder, topic));
                }
                Some(Err(refused)) => {
                    found.refused.insert(id, refused);
                }
            }
        }
        found
    }

    /// The transcoder of a topic; `None`: its messages are written as they are recorded.
    pub(crate) fn transcoder(&self, topic: TopicId) -> Option<&Transcoder> {
        let topic = self.transcoders.get(&topic);
        topic.map(|topic| &topic.transcoder)
    }

    /// The name of a topic that is transcoded; empty for others.
    pub(crate) fn name(&self, topic: TopicId) -> &str {
        let topic = self.transcoders.get(&topic);
        topic.map_or("", |topic| &topic.topic.name)
    }

    /// The profile of the file: that of the recording, unless ROS 1 has become ROS 2.
    pub(crate) fn profile<'a>(&self, recorded: &'a str) -> &'a str {
        match (recorded, self.transcoders.is_empty()) {
            ("ros1", false) => "ros2",
            _ => recorded,
        }
    }

    /// The schema of a channel of this topic.
    pub(crate) fn schema(&self, topic: TopicId, recorded: &SchemaRecord) -> Option<SchemaRecord> {
        let ros2 = self.transcoder(topic)?.ros2_schema();
        let mut schema = recorded.clone();
        schema.header.name = ros2.name;
        schema.header.encoding = ros2.encoding;
        schema.data = ros2.data;
        Some(schema)
    }

    /// A channel of this topic as it is written.
    pub(crate) fn channel(&self, topic: TopicId, mut channel: Channel) -> Channel {
        let Some(Transcoded {
            topic, latching, ..
        }) = self.transcoders.get(&topic)
        else {
            return channel;
        };
        channel.message_encoding.clone_from(&topic.encoding);
        let offer = match latching {
            Latching::AsRecorded => Qos::of_ros1(&channel.metadata),
            Latching::All => Some(Qos::of_latching_ros1()),
        };
        if let Some(offer) = offer {
            let offers = channel.metadata.entry(OFFERS.to_owned());
            offers.or_insert_with(|| Qos::write_offers(&[offer]));
        }
        if let Some(hash) = &topic.type_hash {
            channel.metadata.insert(TYPE_HASH.to_owned(), hash.clone());
        }
        channel
    }

    /// The topic as it is written.
    pub(crate) fn topic(&self, id: TopicId, recorded: &Topic) -> Topic {
        let transcoded = self.transcoders.get(&id);
        transcoded.map_or(recorded, |it| &it.topic).clone()
    }
}

impl Transcoded {
    fn new(transcoder: Transcoder, recorded: &Topic) -> Self {
        let mut topic = transcoder.ros2_topic(recorded);
        let latching = if recorded.is_latched && recorded.offered_qos.is_empty() {
            topic.offered_qos = vec![Qos::of_latching_ros1()];
            Latching::All
        } else {
            Latching::AsRecorded
        };
        Self {
            transcoder,
            topic,
            latching,
        }
    }
}

/// What follows the channel in a message record, with the payload transcoded, in place of what `into` had.
///
/// # Errors
/// If it is no message of the type.
pub(crate) fn transcode(
    transcoder: &Transcoder,
    rest: &[u8],
    into: &mut Vec<u8>,
) -> Result<(), TranscodeError> {
    into.clear();
    let (head, payload) = rest.split_at_checked(PAYLOAD).unwrap_or((rest, &[]));
    into.extend_from_slice(head);
    transcoder.transcode(payload, into)
}
