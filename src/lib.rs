//! bagplay plays recorded robot logs to ROS 2 over zenoh and serves their clock.
pub mod bag;
pub mod output;
pub mod time;
#[cfg(feature = "wire")]
pub mod wire;
