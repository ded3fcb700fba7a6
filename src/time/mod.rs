//! The ROS time library: points, durations, clocks, jumps, time sources; the playback speed and the
//! [`Segment`].
//!
//! Nothing here does I/O or owns a thread. The clocks of the machine are read in `wall.rs` alone; the
//! [`Segment`] reads none, its instants are arguments. To follow a clock server read [`Clock`], then
//! [`Clock::on_jump`]; `docs/time.md` says where each requirement of the ROS article is met.

mod alarms;
#[cfg(feature = "async")]
mod async_sleep;
mod bell;
mod cancel;
mod change;
mod clock;
mod complaint;
mod core;
mod decimal;
mod duration;
mod extrapolate;
mod gate;
mod hub;
mod jump;
mod life;
pub(crate) mod mailbox;
#[cfg(test)]
#[cfg(model)]
mod model;
#[cfg(test)]
#[cfg(model)]
mod model_jumps;
#[cfg(test)]
#[cfg(model)]
mod model_sources;
#[cfg(test)]
#[cfg(model)]
mod model_waits;
mod point;
mod range;
mod rate;
mod reading;
#[cfg(feature = "serde")]
mod saved;
mod schedule;
mod segment;
mod seqlock;
mod share;
mod sim_time;
mod sleep;
mod source;
mod speed;
mod switch;
mod sync;
mod test_clock;
mod timer;
mod timer_adder;
mod timers;
mod timetable;
mod waits;
mod wall;
mod wire_form;
mod writer;

#[cfg(feature = "async")]
pub use async_sleep::Sleep;
pub use cancel::Cancel;
pub use change::Fallback;
pub use clock::{Clock, NotStarted};
pub use complaint::Complaint;
pub use decimal::InvalidSeconds;
pub use duration::Duration;
pub use extrapolate::{ClockPace, ClockState, Extrapolation, LateTick};
pub use jump::{InvalidFilter, JumpEvent, JumpFilter, JumpHandle, JumpKind, Phase, Reversal};
pub use point::{Kind, Ros, Steady, System, Time};
pub use range::TimeRange;
pub use rate::{Cycle, Rate};
pub use schedule::{MissedTicks, Repeat, Tick};
pub use segment::{AtEnd, Motion, Segment};
pub use sim_time::SimTime;
pub use sleep::{OnJump, SleepError, SleepOptions};
pub use source::{Feed, MachineSource, NoSource, SourceError, TimeSource};
pub use speed::{InvalidSpeed, Speed};
pub use test_clock::TestClock;
pub use timer::{InvalidPeriod, Start, Timer, TimerError, TimerOptions};
pub use timer_adder::TimerAdder;
pub use timers::Timers;
pub use wire_form::DoesNotFit;
pub use writer::ClockWriter;

/// The snippets of the documentation.
#[cfg(all(doctest, feature = "wire"))]
#[doc = include_str!("../../docs/time.md")]
struct Documentation;
