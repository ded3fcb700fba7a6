//! What drives ROS clocks: time sources, the path of their times to the clocks, and `use_sim_time`.

pub(crate) mod complaint;
pub(crate) mod delivery;
pub(crate) mod keep_alive;
pub(crate) mod sim_time;
pub(crate) mod switch;
pub mod time_queue;
pub(crate) mod time_source;
pub(crate) mod writer;
