//! [`AbLoop`]: the A–B loop as it is shown and set with keys. The player knows it as its range.

use crate::time::{Ros, Time, TimeRange};

/// The A–B loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AbLoop {
    /// No A–B loop.
    #[default]
    None,
    /// A is set, B is not.
    A(Time<Ros>),
    /// From A to B.
    Ab(TimeRange),
}
