//! The MCAP format: records and message indexes as bytes. No decision about a recording is taken here.

pub(crate) mod message_index;
pub(crate) mod record;
pub(crate) mod window;
