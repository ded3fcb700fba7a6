//! The network: real sessions on loopback.

#[cfg(feature = "cli")]
pub(crate) mod attached;
pub(crate) mod clock;
#[cfg(feature = "cli")]
pub(crate) mod clock_server;
pub(crate) mod closed_links;
#[cfg(feature = "cli")]
pub(crate) mod ctl;
#[cfg(feature = "cli")]
pub(crate) mod ctl_wait_until;
pub(crate) mod drain;
#[cfg(feature = "cli")]
pub(crate) mod follow;
#[cfg(feature = "cli")]
pub(crate) mod followed_servers;
pub(crate) mod graph;
pub(crate) mod path;
pub(crate) mod play;
pub(crate) mod publish;
pub(crate) mod services;
pub(crate) mod stalls;
pub(crate) mod state;
pub(crate) mod time;
#[cfg(feature = "cli")]
pub(crate) mod timeline;
pub(crate) mod whole_node;
