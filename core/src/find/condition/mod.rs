//! Conditions of the topics of a recording: expressions whose fields were found in the definitions.

mod bind;
mod bound;
pub(super) mod conditions;
pub(super) mod error;
pub(super) mod matched;
