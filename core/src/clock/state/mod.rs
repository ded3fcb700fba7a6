//! The state of one clock as values: how it changes, and how its time is read.

pub(crate) mod change;
pub(crate) mod clock_motion;
pub(crate) mod delivery_limit;
pub(crate) mod extrapolate;
pub(crate) mod seqlock;
