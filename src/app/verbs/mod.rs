//! The verbs other than playing.

pub(crate) mod clock;
pub(crate) mod ctl;
pub(crate) mod find_player;
pub(crate) mod machine_time;
pub(crate) mod print;
