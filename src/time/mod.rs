//! The ROS time library: points, durations, the playback speed and the [`Segment`].
//!
//! Nothing here does I/O, owns a thread or reads a clock: instants are arguments. That is why every
//! law in this room is tested by writing down the instants. The client half (clocks, time sources,
//! jumps, `Rate`, `Timer`) moves in beside it.

mod decimal;
mod duration;
mod point;
mod range;
mod segment;
mod speed;
mod wire_form;

pub use decimal::InvalidSeconds;
pub use duration::Duration;
pub use point::{Kind, Ros, Steady, System, Time};
pub use range::TimeRange;
pub use segment::{AtEnd, Motion, Segment};
pub use speed::{InvalidSpeed, Speed};
pub use wire_form::DoesNotFit;
