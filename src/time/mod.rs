//! Values of time: points of three kinds, durations, ranges, the playback speed, and the [`Segment`].
//!
//! All arithmetic is on integer nanoseconds and checked. Nothing here reads a clock: instants are arguments.

mod decimal;
mod duration;
mod point;
mod range;
mod segment;
#[cfg(feature = "serde")]
mod serde_form;
mod speed;
mod wire_form;

pub use decimal::InvalidSeconds;
pub use duration::Duration;
pub use point::{Kind, Ros, Steady, System, Time};
pub use range::TimeRange;
pub use segment::{AtEnd, Motion, Segment};
pub use speed::{InvalidSpeed, Speed};
pub use wire_form::DoesNotFit;
