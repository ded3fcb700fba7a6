//! The transport bar without a terminal.

pub(crate) mod attach;
pub(crate) mod damage;
pub(crate) mod demo_model;
pub(crate) mod drawing;
pub(crate) mod lookup;
pub(crate) mod parts;
pub(crate) mod plots;
pub(crate) mod pointing;
pub(crate) mod random_events;
#[cfg(feature = "cli")]
pub(crate) mod rates;
pub(crate) mod screens;
pub(crate) mod update;
