//! The integration tests, one crate.

#[cfg(feature = "wire")]
mod wire_clock;
#[cfg(feature = "wire")]
mod wire_graph;
#[cfg(feature = "wire")]
mod wire_net;
#[cfg(feature = "wire")]
mod wire_path;
#[cfg(feature = "wire")]
mod wire_publish;
