//! Clocks that follow a clock server: jumps, sleeps, timers, sources.

#[cfg(feature = "async")]
pub(crate) mod async_sleep;
pub(crate) mod bounded_calls;
pub(crate) mod delivery;
pub(crate) mod edge_cases;
pub(crate) mod extrapolate;
pub(crate) mod feed;
pub(crate) mod handlers;
pub(crate) mod jump;
pub(crate) mod races;
pub(crate) mod sleep;
pub(crate) mod source;
pub(crate) mod source_lifetime;
pub(crate) mod stress;
pub(crate) mod support;
pub(crate) mod timer;
pub(crate) mod timer_adder;
