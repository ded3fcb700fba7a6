//! The connection to the network: configuration, roles, session, router, and the state of the connection.

pub(super) mod answers;
pub(super) mod connection;
pub(super) mod connectivity;
pub(super) mod endpoint;
pub(super) mod env;
pub(super) mod join;
pub(super) mod now;
pub(super) mod probe;
pub(super) mod router;
pub(super) mod sessions;
pub(super) mod zenoh_config;
