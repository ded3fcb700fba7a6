//! What the keys do, a file for each group of them.

pub(super) mod clock;
pub(super) mod cut;
pub(super) mod elements;
pub(super) mod find;
pub(super) mod holes;
pub(super) mod prompt;
pub(super) mod rate;
pub(super) mod skip;
pub(super) mod topic;
pub(super) mod transport;
pub(super) mod watch;
