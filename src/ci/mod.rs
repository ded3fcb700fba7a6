//! Runs without a person who watches, at the speed at which the programs under test process their messages.
//!
//! [`settle`] tells from outside when other processes have dealt with what they were sent; [`gates`] say which messages
//! have to be answered; [`drive`] holds the player by both. [`outputs`] are received, recorded and digested, [`judge`]
//! judges them, [`child`] runs the program under test, [`isolation`] keeps runs apart, [`report`] says what became of
//! it all, and [`suite`] does it many times. [`in_process`] runs an algorithm of this process instead, without a
//! network.

pub mod child;
pub mod drive;
pub mod gates;
pub mod in_process;
pub mod isolation;
pub mod judge;
pub mod outputs;
pub mod report;
pub mod settle;
mod spans;
pub mod suite;

pub use spans::SpanHistogram;
