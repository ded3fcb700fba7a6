//! Single fields of messages as typed values, without decoding the rest of the message.
//!
//! A [`FieldPath`] names the field. A [`FieldReader`] is made once for a topic and a path, and reads the values in each
//! message.

mod elements;
mod json_field;
mod path;
mod reader;
mod resolve;
mod value;

pub use path::{FieldPath, InvalidFieldPath};
pub use reader::{FieldError, FieldReader};
pub use value::FieldValue;
