//! What the player's thread needs of the system: its clock, precise waits, a priority, processors that are awake.

mod awake;
pub(super) mod priority;
pub(super) mod waiter;
