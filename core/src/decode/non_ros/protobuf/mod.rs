//! Protobuf messages, by the descriptor set that is recorded with them.
//!
//! `layout.rs` resolves the descriptor set (`types.rs`), once for each topic. `wire.rs` reads the fields of one message
//! in the order in which they are written, `elements.rs` and `scalar.rs` their values. `contents.rs` sorts the fields
//! of one message by their definition, and `text.rs` shows them; `decode::field` reads single ones. Nothing is unpacked
//! that is not shown or asked for.

pub(in crate::decode) mod contents;
pub(in crate::decode) mod elements;
mod entries;
mod error;
pub(in crate::decode) mod layout;
pub(in crate::decode) mod scalar;
pub(in crate::decode) mod stamp;
pub(in crate::decode) mod text;
mod types;
pub(in crate::decode) mod wire;
