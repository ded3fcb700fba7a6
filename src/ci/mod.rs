//! Runs without a person who watches, at the speed at which the programs under test process their messages.
//!
//! [`settle`] tells from outside when other processes have dealt with what they were sent.

pub mod settle;
