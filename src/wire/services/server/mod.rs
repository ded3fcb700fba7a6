//! The services of a node: start at `engine.rs`, the thread that answers the calls of all services.

pub(crate) mod asked;
mod call;
pub(crate) mod engine;
pub(crate) mod extended;
pub(crate) mod handler;
pub(crate) mod playback;
pub(crate) mod served;
pub(crate) mod timeline;
