//! Timers and rates: periods of a clock's time.

pub(crate) mod rate;
pub(crate) mod schedule;
pub(crate) mod timer;
pub(crate) mod timer_adder;
pub(crate) mod timer_set;
pub(crate) mod timetable;
