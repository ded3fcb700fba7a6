//! When things are due, by the pace of playback.

pub(super) mod due;
pub(super) mod follow;
pub(super) mod unpaced;
