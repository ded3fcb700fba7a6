//! Waiting for a time, for a jump, or until the handlers of a jump are done.

#[cfg(feature = "async")]
pub(crate) mod async_sleep;
pub(crate) mod blocking;
pub(crate) mod cancel;
pub(crate) mod on_jump;
pub(crate) mod sleep;
pub(crate) mod sleep_options;
pub(crate) mod wait_queue;
pub(crate) mod waiters;
