//! Jumps of a clock's time, and the handlers that are called for them.

pub(crate) mod handler;
pub(crate) mod handler_rounds;
pub(crate) mod jump_event;
pub(crate) mod jump_filter;
pub(crate) mod thread_marks;
