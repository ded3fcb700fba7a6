//! [`WireError`]: why the wire cannot be opened or a topic cannot be put on it.

use std::path::PathBuf;

use crate::untrusted::Foreign;

/// What zenoh reports: one boxed error type for everything.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why the wire cannot be opened or a topic cannot be put on it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A topic whose name cannot be a zenoh key.
    #[error(
        "topic `{}` cannot be published on zenoh: {reason}",
        Foreign::text(name)
    )]
    Name {
        /// The topic's name on the wire.
        name: String,
        /// Why the name cannot be a key.
        reason: &'static str,
    },
    /// A node name that is not valid in ROS.
    #[error("`{}` is not a node name: it has letters, digits and `_`, and does not start with a digit", Foreign::text(.0))]
    NodeName(String),
    /// An endpoint that cannot be used to connect or listen.
    #[error(
        "`{endpoint}` is not an endpoint: {reason}; hint: write tcp/HOST:PORT, as in tcp/192.168.1.5:7447"
    )]
    Endpoint {
        /// The endpoint.
        endpoint: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// An environment variable with a value that is not valid.
    #[error("{name}={} is not valid; expected {reason}", Foreign::text(value))]
    Environment {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What was expected.
        reason: &'static str,
    },
    /// A zenoh configuration file that cannot be used.
    #[error("zenoh configuration {} cannot be used", Foreign::path(path))]
    ConfigFile {
        /// The file.
        path: PathBuf,
        /// The error from zenoh.
        source: Cause,
    },
    /// A configuration value that zenoh does not accept.
    #[error(
        "zenoh does not accept the setting {} = {}",
        Foreign::text(key),
        Foreign::text(value)
    )]
    Setting {
        /// The configuration key.
        key: String,
        /// The value, as JSON5.
        value: String,
        /// The error from zenoh.
        source: Cause,
    },
    /// The limit of open files of this process is too low.
    #[error(
        "only {allowed} files may be open, and the network needs {needed}; hint: ulimit -n 1024"
    )]
    OpenFiles {
        /// The limit.
        allowed: u64,
        /// How many are needed.
        needed: u64,
    },
    /// An endpoint to connect to does not answer.
    #[error(
        "no program listens at {endpoint}; hint: is the router running there, and is the port right?"
    )]
    Unreachable {
        /// The endpoint.
        endpoint: String,
        /// The error from the system.
        source: std::io::Error,
    },
    /// The session could not be opened.
    #[error("cannot open a zenoh session ({what})")]
    Open {
        /// The role that the session was to have.
        what: String,
        /// The error from zenoh.
        source: Cause,
    },
    /// Something could not be declared on the session.
    #[error("cannot declare {what} on zenoh")]
    Declare {
        /// The key.
        what: String,
        /// The error from zenoh.
        source: Cause,
    },
    /// Memory cannot be shared with subscribers.
    #[error("no memory can be shared with subscribers: {reason}")]
    SharedMemory {
        /// What the system lacks.
        reason: String,
        /// The error from zenoh, if it has tried.
        source: Option<Cause>,
    },
    /// Shared memory is asked for together with [`Congestion::BlockFirst`](crate::wire::Congestion::BlockFirst). When
    /// such a put has ended, zenoh no longer keeps its buffer valid, and a subscriber that reads it later discards the
    /// message.
    #[error(
        "shared memory cannot be used with congestion control `block-first`: zenoh would lose messages; hint: --congestion block"
    )]
    SharedMemoryAndBlockFirst,
    /// A thread could not be started.
    #[error("cannot start the clock thread")]
    Thread(#[source] std::io::Error),
    /// The thread that watches the router could not be started.
    #[error("cannot start the thread that watches the router")]
    TakeoverThread(#[source] std::io::Error),
}
