//! Calling services: `caller.rs` calls any of them, `player.rs` and `timeline.rs` those of a player. `attached.rs`
//! makes them look like a player in this process: `pass_on.rs` passes its commands on, `observe.rs` asks what it is
//! doing.

pub(crate) mod attached;
pub(crate) mod caller;
pub(crate) mod found_player;
pub(crate) mod observe;
pub(crate) mod pass_on;
pub(crate) mod player;
pub(crate) mod player_view;
pub(crate) mod remote_recording;
pub(crate) mod request_error;
pub(crate) mod timeline;
pub(crate) mod told;
