//! Message definitions: the text of a schema, its fields, its constants, and the order of its messages.

mod constants;
mod field;
mod message;
mod order;
mod text;

pub(crate) use constants::{ConstantValue, known_constants, read_constants};
pub use field::{Array, BaseType, Dialect, Field, Primitive, Ros1Stamp};
pub use message::SchemaError;
#[cfg(feature = "type-hashes")]
pub(crate) use message::read_service;
pub use message::{Definitions, ROS1_HEADERS, full_name, read_message, sections};
pub(crate) use message::{PLACEHOLDER, name};
pub use order::NestingError;
pub(crate) use order::children_first;
pub use text::text_of;
