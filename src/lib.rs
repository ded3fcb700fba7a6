//! bagplay plays recorded robot logs to ROS 2 over zenoh and serves their clock.
pub mod bag;
#[cfg(feature = "wire")]
pub mod cli;
pub mod output;
pub mod player;
pub mod time;
#[cfg(feature = "wire")]
pub mod wire;
