//! [`Environment`]: the variables of a process, given as a function.

use std::ffi::OsString;

/// Looks up a variable of the environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;
