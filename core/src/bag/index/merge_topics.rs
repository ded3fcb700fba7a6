//! Merges channels into topics: channels with the same name, type and encoding are one topic, over all files.

use std::collections::{BTreeMap, HashMap};

use mcap::records::Channel;

use super::topic::{Schema, Topic};
use crate::bag::index::file::file_index::FileIndex;
use crate::bag::mcap::parse::SchemaRecord;
use crate::bag::message::TopicId;
use crate::bag::open::metadata::MetadataTopic;
use crate::ros::{Durability, Qos};
use crate::ros::{is_tf_static, is_type_hash, kept_by_latched};

/// How many messages of a group a late joiner would receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Depth {
    /// The last messages, up to this number.
    Last(usize),
    /// All: transforms of several publishers complement each other.
    All,
}

/// A *publisher group*: publishers of a topic that the recording does not distinguish. If the channels name their
/// publisher, each publisher is a group; otherwise all publishers of the topic are one group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct PublisherGroupId(u32);

impl PublisherGroupId {
    pub(crate) const fn new(index: u32) -> Self {
        Self(index)
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// See [`PublisherGroupId`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PublisherGroup {
    pub(crate) topic: TopicId,
    pub(crate) depth: Depth,
}

/// The topic and group of each channel of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChannelTable {
    by_id: Box<[Option<(TopicId, PublisherGroupId)>]>,
}

impl ChannelTable {
    pub(crate) fn topic(&self, channel: u16) -> Option<TopicId> {
        self.group(channel).map(|(topic, _)| topic)
    }

    /// The topic of each channel, unsorted; topics can repeat.
    pub(crate) fn topics(&self) -> impl Iterator<Item = TopicId> {
        self.by_id.iter().flatten().map(|(topic, _)| *topic)
    }

    /// The group of each channel, unsorted; groups can repeat.
    pub(crate) fn groups(&self) -> impl Iterator<Item = PublisherGroupId> {
        self.by_id.iter().flatten().map(|(_, group)| *group)
    }

    pub(crate) fn group(&self, channel: u16) -> Option<(TopicId, PublisherGroupId)> {
        self.by_id.get(usize::from(channel)).copied().flatten()
    }
}

/// The topics of several files.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    pub(crate) merged: Vec<Topic>,
    /// By [`PublisherGroupId`].
    pub(crate) groups: Vec<PublisherGroup>,
    /// One for each file.
    pub(crate) channels: Vec<ChannelTable>,
}

type Identity = (String, String, String);

/// A channel is compared with so many topics of its name and type, whose definitions differ.
const MOST_DEFINITIONS: usize = 16;

impl Topics {
    /// `said` is what `metadata.yaml` gives for topics; it fills in what the files leave out.
    pub(crate) fn of(files: &[FileIndex], said: &[MetadataTopic]) -> Self {
        let mut all = Self::default();
        let mut ids: HashMap<Identity, Vec<TopicId>> = HashMap::new();
        let mut groups: HashMap<(TopicId, String), PublisherGroupId> = HashMap::new();
        for file in files {
            let mut offers: BTreeMap<TopicId, Vec<Qos>> = BTreeMap::new();
            let mut depths: BTreeMap<PublisherGroupId, usize> = BTreeMap::new();
            let last = file.channels.keys().next_back();
            let mut by_id = vec![None; last.map_or(0, |id| usize::from(*id) + 1)];
            for channel in file.channels.values() {
                let id = all.join(file, channel, &mut ids);
                let caller = channel.metadata.get("callerid");
                let caller = (id, caller.cloned().unwrap_or_default());
                let group = *groups.entry(caller).or_insert_with(|| all.add_group(id));
                if let Some(slot) = by_id.get_mut(usize::from(channel.id)) {
                    *slot = Some((id, group));
                }
                let offered = channel.metadata.get("offered_qos_profiles");
                *depths.entry(group).or_default() +=
                    offered.map_or(1, |yaml| kept_by_latched(yaml));
                let offered = match offered {
                    Some(yaml) => Qos::parse_offers(yaml),
                    None => Qos::of_ros1(&channel.metadata).into_iter().collect(),
                };
                offers.entry(id).or_default().extend(offered);
            }
            all.channels.push(ChannelTable {
                by_id: by_id.into_boxed_slice(),
            });
            // The files of a split recording repeat their publishers, so the largest depth counts.
            for (group, kept) in depths {
                if let Some(Depth::Last(depth)) = all.depth_mut(group) {
                    *depth = kept.max(*depth);
                }
            }
            all.take_offers(offers);
        }
        for topic in &mut all.merged {
            for said in said {
                topic.learn(said);
            }
            // If no QoS was recorded, the name decides: static transforms are always latched.
            topic.is_latched |= topic.offered_qos.is_empty() && is_tf_static(&topic.name);
        }
        all
    }

    fn add_group(&mut self, topic: TopicId) -> PublisherGroupId {
        let id = PublisherGroupId(u32::try_from(self.groups.len()).expect("65536 channels a file"));
        let name = self.merged.get(topic.index()).map(|topic| &topic.name);
        let depth = match name {
            Some(name) if is_tf_static(name) => Depth::All,
            _ => Depth::Last(1),
        };
        self.groups.push(PublisherGroup { topic, depth });
        id
    }

    fn depth_mut(&mut self, group: PublisherGroupId) -> Option<&mut Depth> {
        self.groups
            .get_mut(group.index())
            .map(|group| &mut group.depth)
    }

    fn join(
        &mut self,
        file: &FileIndex,
        channel: &Channel,
        ids: &mut HashMap<Identity, Vec<TopicId>>,
    ) -> TopicId {
        let schema = file
            .schemas
            .get(&channel.schema_id)
            .filter(|s| s.header.id != 0);
        let type_name = schema.map_or_else(String::new, |schema| schema.header.name.clone());
        let identity = (
            channel.topic.clone(),
            type_name,
            channel.message_encoding.clone(),
        );
        let same = ids.entry(identity).or_default();
        let known = same.iter().take(MOST_DEFINITIONS).copied();
        let known = known
            .into_iter()
            .find(|id| self.is_one(*id, channel, schema));
        let id = known.unwrap_or_else(|| {
            let id = TopicId(u32::try_from(self.merged.len()).expect("65536 channels a file"));
            same.push(id);
            self.merged.push(Topic {
                name: channel.topic.clone(),
                schema: None,
                encoding: channel.message_encoding.clone(),
                offered_qos: Vec::new(),
                type_hash: None,
                ros1_md5: None,
                is_latched: false,
                message_count: Some(0),
            });
            id
        });
        let Some(topic) = self.merged.get_mut(id.index()) else {
            return id;
        };
        // A definition replaces a missing or empty one.
        if topic.schema.as_ref().is_none_or(|s| s.data.is_empty()) {
            topic.schema = schema
                .map(|schema| Schema {
                    name: schema.header.name.clone(),
                    encoding: schema.header.encoding.clone(),
                    data: schema.data.clone(),
                })
                .or(topic.schema.take());
        }
        let hash = channel.metadata.get("topic_type_hash");
        let hash = hash.filter(|hash| is_type_hash(hash));
        topic.type_hash = topic.type_hash.take().or_else(|| hash.cloned());
        let md5 = channel.metadata.get("md5sum");
        let md5 = md5.filter(|md5| channel.message_encoding == "ros1" && is_md5(md5));
        topic.ros1_md5 = topic.ros1_md5.take().or_else(|| md5.cloned());
        let counts = file
            .statistics
            .as_ref()
            .map(|counts| &counts.channel_message_counts);
        let count = counts.map(|counts| counts.get(&channel.id).copied().unwrap_or(0));
        topic.message_count = topic
            .message_count
            .zip(count)
            .map(|(a, b)| a.saturating_add(b));
        id
    }

    /// Whether a channel belongs to a topic of the same name, type and encoding. ROS 1 messages are transcoded by their
    /// definition, so topics with different ones stay apart.
    fn is_one(&self, id: TopicId, channel: &Channel, schema: Option<&SchemaRecord>) -> bool {
        let topic = self.merged.get(id.index());
        let known = topic.and_then(|topic| topic.schema.as_ref());
        let (Some(known), Some(own)) = (known, schema) else {
            return true;
        };
        let (known, own) = (&known.data, &own.data);
        // Channels of one file share the bytes.
        let is_same = || known.as_ptr() == own.as_ptr() && known.len() == own.len();
        channel.message_encoding != "ros1"
            || known.is_empty()
            || own.is_empty()
            || is_same()
            || known == own
    }

    /// The files of a split recording repeat their publishers, so of each profile the largest number in any file
    /// counts.
    fn take_offers(&mut self, offers: BTreeMap<TopicId, Vec<Qos>>) {
        for (id, profiles) in offers {
            let Some(topic) = self.merged.get_mut(id.index()) else {
                continue;
            };
            let is_local = |qos: &Qos| qos.durability == Durability::TransientLocal;
            topic.is_latched |= profiles.iter().any(is_local);
            let mut known: HashMap<Qos, usize> = HashMap::new();
            for qos in &topic.offered_qos {
                *known.entry(*qos).or_default() += 1;
            }
            for qos in profiles {
                match known.get_mut(&qos) {
                    Some(left) if *left > 0 => *left -= 1,
                    _ => topic.offered_qos.push(qos),
                }
            }
        }
    }
}

/// Whether this is an MD5 sum as ROS 1 writes it.
fn is_md5(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 32 && text.bytes().all(is_digit)
}

impl Topic {
    fn learn(&mut self, said: &MetadataTopic) {
        if said.name != self.name {
            return;
        }
        if self.offered_qos.is_empty() {
            self.offered_qos.clone_from(&said.offered_qos);
            let is_local = |qos: &Qos| qos.durability == Durability::TransientLocal;
            self.is_latched |= self.offered_qos.iter().any(is_local);
        }
        let hash = said.type_hash.as_ref().filter(|hash| is_type_hash(hash));
        self.type_hash = self.type_hash.take().or_else(|| hash.cloned());
    }
}
