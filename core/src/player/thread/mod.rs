//! What the player's thread needs of the system: its clock, precise waits, a priority.

pub(super) mod priority;
pub(super) mod waiter;
