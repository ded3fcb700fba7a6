//! The integration tests, one crate.

mod bag_cue;
mod bag_cursor;
#[cfg(test)]
mod bag_data;
mod bag_hostile;
mod bag_latched;
mod bag_qos;
#[cfg(test)]
mod mcaps;
