//! Receiving what other nodes publish: which topics, by which publishers, and each of their messages.

pub(super) mod admitted;
pub(super) mod described;
pub(super) mod follower;
pub(super) mod ordered;
pub(super) mod publishers;
pub(super) mod received;
pub(super) mod source;
pub(super) mod subscription;
pub(super) mod subscriptions;
pub(super) mod which;
