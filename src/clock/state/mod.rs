//! One clock's state, how it changes, and how its time is read.

pub(crate) mod change;
pub(crate) mod core;
pub(crate) mod extrapolate;
pub(crate) mod reading;
pub(crate) mod seqlock;
pub(crate) mod share;
