//! Decodes the payload of a message into lines of text, for people who look at a topic, and single fields into values.
//!
//! [`decode_message`] decodes one message; a [`Decoder`] keeps what it knows about a topic, for many messages; a
//! [`MessageFinder`] finds them in a bag. ROS and protobuf messages are decoded with their recorded definition, JSON as
//! it is; everything else is shown as bytes. A [`FieldReader`] reads the values that a [`ValuePath`] names;
//! [`constants_at`] finds the constants that these may have. A [`PairWalk`] compares two messages field by field, under
//! [`FieldRules`]. Payloads and definitions are not trusted: work and
//! output are limited by [`Limits`], every declared length is compared with the bytes that are left, and no text
//! contains characters that a terminal would interpret.

mod decoded;
mod decoder;
mod field;
mod message_at;
mod non_ros;
mod pair_walk;
mod payload_reader;
mod ros_message;
mod skip;
mod text;
mod type_layout;

pub use decoded::{Decoded, FieldLine, Limits, PayloadFormat};
pub use decoder::{Decoder, decode_message};
pub use field::{
    ByteArray, Comparison, FieldError, FieldKind, FieldReader, FieldValue, HeaderStamp,
    InvalidValuePath, Number, TypeConstants, ValuePath, constants_at, value_names,
};
pub use message_at::{MessageAt, MessageFinder};
pub use pair_walk::{
    Difference, FieldPath, FieldPattern, FieldPlace, FieldRule, FieldRules, InvalidPattern,
    PairWalk, Scalar, Tolerance, Values, WideUnits, Wildcard,
};
