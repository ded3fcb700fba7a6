//! Cuts: a part of a recording, written as a recording of its own.
//!
//! [`Cut`] says which part, and writes it to a new MCAP file or rosbag2 directory. Chunks that lie wholly in the range
//! and have only selected topics are copied as they are, once they have been checked; of the others the messages are
//! written into new chunks. What cannot be read is left out. The order of the messages is that of the bag, also where
//! times are equal. What a late joiner would have received at the start comes first. The target has its name only when
//! it is whole. ROS 1 messages can be written as ROS 2 messages ([`Payloads`]).

mod copy;
mod definitions;
mod error;
mod options;
mod outcome;
mod rosbag2;
mod run;
mod target;
mod translation;
mod write;

pub use error::CutError;
pub use options::{CopiedChunks, Cut, CutForm, Existing, LatchedState, Payloads};
pub use outcome::{CutOutcome, CutProgress, RefusedTopic, TopicShare, Written};
