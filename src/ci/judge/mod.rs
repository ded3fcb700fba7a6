//! Judging a run by the messages of the system under test: expectations, and comparison with a reference.

pub mod compare;
pub mod expect;
pub mod repeat;
