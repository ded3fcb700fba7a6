//! [`Pin`]: a watched field of a topic.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bag::TopicId;
use crate::decode::ValuePath;

/// What is watched of a message.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WatchedField {
    /// The value of a field.
    Value(ValuePath),
    /// How much later than the stamp of its header a message was recorded.
    Delay,
    /// The picture in an image message.
    Picture,
}

impl fmt::Display for WatchedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(path) => path.fmt(f),
            Self::Delay => f.write_str("delay"),
            Self::Picture => f.write_str("picture"),
        }
    }
}

/// A watched field of a topic of the present recording.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pin {
    /// The topic.
    pub topic: TopicId,
    /// The field.
    pub field: WatchedField,
}

/// A pin as it is saved: for any recording that has the topic with this type.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SavedPin {
    /// The name of the topic in the recording.
    pub topic: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// What is watched.
    pub field: SavedField,
}

/// A [`WatchedField`] as it is saved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SavedField {
    /// The path of a field.
    Value(String),
    /// The delay behind the stamp of the header.
    Delay,
    /// The picture.
    Picture,
}

impl SavedPin {
    /// What is watched; `None` if its path cannot be read.
    pub fn field(&self) -> Option<WatchedField> {
        match &self.field {
            SavedField::Delay => Some(WatchedField::Delay),
            SavedField::Picture => Some(WatchedField::Picture),
            SavedField::Value(path) => path.parse().ok().map(WatchedField::Value),
        }
    }

    /// How `field` of a topic is saved.
    pub fn new(topic: &str, type_name: &str, field: &WatchedField) -> Self {
        Self {
            topic: topic.to_owned(),
            type_name: type_name.to_owned(),
            field: match field {
                WatchedField::Value(path) => SavedField::Value(path.to_string()),
                WatchedField::Delay => SavedField::Delay,
                WatchedField::Picture => SavedField::Picture,
            },
        }
    }
}
