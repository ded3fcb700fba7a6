//! The integration tests, one crate.

mod bag_cue;
mod bag_cursor;
mod bag_data;
mod bag_hostile;
mod bag_latched;
mod bag_qos;
mod mcaps;
