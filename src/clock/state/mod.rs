//! The state of one clock as values: how it changes, and how its time is read.

pub(crate) mod change;
pub(crate) mod extrapolate;
pub(crate) mod reading;
pub(crate) mod seqlock;
pub(crate) mod share;
