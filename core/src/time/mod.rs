//! Values of time: points of three kinds, durations, ranges, the playback speed, and the [`Segment`]; with the feature
//! `ci`, times in a recording as a person writes them.
//!
//! All arithmetic is on integer nanoseconds and checked. Nothing here reads a clock: instants are arguments.
//!
//! ```
//! # use bagplay_core as bagplay;
//! use bagplay::time::{Duration, Ros, Time};
//! let start: Time<Ros> = Time::from_secs(1_700_000_000);
//! let later = start + Duration::from_millis(1_500);
//! assert_eq!(later - start, Duration::from_millis(1_500));
//! assert_eq!(later.to_string(), "1700000001.500000000");
//! assert_eq!(later.to_ros2()?, (1_700_000_001, 500_000_000)); // sec and nanosec of a message
//! assert_eq!(Time::<Ros>::MAX.checked_add(Duration::from_nanos(1)), None); // `+` panics on overflow
//! # Ok::<(), bagplay::time::DoesNotFit>(())
//! ```

mod decimal;
mod duration;
mod frequency;
mod point;
mod range;
mod segment;
#[cfg(feature = "serde")]
mod serde_form;
mod span_text;
mod speed;
#[cfg(feature = "dates")]
mod when;
mod wire_form;

pub use decimal::InvalidSeconds;
pub use duration::Duration;
pub use frequency::{hertz, period_of};
pub use point::{Kind, Ros, Steady, System, Time};
pub use range::TimeRange;
pub use segment::{AtEnd, Motion, Segment};
pub use span_text::{seconds_text, signed_seconds_text, signed_span_text, span_text};
pub use speed::{InvalidSpeed, Speed};
#[cfg(feature = "dates")]
pub use when::{Unreadable, When, WhenRange, parse_span};
pub use wire_form::DoesNotFit;
