//! Playing recordings: for people, and against programs under test.

pub(crate) mod ci;
pub(crate) mod open_bag;
pub(crate) mod play;
