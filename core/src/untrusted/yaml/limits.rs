//! What a YAML text may have at most.

/// The longest text that is parsed, in bytes. A profile takes about 400 bytes, a thousand splits 200 kB. Also the most
/// bytes that all scalars have together, with those that aliases repeat.
pub(crate) const MAX_TEXT: usize = 4 << 20;
/// The most nodes in a text, keys and what aliases repeat included.
pub(super) const MAX_NODES: usize = 250_000;
/// The most lists and mappings inside each other, also by aliases.
pub(super) const MAX_DEPTH: usize = 32;
