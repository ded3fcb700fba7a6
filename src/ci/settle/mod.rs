//! Knowing from outside that processes have dealt with what they were sent: that they have *settled*.
//!
//! A process has dealt with what it was sent when none of its threads runs or wants to run. Linux tells that in
//! `/proc`, without the process taking part: a thread that is woken is runnable before the thread that wakes it can
//! sleep, so along a chain of wake-ups (socket, receiving thread, executor, sending thread) some thread is runnable at
//! every moment. [`Settling`] has the rule, [`ThreadSet`] reads the threads, and [`Settler`] waits with both:
//!
//! ```no_run
//! use std::time::Duration;
//! use bagplay::ci::settle::{Processes, Settler};
//!
//! let node = std::process::Command::new("my_node").spawn()?;
//! let mut settler = Settler::new(Processes::Tree(vec![node.id()]), &[])?;
//! settler.mark()?;
//! // … send something to the node …
//! let settled = settler.settle(Duration::from_secs(10))?;
//! println!("after {:?}", settled.took);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What it cannot see, so that another condition is needed (an answer that is awaited, for example):
//!
//! - A thread that waits for something outside of the processes: a GPU, a disk, a server on another host.
//! - A thread that waits in a callback with a time-out, in another call than `nanosleep` (a condition variable,
//!   `poll`).
//! - A thread that already stands in `nanosleep` when the message is sent: one that looks for messages from time to
//!   time, or an executor in a timer callback that sleeps. When it looks for the message is its own matter.
//! - A process in another PID namespace, on another host, or of another user.
//!
//! Linux only: elsewhere a [`ThreadSet`] cannot be made.

mod error;
mod idle;
mod look;
mod machine;
mod members;
mod proc_file;
mod proc_text;
mod settler;
mod settling;
mod thread_set;
mod watched;

pub use error::{LookError, Unsettled};
pub use idle::{Idle, Unprompted};
pub use look::{How, Look, MOST_THREADS, Named, Ran, Seen, State, ThreadId, Why};
pub use members::Processes;
pub use settler::{Settled, Settler};
pub use settling::{Settling, Step};
pub use thread_set::ThreadSet;
pub use watched::Gone;
