//! [`Definitions`]: the schemas and channels of a cut, and which channel of a file has become which.
//!
//! Ids are kept as long as they mean the same in all files. An id that means something else in a later file gets a new
//! one there, which no file uses. Equal definitions become one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use mcap::records::Channel;

use super::error::CutError;
use super::translation::Translation;
use crate::bag::{Definition, SchemaRecord, Selection, Stored, TopicId};

/// The name, encoding and data of a schema.
type SchemaContent = (String, String, Bytes);
/// The schema, topic, encoding and metadata of a channel.
type ChannelContent = (u16, String, String, BTreeMap<String, String>);

/// The definitions of a cut.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    pub(crate) schemas: BTreeMap<u16, SchemaRecord>,
    pub(crate) channels: BTreeMap<u16, Channel>,
    /// The channels of each topic.
    pub(crate) by_topic: BTreeMap<TopicId, BTreeSet<u16>>,
    /// The ids by what is defined, apart from the id.
    schema_ids: HashMap<SchemaContent, u16>,
    channel_ids: HashMap<ChannelContent, BTreeSet<u16>>,
    inputs: Vec<Renamed>,
    /// Whether an id or a definition of any file was changed. Then each chunk has to be looked into: definitions can be
    /// in any chunk.
    has_renamed: bool,
}

/// What has become of the channels of a file.
#[derive(Debug, Default)]
struct Renamed {
    /// The channel in the cut; those of topics that are not selected are missing.
    channels: BTreeMap<u16, u16>,
    /// The channels in the cut that these have become.
    used: BTreeSet<u16>,
    /// Whether all channels are in the cut.
    is_complete: bool,
}

impl Definitions {
    /// The definitions of the selected topics of all files, as they are written.
    pub(crate) fn of(
        stored: &Stored,
        topics: &Selection,
        translation: &Translation,
    ) -> Result<Self, CutError> {
        let mut all = Self::default();
        let mut taken = Taken::of(stored);
        for input in 0..stored.inputs() {
            let (schemas, channels) = stored.definitions(input);
            let mut renamed = Renamed {
                channels: BTreeMap::new(),
                used: BTreeSet::new(),
                is_complete: true,
            };
            // By the recorded id, and the topic if the schema is not written as it is recorded.
            let mut own_schemas: BTreeMap<(u16, Option<TopicId>), u16> = BTreeMap::new();
            for channel in channels.values() {
                let topic = stored.topic_of(input, channel.id);
                let is_written = |topic: &TopicId| {
                    topics.contains(*topic) && !translation.refused.contains_key(topic)
                };
                let Some(topic) = topic.filter(is_written) else {
                    renamed.is_complete = false;
                    continue;
                };
                let is_translated = translation.transcoder(topic).is_some();
                let known = (channel.schema_id, is_translated.then_some(topic));
                let schema_id = if let Some(known) = own_schemas.get(&known) {
                    *known
                } else {
                    let schema = schemas.get(&channel.schema_id);
                    let ros2 = schema.and_then(|it| translation.schema(topic, it));
                    all.add_schema(ros2.as_ref().or(schema), &mut taken)?
                };
                own_schemas.insert(known, schema_id);
                let here = Channel {
                    schema_id,
                    ..channel.clone()
                };
                let here = translation.channel(topic, here);
                let id = all.add_channel(here, &renamed, &mut taken)?;
                let is_other = (id, schema_id) != (channel.id, channel.schema_id);
                all.by_topic.entry(topic).or_default().insert(id);
                all.has_renamed |= is_other || is_translated;
                renamed.channels.insert(channel.id, id);
                renamed.used.insert(id);
            }
            all.inputs.push(renamed);
        }
        Ok(all)
    }

    /// The id in the cut of a schema, 0 if there is none.
    fn add_schema(
        &mut self,
        schema: Option<&SchemaRecord>,
        taken: &mut Taken,
    ) -> Result<u16, CutError> {
        let Some(schema) = schema.filter(|schema| schema.header.id != 0) else {
            return Ok(0);
        };
        let own = schema.header.id;
        if self.schemas.get(&own).is_none_or(|known| known == schema) {
            self.schemas.insert(own, schema.clone());
            self.schema_ids.entry(schema_content(schema)).or_insert(own);
            return Ok(own);
        }
        let content = schema_content(schema);
        if let Some(id) = self.schema_ids.get(&content) {
            return Ok(*id);
        }
        let id = next_free(&mut taken.schemas).ok_or(CutError::TooMany { what: "schemas" })?;
        let mut named = schema.clone();
        named.header.id = id;
        self.schemas.insert(id, named);
        self.schema_ids.insert(content, id);
        Ok(id)
    }

    /// The id in the cut of a channel, which no other channel of the same file has.
    fn add_channel(
        &mut self,
        channel: Channel,
        of_input: &Renamed,
        taken: &mut Taken,
    ) -> Result<u16, CutError> {
        let own = channel.id;
        let is_own = self
            .channels
            .get(&own)
            .is_none_or(|known| *known == channel);
        let id = if is_own && !of_input.used.contains(&own) {
            own
        } else {
            let known = self.channel_ids.get(&channel_content(&channel));
            let mut known = known.into_iter().flatten();
            match known.find(|id| !of_input.used.contains(id)) {
                Some(id) => *id,
                None => {
                    next_free(&mut taken.channels).ok_or(CutError::TooMany { what: "channels" })?
                }
            }
        };
        let ids = self.channel_ids.entry(channel_content(&channel));
        ids.or_default().insert(id);
        self.channels.insert(id, Channel { id, ..channel });
        Ok(id)
    }

    /// The channel in the cut of a channel of a file.
    pub(crate) fn channel(&self, input: u32, channel: u16) -> Option<u16> {
        let of_input = self.inputs.get(input as usize)?;
        of_input.channels.get(&channel).copied()
    }

    /// Whether the chunks of a file can be copied without a look into them: whatever they define, the cut defines it
    /// in the same way.
    pub(crate) fn fit_all_of(&self, input: u32) -> bool {
        let of_input = self.inputs.get(input as usize);
        !self.has_renamed && of_input.is_some_and(|it| it.is_complete)
    }

    /// Whether the cut has this very definition.
    pub(crate) fn has(&self, definition: &Definition) -> bool {
        match definition {
            Definition::Schema(schema) => self.schemas.get(&schema.header.id) == Some(schema),
            Definition::Channel(channel) => self.channels.get(&channel.id) == Some(channel),
        }
    }
}

fn schema_content(schema: &SchemaRecord) -> SchemaContent {
    let header = &schema.header;
    let (name, encoding) = (header.name.clone(), header.encoding.clone());
    (name, encoding, schema.data.clone())
}

fn channel_content(channel: &Channel) -> ChannelContent {
    (
        channel.schema_id,
        channel.topic.clone(),
        channel.message_encoding.clone(),
        channel.metadata.clone(),
    )
}

/// The ids that any file uses, and the new ones.
struct Taken {
    schemas: BTreeSet<u16>,
    channels: BTreeSet<u16>,
}

impl Taken {
    fn of(stored: &Stored) -> Self {
        let mut taken = Self {
            schemas: BTreeSet::from([0]),
            channels: BTreeSet::new(),
        };
        for input in 0..stored.inputs() {
            let (schemas, channels) = stored.definitions(input);
            taken.schemas.extend(schemas.keys());
            taken.channels.extend(channels.keys());
        }
        taken
    }
}

/// The id after the largest, or if there is none the smallest that is free. It is taken then.
fn next_free(taken: &mut BTreeSet<u16>) -> Option<u16> {
    let after = taken.last().map_or(Some(1), |last| last.checked_add(1));
    let id = after.or_else(|| (1..u16::MAX).find(|id| !taken.contains(id)))?;
    taken.insert(id);
    Some(id)
}
