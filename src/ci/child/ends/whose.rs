//! [`Whose`]: which processes are watched.

use std::path::PathBuf;

use crate::ci::child::running::Child;

/// Which processes are watched.
#[derive(Debug)]
pub enum Whose<'a> {
    /// Those of a program that was started, except the one that was started itself.
    Child(&'a Child),
    /// These, and those that descend from them.
    Trees(Vec<u32>),
    /// Those of a control group, by its folder.
    Cgroup(PathBuf),
}
