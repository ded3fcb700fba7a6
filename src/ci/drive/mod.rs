//! Driving the player at the speed of the system under test.
//!
//! [`Driven`] is an output around another one. Before it passes on a clock or a message it notes what has to come of it
//! in a [`Desk`], and closes the player's gate [`Answer`](crate::player::Gate::Answer). The gate opens when all that
//! has come: the receiving thread tells the desk of each message of the system under test, and the thread `governor`
//! tells it when the processes have settled. So playback and clock never pass an input that has not been dealt with.
//!
//! ```text
//! machine ─clock, message─▶ Driven ─▶ the wire ─▶ system under test
//!    ▲                        │ asks                    │ outputs
//!    └──── gate ◀──────── Desk ◀──── answered ──────────┘
//!                          ▲ settled, too late
//!                       governor
//! ```

mod desk;
mod driven;
mod governor;
mod muted;
mod place;
mod settlement;
mod spread;
mod state;
mod tasks;
#[cfg(test)]
mod test_desk;
mod waits;

pub use desk::{Desk, LONGEST_QUIET};
pub use driven::{Driven, DrivenTopic};
pub use governor::Governor;
pub use muted::MutedTopic;
pub use place::Place;
pub use waits::{Drained, Drive, OnMiss, Progress, Trouble, Waiting};
