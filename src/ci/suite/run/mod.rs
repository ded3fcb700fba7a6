//! Running the cases of a suite, each as a process of its own.

mod case_process;
mod chain;
mod chained;
mod command;
mod descendants;
mod event;
mod outcome;
mod runner;
mod state;
mod system_process;
mod wall;

pub use case_process::kill_all;
pub use command::Runner;
pub use event::Event;
pub use runner::{Finished, RunnerError};
