//! Viewers: programs that show what is played, connected over the WebSocket protocol of Foxglove. They receive the
//! messages as recorded and the time, and control the player ([`ViewerServer`]).
//!
//! A viewer never holds the player: [`ViewerOutput`] only puts messages into queues, from which the oldest are dropped.
//! All states that viewers show come from the [`Status`](crate::player::Status) of the player.

mod address;
mod broadcast;
mod channels;
mod listener;
mod output;
mod playback;
mod refill;
mod requests;
mod server;
mod times;
mod worker;

pub use address::{InvalidAddress, ViewerAddress};
pub use output::ViewerOutput;
pub use server::{Offer, QUEUE_FULL_TARGET, ViewerError, ViewerServer, slow_viewer_warning};
