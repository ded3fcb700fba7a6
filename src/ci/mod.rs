//! Runs without a person who watches, at the speed at which the programs under test process their messages.
//!
//! [`settle`] tells from outside when other processes have dealt with what they were sent; [`gates`] say which messages
//! have to be answered.

pub mod gates;
pub mod settle;
