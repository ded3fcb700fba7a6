//! The verbs other than playing.

#[cfg(feature = "tui")]
pub(crate) mod attach;
pub(crate) mod clock;
pub(crate) mod ctl;
pub(crate) mod driven;
pub(crate) mod find_player;
pub(crate) mod machine_time;
pub(crate) mod print;
pub(crate) mod recordings;
pub(crate) mod suite;
pub(crate) mod wait_until;
pub(crate) mod watch_player;
