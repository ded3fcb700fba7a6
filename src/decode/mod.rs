//! Decodes the payload of a message into lines of text, for people who look at a topic, and single fields into values.
//!
//! [`decode_message`] decodes one message; a [`Decoder`] keeps what it knows about a topic, for many messages; a
//! [`MessageFinder`] finds them in a bag. A [`FieldReader`] reads the values that a [`ValuePath`] names. ROS messages are decoded with their recorded definition, JSON as it is;
//! everything else is shown as bytes. Payloads and definitions are not trusted: work and output are limited by
//! [`Limits`], every declared length is compared with the bytes that are left, and no text contains characters that a
//! terminal would interpret.

mod decoded;
mod decoder;
mod header_stamp;
mod field;
mod hex;
mod json;
mod message_at;
mod payload_reader;
mod ros_message;
mod skip;
mod text;
mod type_layout;

pub use decoded::{Decoded, FieldLine, Limits, PayloadFormat};
pub use decoder::{Decoder, decode_message};
pub use header_stamp::HeaderStamp;
pub use field::{FieldError, FieldReader, FieldValue, InvalidValuePath, ValuePath};
pub use message_at::{MessageAt, MessageFinder};
