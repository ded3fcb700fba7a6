//! Calling services: `caller.rs` calls any of them, `player.rs` and `timeline.rs` those of a player. `attached.rs` makes them
//! look like a player in this process.

pub(crate) mod attached;
pub(crate) mod caller;
pub(crate) mod player;
pub(crate) mod remote_recording;
pub(crate) mod timeline;
pub(crate) mod told;
