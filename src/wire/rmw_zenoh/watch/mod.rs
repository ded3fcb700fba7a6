//! The nodes on the network: waiting for those that are there (`settle.rs`), then watching all (`tokens.rs`).

pub(in crate::wire) mod settle;
pub(in crate::wire) mod tokens;
