//! The transport bar without a terminal.

pub(crate) mod any;
pub(crate) mod lookup;
pub(crate) mod model;
pub(crate) mod screens;
pub(crate) mod update;
