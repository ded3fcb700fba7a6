//! What `play info` prints of a recording: its contents ([`info`]) with holes, damage and the result of `--check`, as
//! an object and as a [`page`].

pub(in crate::cli) mod check;
mod damaged;
mod holes;
pub(in crate::cli) mod info;
mod names;
mod page;
mod table;
mod wires;
