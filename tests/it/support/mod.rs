//! Helpers for the tests of several modules: written recordings, network nodes, time limits.

pub(crate) mod mcap_features;
pub(crate) mod mcaps;
#[cfg(feature = "wire")]
pub(crate) mod network;
pub(crate) mod patience;
