//! What the machine reads, each through a cue of its own: what is played, and the latched state of topics that are
//! unmuted.

pub(super) mod reader;
pub(super) mod rejoin;
