//! The table of topics: [`topics`] draws its rows, in [`columns`] that give way on narrow screens; [`topic_lane`] draws
//! the density of a topic.

pub(super) mod columns;
pub(super) mod topic_lane;
pub(super) mod topics;
