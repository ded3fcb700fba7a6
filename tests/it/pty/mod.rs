//! The transport bar in a pseudo-terminal.

pub(crate) mod attach;
pub(crate) mod damage;
#[cfg(feature = "pictures")]
mod pictures;
pub(crate) mod start;
pub(crate) mod suite;
pub(crate) mod terminal;
pub(crate) mod terminal_session;
pub(crate) mod topics;
pub(crate) mod transport;
#[cfg(feature = "foxglove")]
mod viewer;
