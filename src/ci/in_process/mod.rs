//! An algorithm in this process gets the messages of a recording, and gives outputs back: no network, no processes.
//!
//! A [`Replay`] is an iterator over messages in playing order. Before each message the clock shows its time, and
//! everything that is due by then has been done: timers, and the sleeps of threads that are known. Everything happens
//! in the thread that asks for the next message, so two runs are equal.
//!
//! ```no_run
//! use bagplay::bag::Bag;
//! use bagplay::ci::in_process::InProcess;
//! use bagplay::time::Duration;
//!
//! let bag = Bag::open(&["drive.mcap"])?;
//! let mut replay = InProcess::of(&bag).topics(["/imu"])?.tail(Duration::from_secs(1)).start();
//! let (clock, out) = (replay.clock(), replay.outputs());
//! replay.timers().add(Duration::from_millis(100), move |_, tick| {
//!     out.publish("/tick", "std_msgs/msg/String", tick.actual.to_string());
//! })?;
//! let out = replay.outputs();
//! for input in &mut replay {
//!     let input = input?;
//!     assert_eq!(clock.now(), input.clock);
//!     out.publish("/imu_out", input.topic.type_name(), input.message.payload.clone());
//! }
//! let done = replay.finish();
//! println!("{} messages, {} outputs", done.messages, done.sink.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`InProcess::record`] digests the outputs and records them to a file, which is judged as that of a program is:
//!
//! ```no_run
//! use bagplay::bag::Bag;
//! use bagplay::ci::in_process::{InProcess, InProcessError};
//! use bagplay::ci::judge::compare::{Rules, compare};
//!
//! let bag = Bag::open(&["drive.mcap"])?;
//! let done = InProcess::of(&bag).record("out.mcap")?.run::<InProcessError>(|input, out| {
//!     out.publish("/imu_out", input.topic.type_name(), input.message.payload);
//!     Ok(())
//! })?;
//! println!("digest {}", done.sink.finish().digest);
//! let (golden, own) = (Bag::open(&["golden.mcap"])?, Bag::open(&["out.mcap"])?);
//! let comparison = compare(&golden, &own, &Rules::default())?;
//! assert!(comparison.is_equal(), "{comparison}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod outputs;
mod record;
mod replay;
mod setup;
mod timeline;

pub use error::InProcessError;
pub use outputs::{Output, Outputs, Sink};
pub use record::{Record, RecordEnd};
pub use replay::{Done, Input, Replay};
pub use setup::InProcess;
pub use timeline::Sleeper;
