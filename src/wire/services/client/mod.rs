//! Calling services: `caller.rs` calls any of them, `player.rs` those of a player.

pub(crate) mod caller;
pub(crate) mod player;
