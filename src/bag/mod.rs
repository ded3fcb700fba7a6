//! Recordings: opening, the ordered walk, the read-ahead.

mod cue;
mod message;
mod qos;
mod topic;

pub use cue::{Cue, CueAt, CueFeed, CuePoll, Cued, Damage, Direction, StartAt, Waker};
pub use message::{Key, Message, TopicId};
pub use qos::{Durability, History, Liveliness, Qos, QosDuration, Reliability};
pub use topic::{Schema, Topic};
