//! What is drawn along the axis of time.

pub(in crate::tui) mod ab_loop;
pub(in crate::tui) mod axis;
pub(in crate::tui) mod damaged;
pub(in crate::tui) mod folds;
pub(in crate::tui) mod holes;
pub(in crate::tui) mod in_words;
pub(in crate::tui) mod lane;
pub(in crate::tui) mod shown;
