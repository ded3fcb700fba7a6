//! Comparison of two recordings: of the outputs of a run with those of a reference, or of two runs.
//!
//! [`compare`] reads both side by side, pairs their messages by stamp or by index, and compares each pair field by
//! field under [`Rules`]. The [`Comparison`] says where they first differ and what differs how often. [`update`] makes
//! the recording of a run the new reference.

mod comparison;
mod page;
mod pairs;
mod recordings;
mod rules;
mod series;
mod tally;
mod update;
mod waiting;

pub use comparison::{Comparison, FieldCounts, Found, TopicComparison, Unpaired};
pub use recordings::{CompareError, compare};
pub use rules::{Align, Rules, RulesError, RulesFileError};
pub use update::{UpdateError, Updated, update};
