//! Suites: which cases there are, running them, and merging what shards have written.

mod cases;
mod merging;
mod running;
mod spread;
mod stand_in;
