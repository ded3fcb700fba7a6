//! What is published: from recorded topics to the output of the player.

pub(super) mod advertiser;
pub(super) mod monitor;
pub(super) mod output;
pub(super) mod plan;
pub(super) mod repeat;
