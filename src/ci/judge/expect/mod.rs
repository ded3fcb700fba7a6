//! Expectations: what must hold of the outputs of a run, written in a file.
//!
//! [`Expectations::parse`] reads a file, [`Expectations::judge`] judges a run by it. Each expectation is one check of
//! the reports. The file is described in `docs/expectations.md`.

mod expectation;
mod expectations;
mod file;
mod judge;
mod judged;
mod merged;
mod rule;
mod rules;
mod topics;
mod values;

pub use expectations::Expectations;
pub use file::source::ExpectationError;
pub use judged::Judged;
