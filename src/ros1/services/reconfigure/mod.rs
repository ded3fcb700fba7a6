//! The parameters of a player, as clients of `dynamic_reconfigure` read and set them: start at `parameters.rs`.

pub(crate) mod messages;
pub(crate) mod parameters;
