//! [`Ours`]: a topic that this session publishes, and which endpoints of others fit it.

use super::token::{ANY_HASH, Endpoint};

/// A topic that this session publishes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ours {
    pub(crate) name: String,
    pub(crate) dds_type: String,
    /// `*` matches every hash.
    pub(crate) hash: String,
}

impl Ours {
    pub(super) fn takes(&self, endpoint: &Endpoint) -> bool {
        self.dds_type == endpoint.dds_type && (self.hash == ANY_HASH || self.hash == endpoint.hash)
    }
}
