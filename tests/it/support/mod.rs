//! What several rooms' tests need: recordings that are written, network nodes, limits of waits.

pub(crate) mod mcap_features;
pub(crate) mod mcaps;
#[cfg(feature = "wire")]
pub(crate) mod network;
pub(crate) mod patience;
