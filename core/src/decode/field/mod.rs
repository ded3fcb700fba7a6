//! Single fields of messages as typed values, without decoding the rest of the message.
//!
//! A [`ValuePath`] names the field. A [`FieldReader`] is made once for a topic and a path, and reads the values in each
//! message.

mod byte_array;
mod compare;
mod constants;
mod error;
mod header_stamp;
mod json_field;
mod path;
mod protobuf;
mod reader;
mod ros;
mod value;

pub use byte_array::ByteArray;
pub use compare::{Comparison, Number};
pub use constants::{TypeConstants, constants_at, value_names};
pub use error::FieldError;
pub use header_stamp::HeaderStamp;
pub use path::{InvalidValuePath, ValuePath};
pub use reader::FieldReader;
pub use value::{FieldKind, FieldValue};
