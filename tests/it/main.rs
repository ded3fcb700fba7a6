//! The integration tests, one crate.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod bag_cue;
mod bag_cursor;
mod bag_data;
mod bag_directories;
mod bag_hostile;
mod bag_latched;
mod bag_legal;
mod bag_liars;
mod bag_marks;
mod bag_outline;
mod bag_qos;
mod bag_rosbag2;
mod bag_scan;
mod bag_windows;
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod cli_flags;
#[cfg(feature = "cli")]
mod cli_foreign;
#[cfg(feature = "cli")]
mod cli_log;
mod decode;
#[cfg(feature = "tui")]
mod docs;
mod house;
mod machine;
mod machine_edges;
mod machine_topics;
mod mcap_features;
mod mcaps;
mod patience;
mod player;
#[cfg(all(unix, feature = "cli", feature = "tui"))]
mod pty;
#[cfg(all(unix, feature = "cli", feature = "tui"))]
mod pty_start;
#[cfg(all(unix, feature = "cli", feature = "tui"))]
mod pty_terminal;
#[cfg(all(unix, feature = "cli", feature = "tui"))]
mod pty_topics;
#[cfg(all(unix, feature = "cli", feature = "tui"))]
mod pty_transport;
#[cfg(feature = "cli")]
mod qos_overrides;
#[cfg(feature = "async")]
mod time_async;
mod time_edges;
mod time_extrapolate;
mod time_handlers;
mod time_hub;
mod time_jump;
mod time_life;
mod time_line;
mod time_parts;
mod time_races;
mod time_sleep;
mod time_source;
mod time_stress;
mod time_timer;
mod time_values;
#[cfg(feature = "tui")]
mod tui_any;
#[cfg(feature = "tui")]
mod tui_lookup;
#[cfg(feature = "tui")]
mod tui_model;
#[cfg(feature = "tui")]
mod tui_screens;
#[cfg(feature = "tui")]
mod tui_update;
#[cfg(feature = "wire")]
mod wire_clock;
#[cfg(feature = "wire")]
mod wire_drain;
#[cfg(feature = "wire")]
mod wire_graph;
#[cfg(feature = "wire")]
mod wire_net;
#[cfg(feature = "wire")]
mod wire_path;
#[cfg(feature = "wire")]
mod wire_play;
#[cfg(feature = "wire")]
mod wire_publish;
#[cfg(feature = "wire")]
mod wire_stalls;
#[cfg(feature = "wire")]
mod wire_state;
#[cfg(feature = "wire")]
mod wire_time;
