//! The integration tests, one crate.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod bag;
#[cfg(feature = "ci")]
mod ci;
#[cfg(feature = "cli")]
mod cli;
mod clock;
mod cut;
mod decode;
#[cfg(feature = "tui")]
mod docs;
#[cfg(feature = "ci")]
mod find;
mod house;
mod machine;
mod performance;
#[cfg(feature = "ci")]
mod picture;
mod protobuf;
#[cfg(all(unix, feature = "cli", feature = "tui"))]
mod pty;
#[cfg(feature = "ros1")]
mod ros1;
mod support;
mod time;
#[cfg(feature = "ci")]
mod to_ros1;
mod transcode;
#[cfg(feature = "tui")]
mod tui;
#[cfg(feature = "foxglove")]
mod viewer;
#[cfg(feature = "wire")]
mod wire;
