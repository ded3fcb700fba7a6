//! [`Ours`]: a topic that this session publishes, and which endpoints of others fit it.

use super::token::{ANY_HASH, Endpoint};

/// A zenoh session of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Via {
    /// The main one.
    Main,
    /// The session for blocking puts. It has links of its own, so it learns of a token earlier or later than the main
    /// one.
    BlockingPuts,
}

/// A topic that this session publishes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ours {
    pub(crate) name: String,
    pub(crate) dds_type: String,
    /// `*` matches every hash.
    pub(crate) hash: String,
    /// The session that puts its messages.
    pub(crate) via: Via,
    /// Whether late joiners receive earlier messages.
    pub(crate) is_latched: bool,
}

impl Ours {
    pub(super) fn takes(&self, endpoint: &Endpoint) -> bool {
        self.dds_type == endpoint.dds_type && (self.hash == ANY_HASH || self.hash == endpoint.hash)
    }
}
