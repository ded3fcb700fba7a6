//! The place on the network: configuration, session, router, and whether there is a way to it.

pub(super) mod connectivity;
pub(super) mod endpoint;
pub(super) mod env;
pub(super) mod join;
pub(super) mod now;
pub(super) mod probe;
pub(super) mod router;
pub(super) mod session;
pub(super) mod succession;
pub(super) mod zenoh_config;
