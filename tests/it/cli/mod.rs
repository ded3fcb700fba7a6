//! The built program: its flags, what it prints, how it ends.

pub(crate) mod flags;
pub(crate) mod foreign;
pub(crate) mod log;
pub(crate) mod process;
pub(crate) mod qos_overrides;
