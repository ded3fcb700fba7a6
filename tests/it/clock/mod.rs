//! Clocks that follow a clock server: jumps, sleeps, timers, sources.

#[cfg(feature = "async")]
pub(crate) mod async_sleep;
pub(crate) mod edges;
pub(crate) mod extrapolate;
pub(crate) mod handlers;
pub(crate) mod hub;
pub(crate) mod jump;
pub(crate) mod life;
pub(crate) mod line;
pub(crate) mod parts;
pub(crate) mod races;
pub(crate) mod sleep;
pub(crate) mod source;
pub(crate) mod stress;
pub(crate) mod timer;
