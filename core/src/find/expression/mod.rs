//! Expressions as they are written: `/diagnostics status[].level >= WARN and not status[].name contains "gps"`.

pub(super) mod error;
mod parse;
pub(super) mod syntax;
mod token;
