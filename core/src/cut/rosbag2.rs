//! [`metadata`]: the `metadata.yaml` of a cut, in version 9, as rosbag2 of Jazzy and later writes it.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::definitions::Definitions;
use super::outcome::{TopicShare, Written};
use super::translation::OFFERS;
use crate::bag::Topic;
use crate::ros::{Qos, WrittenQos};
use crate::time::TimeRange;
use crate::untrusted::yaml::{self, quoted};

/// The text that describes a cut whose messages are all in `file`, by its channels and how many messages each has.
pub(crate) fn metadata(
    written: &Written,
    file: &str,
    channels: (&Definitions, &BTreeMap<u16, u64>),
) -> String {
    let message_count = written.messages + written.latched;
    let entries = written.topics.iter().filter_map(|share| {
        let topic = written.forms.get(share.id.index())?;
        Some(entries(topic, share, channels))
    });
    let span = Span::of(written.range);
    let document = Document {
        rosbag2_bagfile_information: BagInfo {
            version: 9,
            storage_identifier: "mcap",
            duration: span.duration,
            starting_time: span.starting_time,
            message_count,
            topics_with_message_count: entries.flatten().collect(),
            compression_format: "",
            compression_mode: "",
            relative_file_paths: vec![Quoted(file)],
            files: vec![FileInfo {
                path: Quoted(file),
                starting_time: span.starting_time,
                duration: span.duration,
                message_count,
            }],
            custom_data: None,
            ros_distro: "",
        },
    };
    yaml::write(&document).expect("text and numbers are written to memory")
}

/// The entries of a topic: one for each list of profiles that channels of it have, because the reader `rosbags` takes
/// only channels whose list is that of an entry. One if no channel has any.
fn entries<'a>(
    topic: &'a Topic,
    share: &TopicShare,
    (definitions, counts): (&Definitions, &BTreeMap<u16, u64>),
) -> Vec<TopicCount<'a>> {
    let own = definitions.by_topic.get(&share.id);
    let mut offers: Vec<(Vec<Qos>, u64)> = Vec::new();
    for channel in own.into_iter().flatten() {
        let offered = definitions.channels.get(channel);
        let offered = offered.and_then(|channel| channel.metadata.get(OFFERS));
        let offered = offered
            .map(|yaml| Qos::parse_offers(yaml))
            .unwrap_or_default();
        let count = counts.get(channel).copied().unwrap_or_default();
        match offers.iter_mut().find(|(known, _)| *known == offered) {
            Some((_, messages)) => *messages += count,
            None => offers.push((offered, count)),
        }
    }
    if offers.iter().all(|(offered, _)| offered.is_empty()) {
        let messages = share.messages + share.latched;
        offers = vec![(topic.offered_qos.clone(), messages)];
    }
    let entry = |(offered, message_count): (Vec<Qos>, u64)| TopicCount {
        topic_metadata: TopicFields::of(topic, &offered),
        message_count,
    };
    offers.into_iter().map(entry).collect()
}

#[derive(Serialize)]
struct Document<'a> {
    rosbag2_bagfile_information: BagInfo<'a>,
}

#[derive(Serialize)]
struct BagInfo<'a> {
    version: u64,
    storage_identifier: &'static str,
    duration: Nanoseconds,
    starting_time: SinceEpoch,
    message_count: u64,
    topics_with_message_count: Vec<TopicCount<'a>>,
    compression_format: &'static str,
    compression_mode: &'static str,
    relative_file_paths: Vec<Quoted<'a>>,
    files: Vec<FileInfo<'a>>,
    custom_data: Option<()>,
    ros_distro: &'static str,
}

#[derive(Serialize)]
struct FileInfo<'a> {
    path: Quoted<'a>,
    starting_time: SinceEpoch,
    duration: Nanoseconds,
    message_count: u64,
}

#[derive(Serialize, Clone, Copy)]
struct Nanoseconds {
    nanoseconds: i64,
}

#[derive(Serialize, Clone, Copy)]
struct SinceEpoch {
    nanoseconds_since_epoch: i64,
}

struct Span {
    starting_time: SinceEpoch,
    duration: Nanoseconds,
}

impl Span {
    fn of(range: TimeRange) -> Self {
        Self {
            starting_time: SinceEpoch {
                nanoseconds_since_epoch: range.start().as_nanos(),
            },
            duration: Nanoseconds {
                nanoseconds: range.duration().as_nanos(),
            },
        }
    }
}

#[derive(Serialize)]
struct TopicCount<'a> {
    topic_metadata: TopicFields<'a>,
    message_count: u64,
}

#[derive(Serialize)]
struct TopicFields<'a> {
    name: Quoted<'a>,
    #[serde(rename = "type")]
    type_name: Quoted<'a>,
    serialization_format: Quoted<'a>,
    offered_qos_profiles: Vec<WrittenQos>,
    type_description_hash: Quoted<'a>,
}

impl<'a> TopicFields<'a> {
    fn of(topic: &'a Topic, offered: &[Qos]) -> Self {
        Self {
            name: Quoted(&topic.name),
            type_name: Quoted(topic.type_name()),
            serialization_format: Quoted(&topic.encoding),
            offered_qos_profiles: offered.iter().map(WrittenQos::of).collect(),
            type_description_hash: Quoted(topic.type_hash.as_deref().unwrap_or_default()),
        }
    }
}

/// Text in double quotes: names come from recordings.
struct Quoted<'a>(&'a str);

impl Serialize for Quoted<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        quoted(self.0, to)
    }
}
