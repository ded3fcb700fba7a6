//! Levels: values that any thread may set at any time and that the machine reads before it does anything. No
//! setting is queued, so none can come too late or be lost in a queue.

pub(super) mod followed_clock;
pub(super) mod gates;
pub(super) mod lead;
mod recent_ticks;
