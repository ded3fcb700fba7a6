//! [`WireError`]: why the wire cannot be opened or a topic cannot be put on it.

use std::path::PathBuf;

use crate::untrusted::Foreign;

/// What zenoh reports: it has one boxed error type for everything.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why the wire cannot be opened or a topic cannot be put on it.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// A topic whose name cannot be a zenoh key.
    #[error("topic `{}` cannot be put on zenoh: {reason}", Foreign::text(name))]
    Name {
        /// The topic's name on the wire.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A node name ROS would not take.
    #[error("`{}` is not a node name: letters, digits and `_`, not starting with a digit", Foreign::text(.0))]
    NodeName(String),
    /// An endpoint that nobody can connect to or listen on.
    #[error(
        "`{endpoint}` is not an endpoint: {reason}; hint: write tcp/HOST:PORT, as in tcp/192.168.1.5:7447"
    )]
    Endpoint {
        /// The endpoint.
        endpoint: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An environment variable that means nothing.
    #[error("{name}={} means nothing: {reason}", Foreign::text(value))]
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
        /// What zenoh says.
        source: Cause,
    },
    /// A zenoh configuration value that zenoh does not take.
    #[error(
        "zenoh does not take the setting {} = {}",
        Foreign::text(key),
        Foreign::text(value)
    )]
    Setting {
        /// The configuration key.
        key: String,
        /// The value, as JSON5.
        value: String,
        /// What zenoh says.
        source: Cause,
    },
    /// This process may have too few files open.
    #[error(
        "only {allowed} files may be open, and the network needs {needed}; hint: ulimit -n 1024"
    )]
    OpenFiles {
        /// How many are allowed.
        allowed: u64,
        /// How many it takes.
        needed: u64,
    },
    /// Nobody answers where we were told to connect.
    #[error(
        "nobody answers at {endpoint}; hint: is the router running there, and is the port right?"
    )]
    Unreachable {
        /// The endpoint.
        endpoint: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The session could not be opened.
    #[error("cannot open a zenoh session ({what})")]
    Open {
        /// What the session was to be.
        what: String,
        /// What zenoh says.
        source: Cause,
    },
    /// Something could not be declared on the session.
    #[error("cannot declare {what} on zenoh")]
    Declare {
        /// The key.
        what: String,
        /// What zenoh says.
        source: Cause,
    },
    /// A thread could not be started.
    #[error("cannot start the clock thread")]
    Thread(#[source] std::io::Error),
    /// The same, for the one that watches the router.
    #[error("cannot start the thread that watches the router")]
    Succession(#[source] std::io::Error),
}
