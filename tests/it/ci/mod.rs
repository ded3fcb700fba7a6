//! Runs at the speed of the programs under test: when these have settled.

#[cfg(target_os = "linux")]
mod child;
