//! [`ToRos1`]: the definition and the payloads of one ROS 2 topic in their ROS 1 form.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::counterpart::{Counterpart, Counterparts, Fate};
use super::known::known;
use super::plan::Plan;
use super::walk::Plans;
use crate::bag::{Schema, Topic};
use crate::ros::definition::{BaseType, Dialect, read_message};
use crate::ros::{definition_texts, join_definitions};
use crate::transcode::error::{NoRos1Form, TranscodeError};

/// The encoding of ROS 2 messages in MCAP files.
const CDR: &str = "cdr";
/// The language of their definitions.
const ROS2_MSG: &str = "ros2msg";

/// The definition of a type as ROS 1 has it: that of a `ros1msg` schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ros1Definition {
    /// `package/Name`.
    pub type_name: String,
    /// The definition of the type, then those of all types that it refers to. It has constants, and no comments.
    pub text: String,
}

/// Turns the messages of one ROS 2 type into messages of ROS 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToRos1 {
    recorded_type: String,
    definition: Ros1Definition,
    left_out: Vec<String>,
    plans: Plans,
}

impl ToRos1 {
    /// The transcoder for a topic; `None` if its messages are not CDR.
    ///
    /// # Errors
    /// See [`NoRos1Form`].
    pub fn for_topic(topic: &Topic) -> Option<Result<Self, NoRos1Form>> {
        let is_cdr = topic.encoding == CDR;
        is_cdr.then(|| match &topic.schema {
            Some(schema) => Self::new(schema),
            None => Err(NoRos1Form::NoDefinition),
        })
    }

    /// The transcoder for messages of a recorded ROS 2 type (`pkg/msg/Type`), by its definition.
    ///
    /// # Errors
    /// See [`NoRos1Form`].
    pub fn new(schema: &Schema) -> Result<Self, NoRos1Form> {
        // A recorder that did not find a definition writes an empty one. Few types really have an empty one.
        if schema.data.is_empty() && schema.name != "std_msgs/msg/Empty" {
            return Err(NoRos1Form::NoDefinition);
        }
        if schema.encoding != ROS2_MSG {
            return Err(NoRos1Form::Language(schema.encoding.clone()));
        }
        let read = read_message(Dialect::Ros2, &schema.name, &schema.data)?;
        let texts = definition_texts(&schema.name, &schema.data)?;
        let mut by_name: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, text) in &texts {
            by_name.entry(name).or_insert(text);
        }
        let messages = Counterparts::of(&read, &by_name)?;
        Ok(Self {
            recorded_type: schema.name.clone(),
            definition: definition(&messages)?,
            left_out: left_out(&messages),
            plans: Plans {
                little: Plan::new(&messages, true),
                big: Plan::new(&messages, false),
            },
        })
    }

    /// The definition of the messages that it makes.
    pub fn definition(&self) -> &Ros1Definition {
        &self.definition
    }

    /// The fields that ROS 1 does not have and that are left out, as `package/Name.field` with the name of the type in
    /// ROS 1; those of types within the type too.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// A recorded topic of this type with its messages transcoded: `ros1`, with the definition of ROS 1. Everything
    /// else is as recorded.
    pub fn ros1_topic(&self, topic: &Topic) -> Topic {
        Topic {
            schema: Some(Schema {
                name: self.definition.type_name.clone(),
                encoding: "ros1msg".to_owned(),
                data: Bytes::from(self.definition.text.clone()),
            }),
            encoding: "ros1".to_owned(),
            type_hash: None,
            ros1_md5: None,
            ..topic.clone()
        }
    }

    /// Appends the ROS 1 form of a recorded payload. Memory and time are bounded by the length of the payload.
    ///
    /// # Errors
    /// If the payload is not a message of the type, see [`TranscodeError`]. Nothing is appended then.
    pub fn transcode(&self, payload: &[u8], into: &mut Vec<u8>) -> Result<(), TranscodeError> {
        let before = into.len();
        self.plans.run(payload, into).map_err(|(at, problem)| {
            into.truncate(before);
            TranscodeError {
                type_name: self.recorded_type.clone(),
                at,
                problem,
            }
        })
    }
}

/// The fields that ROS 1 does not have.
fn left_out(messages: &Counterparts<'_>) -> Vec<String> {
    let of = |message: &Counterpart<'_>| {
        let name = message.name.replacen("/msg/", "/", 1);
        let dropped = message.fates.iter().filter_map(|fate| match fate {
            Fate::Dropped(field) => Some(format!("{name}.{}", field.name)),
            Fate::Kept(_) | Fate::Zeros(_) | Fate::Severity => None,
        });
        dropped.collect::<Vec<_>>()
    };
    messages.all.iter().flat_map(of).collect()
}

/// The definition of the root, then those that it refers to, in the order in which they are referred to.
fn definition(messages: &Counterparts<'_>) -> Result<Ros1Definition, NoRos1Form> {
    let root = messages.all.last().ok_or(NoRos1Form::NoDefinition)?;
    let by_name = messages.all.iter().map(|it| (it.name.as_str(), it));
    let by_name: BTreeMap<&str, _> = by_name.collect();
    let (mut texts, mut next) = (vec![(root.name.clone(), root.text.clone())], 0);
    let mut referred = BTreeSet::from([root.name.clone()]);
    while let Some((name, text)) = texts.get(next) {
        next += 1;
        let read = read_message(Dialect::Ros1, name, text.as_bytes())?;
        let fields = read.types.get(name).into_iter().flatten();
        let nested: Vec<String> = fields
            .filter_map(|field| match &field.base {
                BaseType::Message(nested) => Some(nested.clone()),
                _ => None,
            })
            .collect();
        for nested in nested {
            if referred.insert(nested.clone()) {
                let message = by_name.get(nested.as_str());
                let text = message.map(|message| message.text.as_str());
                // The header that log messages have in ROS 1 alone.
                let text = text.or_else(|| known(&nested).map(|known| known.text));
                let text = text.ok_or_else(|| NoRos1Form::Missing(nested.clone()))?;
                texts.push((nested, text.to_owned()));
            }
        }
    }
    Ok(Ros1Definition {
        type_name: root.name.replacen("/msg/", "/", 1),
        text: join_definitions(&texts),
    })
}
