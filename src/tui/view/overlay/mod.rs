//! What is drawn over the screen, in a [`frame`].

pub(super) mod card;
pub(super) mod frame;
pub(super) mod help;
pub(in crate::tui) mod legend;
pub(super) mod log;
