//! [`Transcoder`]: the definition and the payloads of one ROS 1 topic in their ROS 2 form.

use std::borrow::Cow;

use bytes::Bytes;

use super::counterpart::Counterparts;
use super::definition::{Ros2Definition, definition};
use super::error::{NoRos2Form, Problem, TranscodeError};
use super::plan::Plan;
use crate::bag::{Schema, Topic};
use crate::ros::definition::{Dialect, read_message};
use crate::ros::definition_texts;

/// The encoding of ROS 1 messages in MCAP files.
const ROS1: &str = "ros1";
/// The language of their definitions.
const ROS1_MSG: &str = "ros1msg";

/// Turns the messages of one ROS 1 type into messages of ROS 2.
///
/// A recorder that did not find a definition writes an empty one, as types without fields have it. So with an empty
/// definition, messages without bytes are transcoded, and all others are refused ([`Problem::Undefined`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transcoder {
    recorded_type: String,
    /// Whether the recorded definition is empty.
    has_empty_definition: bool,
    definition: Ros2Definition,
    plan: Plan,
}

impl Transcoder {
    /// The transcoder for a topic; `None` if its messages are not `ros1`.
    ///
    /// # Errors
    /// See [`NoRos2Form`].
    pub fn for_topic(topic: &Topic) -> Option<Result<Self, NoRos2Form>> {
        let is_ros1 = topic.encoding == ROS1;
        is_ros1.then(|| match &topic.schema {
            Some(schema) => Self::new(schema),
            None => Err(NoRos2Form::NoDefinition),
        })
    }

    /// The topic in its ROS 2 form, if it is a ROS 1 topic that has one; otherwise as it is.
    pub fn ros2_form(topic: &Topic) -> Cow<'_, Topic> {
        match Self::for_topic(topic) {
            Some(Ok(transcoder)) => Cow::Owned(transcoder.ros2_topic(topic)),
            _ => Cow::Borrowed(topic),
        }
    }

    /// The transcoder for messages of a recorded ROS 1 type (`pkg/Type`), by its definition.
    ///
    /// # Errors
    /// See [`NoRos2Form`].
    pub fn new(schema: &Schema) -> Result<Self, NoRos2Form> {
        if schema.encoding != ROS1_MSG {
            return Err(NoRos2Form::Language(schema.encoding.clone()));
        }
        let read = read_message(Dialect::Ros1ForRos2, &schema.name, &schema.data)?;
        let messages = Counterparts::of(&read)?;
        let texts = definition_texts(&schema.name, &schema.data)?;
        Ok(Self {
            recorded_type: schema.name.clone(),
            has_empty_definition: schema.data.is_empty(),
            definition: definition(&messages, &texts)?,
            plan: Plan::new(&messages),
        })
    }

    /// The definition of the messages that it makes.
    pub fn definition(&self) -> &Ros2Definition {
        &self.definition
    }

    /// A recorded topic of this type with its messages transcoded: CDR, with the definition of ROS 2 and, with
    /// feature `type-hashes` (in `bagplay`: `wire`), its type hash. Everything else is as recorded.
    pub fn ros2_topic(&self, topic: &Topic) -> Topic {
        Topic {
            schema: Some(self.ros2_schema()),
            encoding: "cdr".to_owned(),
            type_hash: self.definition.known_hash(),
            ..topic.clone()
        }
    }

    /// The definition as a schema of an MCAP file.
    pub fn ros2_schema(&self) -> Schema {
        Schema {
            name: self.definition.type_name.clone(),
            encoding: "ros2msg".to_owned(),
            data: Bytes::from(self.definition.text.clone()),
        }
    }

    /// Appends the CDR of a recorded payload: an encapsulation header of four bytes, then little-endian data. There is
    /// no padding at the end. Memory and time are bounded by the length of the payload.
    ///
    /// # Errors
    /// If the payload is not a message of the type, see [`TranscodeError`]. Nothing is appended then.
    pub fn transcode(&self, payload: &[u8], into: &mut Vec<u8>) -> Result<(), TranscodeError> {
        let before = into.len();
        self.plan.run(payload, into).map_err(|(at, problem)| {
            into.truncate(before);
            let problem = match problem {
                Problem::TooLong { left } if self.has_empty_definition => {
                    Problem::Undefined { left }
                }
                problem => problem,
            };
            TranscodeError {
                type_name: self.recorded_type.clone(),
                at,
                problem,
            }
        })
    }
}
