//! The file in which expectations are written.

mod field_schema;
pub(super) mod schema;
pub(super) mod source;
mod table;
