//! The machine, tested by its transcripts, and the thread that runs it.

pub(crate) mod bursts;
pub(crate) mod clock_alone;
pub(crate) mod clock_steps;
pub(crate) mod edges;
pub(crate) mod follow;
pub(crate) mod followed_clock;
pub(crate) mod gates;
pub(crate) mod loops;
pub(crate) mod outcomes;
pub(crate) mod player_thread;
pub(crate) mod settings;
pub(crate) mod topics;
pub(crate) mod transcript;
