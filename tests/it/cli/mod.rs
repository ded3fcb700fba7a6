//! The binary: its flags, its output, its exit.

pub(crate) mod flags;
pub(crate) mod foreign;
pub(crate) mod log;
pub(crate) mod process;
pub(crate) mod qos_overrides;
