//! Plays recorded robot logs (MCAP) to nodes of ROS 2 and ROS 1 and to viewers, and serves their clock.
//!
//! The path of one message: a [`bag::Bag`] is opened. A cue ([`bag::Cues`]) reads ahead from it. The
//! [`player::Machine`] holds the next message until it is due by the [`time::Segment`], then gives it to an
//! [`output::Output`], after its clock. The output to which ROS 2 nodes subscribe is in `wire`; the command
//! line is in `cli`.
//!
//! One value, the [`time::Segment`], defines the position; one handle, the [`player::Transport`], controls it:
//!
//! ```no_run
//! use bagplay::bag::{Bag, Cues, Selection};
//! use bagplay::output::Null;
//! use bagplay::player::{Command, Options, Player, Source};
//!
//! let bag = Bag::open(&["drive.mcap"])?;
//! let recording = bag.range().ok_or("no messages")?;
//! let player = Player::new();
//! let cues = Cues::new(bag.clone(), Selection::all(&bag), 64 << 20, player.waker());
//! let transport = player.transport();
//! let running = player.start(Options::new(recording), Source::of(cues), Null)?;
//! transport.send(Command::Seek(recording.stop()))?;
//! let (report, _) = running.join()?;
//! println!("{} messages", report.sent);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | feature | brings | crates of its own |
//! |---|---|---|
//! | none | all modules of crate `bagplay-core` except `find` | codecs, checksums, serde, tracing |
//! | `find` | `find`: searches for messages by conditions on their fields | regex, strsim |
//! | `wire` | `wire`: sessions that act as ROS 2 nodes, and a time source that follows a clock server | zenoh, sha2 |
//! | `ci` | `ci`: runs against programs under test, with verdicts | with `find`; quick-xml, maud, toml, jiff |
//! | `tui` | `tui`: the transport bar | with `find`; ratatui, crossterm, toml, jiff |
//! | `pictures` | compressed pictures in `picture`, and the graphics protocols of terminals in the bar | with `tui`; image, ratatui-image |
//! | `foxglove` | `viewer`: a server for the Foxglove app and other viewers | foxglove, tokio-tungstenite |
//! | `ros1` | `ros1`: nodes of ROS 1, with a master of its own if there is none | dxr, httparse, md-5 |
//! | `async` | sleeps on a clock that any runtime can poll, in `clock` | |
//! | `serde` | `time::Time` and `time::Duration` for serde | |
//! | `cli` | `cli` and the command `play`, with `wire`, `ros1` and `ci` | clap, indicatif, regex, jiff, a log formatter |
//!
//! `cli`, `tui`, `pictures` and `foxglove` are on by default. A program that follows a clock server takes
//! `default-features = false` and `features = ["wire"]`. `cli` also leaves out the level `trace` of `tracing` in
//! optimised builds, for the whole program.

#[cfg(feature = "ci")]
pub mod ci;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "ros1")]
pub mod ros1;
#[cfg(feature = "tui")]
pub mod tui;
#[cfg(feature = "foxglove")]
pub mod viewer;
#[cfg(feature = "wire")]
pub mod wire;

#[cfg(feature = "find")]
#[doc(inline)]
pub use bagplay_core::find;
#[cfg(feature = "ci")]
use bagplay_core::mcap_write;
#[doc(inline)]
pub use bagplay_core::{
    bag, clock, cut, decode, marks, output, picture, player, ros, time, transcode, untrusted,
};

/// Runs the examples of `docs/time.md` as doctests.
#[cfg(all(doctest, feature = "wire"))]
#[doc = include_str!("../docs/time.md")]
struct TimePage;
