//! What a message says: its payload as lines of text, for people who look at a topic.
//!
//! [`fields`] decodes one message; a [`Decoder`] keeps what it knows of a topic, for many. ROS messages are shown
//! by their recorded definition, JSON as it is, everything else as bytes. Nothing here trusts a payload or a
//! definition: work and output stay within [`Limits`], every declared length is checked against what is left, and
//! no text holds a character that a terminal would obey.

mod bytes;
mod decoder;
mod hex;
mod json;
mod out;
mod ros_message;
mod skip;
mod text;
mod type_layout;

pub use decoder::{Decoder, fields};
pub use out::{Decoded, How, Limits, Line};
