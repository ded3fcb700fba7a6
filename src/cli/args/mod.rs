//! What may be typed, and the values that it stands for.

pub(super) mod argv;
pub(super) mod flags;
pub(super) mod printable;
pub(super) mod ros_flags;
pub(super) mod values;
pub(super) mod when;
