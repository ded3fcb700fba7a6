//! The clocks of the three kinds of ROS time: a library for programs that follow a clock server.
//!
//! A [`SimTime`] drives [`Clock`]s of ROS time from a [`TimeSource`]: the `/clock` subscription of a session on the
//! network (`bagplay::wire::Session::clock_source`), the program itself ([`SimTime::fed`]), or a source of the
//! program's own. On any clock a program can sleep ([`Clock::sleep_until`]), keep a rate ([`Rate`]), run timers
//! ([`Timer`], [`Timers`]) and react when the time jumps ([`Clock::on_jump`]). [`TestClock`] is for tests.
//!
//! ```
//! # use bagplay_core as bagplay;
//! use bagplay::clock::{Cancel, JumpFilter, OnJump, Phase, SimTime, SleepError, Timers};
//! use bagplay::time::{Duration, Time};
//!
//! let (sim, feed) = SimTime::fed(); // or SimTime::new(session.clock_source(Follow::Clock))
//! let clock = sim.clock();
//! sim.enable()?; // like `use_sim_time` of a ROS node; until then the clock shows system time
//!
//! let backward = JumpFilter::new().min_backward(Duration::from_nanos(1));
//! let _handle = clock.on_jump(backward, |phase, jump| {
//!     if phase == Phase::Before {
//!         println!("the time goes back to {}", jump.after);
//!     }
//! })?;
//!
//! let done = Cancel::new();
//! let (mut timers, cancel) = (Timers::new(&clock), done.clone());
//! timers.add(Duration::from_secs(1), move |_, tick| {
//!     println!("tick at {}", tick.actual);
//!     cancel.cancel();
//! })?;
//! std::thread::scope(|scope| {
//!     let feeding = scope.spawn(|| {
//!         for second in 10.. {
//!             feed.time(Time::from_secs(second));
//!             if done.is_cancelled() {
//!                 break;
//!             }
//!             std::thread::yield_now();
//!         }
//!     });
//!     assert_eq!(timers.run(OnJump::Continue.unless(&done)), SleepError::Cancelled);
//!     feeding.join().unwrap();
//! });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here does I/O or keeps a permanent thread. The page `docs/time.md` of the repository has a tutorial, how it
//! works, and where each rule of the ROS article "Clock and Time" is implemented.

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
#[doc(hidden)]
pub use source::time_queue;
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
