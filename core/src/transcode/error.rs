//! Why a topic has no ROS 2 form ([`NoRos2Form`]) or no ROS 1 form ([`NoRos1Form`]), and why a message of it has none
//! ([`TranscodeError`]).

use crate::ros::{NestingError, SchemaError};
use crate::untrusted::Foreign;

/// Why the messages of a topic cannot be transcoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoRos2Form {
    /// The topic has no definition.
    #[error("the definition was not recorded")]
    NoDefinition,
    /// The definition is not one of ROS 1.
    #[error("the definition is `{}`, not ros1msg", Foreign::text(.0))]
    Language(String),
    /// The definition cannot be parsed.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// No message can have the layout of the definition.
    #[error(transparent)]
    Nesting(#[from] NestingError),
    /// The definition has another type by the name of a ROS 2 type for times or durations.
    #[error("the definition contains {0} with other fields than the standard type")]
    OwnTime(&'static str),
    /// The definition would be too large.
    #[error("the definition for ROS 2 would have more than {0} bytes")]
    TooLarge(usize),
}

/// Why the messages of a ROS 2 topic have no ROS 1 form.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoRos1Form {
    /// The topic has no definition.
    #[error("the definition was not recorded")]
    NoDefinition,
    /// The definition is not a `.msg` file.
    #[error("the definition is `{}`, not ros2msg", Foreign::text(.0))]
    Language(String),
    /// The definition cannot be parsed.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// No message can have the layout of the definition.
    #[error(transparent)]
    Nesting(#[from] NestingError),
    /// ROS 1 has no wide characters.
    #[error("{} has wide characters, which ROS 1 does not have", Foreign::text(.0))]
    Wide(String),
    /// ROS 1 has this type as a part of messages only.
    #[error("{} is no message in ROS 1", Foreign::text(.0))]
    BuiltIn(String),
    /// ROS 1 has no types of this kind in messages.
    #[error("{} is not of the form package/msg/Name", Foreign::text(.0))]
    NoMessage(String),
    /// The definition has another type by the name of a ROS 2 type for times or durations.
    #[error("the definition contains {0} with other fields than the standard type")]
    OwnTime(&'static str),
    /// The definition would be too large.
    #[error("the definition for ROS 1 would have more than {0} bytes")]
    TooLarge(usize),
    /// The definition of ROS 1 refers to a type that the recorded one does not have.
    #[error("{} is not defined in the schema", Foreign::text(.0))]
    Missing(String),
}

/// Where in a payload, and what is wrong there.
pub(super) type Fault = (usize, Problem);

/// Why a message cannot be transcoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the payload is not a valid {}: at byte {at} of it, {problem}",
    Foreign::text(type_name)
)]
pub struct TranscodeError {
    /// The recorded type.
    pub type_name: String,
    /// Offset in the recorded payload.
    pub at: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It ends too early.
    #[error("needed {needed}, left {left}")]
    TooShort {
        /// For the next value or the declared number of elements, at least.
        needed: u64,
        /// In the payload.
        left: usize,
    },
    /// It is not plain CDR.
    #[error("the encapsulation {:02x}{:02x} is not that of plain CDR", .0[0], .0[1])]
    Encapsulation([u8; 2]),
    /// It goes on after the last field.
    #[error("left after the last field: {left}")]
    TooLong {
        /// How many bytes.
        left: usize,
    },
    /// It has content, but the recorded definition of its type is empty: the recorder did not find it.
    #[error("left after the last field: {left}; the recorded definition is empty")]
    Undefined {
        /// How many bytes.
        left: usize,
    },
    /// It has so many elements without content that the result would be far larger.
    #[error("the other form would have more than {most} bytes")]
    TooLarge {
        /// The limit for this payload.
        most: usize,
    },
}
