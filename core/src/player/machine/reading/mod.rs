//! What the machine reads, each through a cue of its own: what is played, the latched state of topics that are
//! unmuted, and the message that a step leads to.

pub(super) mod reader;
pub(super) mod rejoin;
pub(super) mod step_search;
