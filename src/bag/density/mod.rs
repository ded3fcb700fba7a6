//! How many messages lie where in a recording, for screens: counted in message indexes, estimated where there are none.

pub(crate) mod estimate;
pub(crate) mod outline;
pub(crate) mod passes;
