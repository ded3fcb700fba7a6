//! Where a recording has no messages: [`holes`] in what was recorded, and parts that are [`damaged`].

pub(super) mod damaged;
pub(super) mod holes;
