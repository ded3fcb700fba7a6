//! [`RpcError`]: why a call failed.

use std::io;

use crate::untrusted::Foreign;

/// Why a call failed, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RpcError {
    /// The connection failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The peer has closed the connection.
    #[error("the connection was closed")]
    Closed,
    /// The peer takes too long.
    #[error("no answer in time")]
    TimedOut,
    /// This node ends.
    #[error("the node ends")]
    Over,
    /// What was received is not what this protocol has.
    #[error("not XML-RPC over HTTP: {}", Foreign::text(.0).at_most(200))]
    Invalid(String),
    /// What was received is larger than is accepted.
    #[error("more than {0} bytes")]
    TooLarge(usize),
    /// The requests of all peers together leave no room for this one.
    #[error("other requests leave no room for this one")]
    Busy,
    /// The peer answers with a fault.
    #[error("fault: {}", Foreign::text(.0).at_most(200))]
    Fault(String),
    /// The peer refuses.
    #[error("refused: {}", Foreign::text(.text).at_most(200))]
    Refused {
        /// The status: 0 or −1.
        code: i32,
        /// The reason that the peer gives.
        text: String,
    },
    /// A text is no address.
    #[error("`{}` is not of the form http://HOST:PORT", Foreign::text(.0).at_most(200))]
    Uri(String),
}
