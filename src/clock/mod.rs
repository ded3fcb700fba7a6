//! The clocks of the three kinds of ROS time: a library for programs that follow a clock server.
//!
//! To follow a clock server read [`Clock`], then [`Clock::on_jump`]; [`SimTime`] drives clocks from a [`TimeSource`].
//! Nothing here does I/O or keeps a permanent thread. Only `wall_clock.rs` reads the clocks of the machine.
//! `docs/time.md` lists where each rule of the ROS article is implemented.

mod core;
mod handle;
mod jump;
#[cfg(test)]
#[cfg(model)]
mod models;
mod source;
mod state;
mod sync;
mod test_clock;
mod timers;
mod waiting;
mod wall_clock;

pub use handle::{Clock, JumpHandle, NotStarted};
pub use jump::jump_event::{JumpEvent, JumpKind, Phase, Reversal};
pub use jump::jump_filter::{InvalidFilter, JumpFilter};
pub use source::complaint::Complaint;
pub use source::sim_time::SimTime;
#[cfg(feature = "wire")]
pub(crate) use source::time_queue as mailbox;
pub use source::time_source::{Feed, MachineSource, NoSource, SourceError, TimeSource};
pub use source::writer::ClockWriter;
pub use state::change::Fallback;
pub use state::extrapolate::{ClockPace, ClockState, Extrapolation, LateTick};
pub use test_clock::TestClock;
pub use timers::rate::{Cycle, Rate};
pub use timers::schedule::{MissedTicks, Repeat, Tick};
pub use timers::timer::{InvalidPeriod, Start, Timer, TimerError, TimerOptions};
pub use timers::timer_adder::TimerAdder;
pub use timers::timer_set::Timers;
#[cfg(feature = "async")]
pub use waiting::async_sleep::Sleep;
pub use waiting::cancel::Cancel;
pub use waiting::on_jump::{OnJump, SleepError};
pub use waiting::sleep_options::SleepOptions;

/// Runs the examples of `docs/time.md` as doctests.
#[cfg(all(doctest, feature = "wire"))]
#[doc = include_str!("../../docs/time.md")]
struct Documentation;
