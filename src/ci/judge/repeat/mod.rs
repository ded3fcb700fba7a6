//! Repetitions of a run: whether all have equal outputs, and if not, where two of them first differ and what may be the
//! cause.

mod digests;
mod racing;
mod verdict;

pub use digests::{DigestGroup, Repeat, Repetition};
pub use racing::{Facts, GateFact, InputFact};
pub use verdict::{RepeatError, RepeatVerdict, Sent};
