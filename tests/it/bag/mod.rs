//! Recordings: what was written is read back, in any order, complete or damaged.

pub(crate) mod cue;
pub(crate) mod cursor;
pub(crate) mod data;
pub(crate) mod directories;
pub(crate) mod holes;
pub(crate) mod hostile;
pub(crate) mod latched;
pub(crate) mod legal;
pub(crate) mod marks;
pub(crate) mod outline;
pub(crate) mod qos;
pub(crate) mod rosbag2;
pub(crate) mod scan;
pub(crate) mod sources;
pub(crate) mod windows;
pub(crate) mod wrong_declarations;
