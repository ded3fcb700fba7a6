//! Running the cases of a suite, each as a process of its own.

mod case_process;
mod descendants;
mod outcome;
mod runner;

pub use case_process::kill_all;
pub use runner::{Event, Finished, Runner, RunnerError};
