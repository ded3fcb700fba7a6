//! What all dialects of the wire share.

pub(super) mod adapt;
