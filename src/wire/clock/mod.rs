//! Clocks on the network: publishing and following `/clock` and `~/clock_state`.

mod arrivals;
pub(super) mod clock_topic;
pub(super) mod follow;
mod jump;
pub(super) mod needs;
pub(super) mod payload;
pub(super) mod served;
pub(super) mod session_clocks;
pub(super) mod state_message;
pub(super) mod state_topic;
pub(super) mod watch;
