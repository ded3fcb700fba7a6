//! The watched fields: the [`pane`] with their values, and the [`plot`] of each.

pub(super) mod pane;
pub(super) mod plot;
