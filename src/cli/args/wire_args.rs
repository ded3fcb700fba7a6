//! The arguments of all commands that join the network and publish.

#![expect(clippy::doc_markdown, reason = "clap shows these texts as they stand")]

use std::path::PathBuf;

use clap::Args;

use super::values::{CongestionArg, OnDisconnect, RosDistro, SharedMemoryArg, Wire};
use crate::time::{Duration, parse_span};
use crate::wire::BridgeNamespace;

/// The network.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Network")]
pub struct WireArgs {
    /// Protocol
    ///
    /// The default is `rmw_zenoh`. May be given more than once: messages and clock are then sent on all of these wires.
    #[arg(long, value_enum, default_values_t = [Wire::RmwZenoh], hide_default_value = true)]
    wire: Vec<Wire>,
    /// Namespace of the bridges to DDS, as in their configuration, such as /bot1
    #[arg(
        long,
        value_name = "NAMESPACE",
        default_value = "/",
        hide_short_help = true
    )]
    pub bridge_namespace: BridgeNamespace,
    /// ROS distribution of the subscribers; auto detects it
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "DISTRO",
        hide_short_help = true
    )]
    pub ros_distro: RosDistro,
    /// ROS domain [default: $ROS_DOMAIN_ID, else 0]
    #[arg(long, value_name = "ID", hide_short_help = true)]
    pub domain_id: Option<u32>,
    /// Name of this player as a ROS node
    #[arg(
        long,
        value_name = "NAME",
        default_value = "rosbag2_player",
        hide_short_help = true
    )]
    pub node_name: String,
    /// Zenoh router or peer to connect to, such as tcp/host:7447
    #[arg(long, value_name = "ENDPOINT")]
    pub connect: Vec<String>,
    /// Address to listen on as a router, such as tcp/0.0.0.0:7447
    #[arg(long, value_name = "ENDPOINT")]
    pub listen: Vec<String>,
    /// Zenoh configuration file, instead of the built-in one
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub zenoh_config: Option<PathBuf>,
    /// What reliable topics do while a subscriber does not keep up
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub congestion: CongestionArg,
    /// How long to wait for a subscriber that takes no data before playback goes on without it
    #[arg(long, value_name = "SPAN", default_value = "5", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub stall_timeout: Duration,
    /// Send large messages through memory shared with subscribers on this host
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_short_help = true
    )]
    pub shm: SharedMemoryArg,
    /// What to do when the connection to the router is lost
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub on_disconnect: OnDisconnect,
    /// With --wire ros1: /use_sim_time is true during the run
    #[arg(long, hide_short_help = true)]
    pub use_sim_time: bool,
    /// Send to subscribers whatever type hash they expect
    #[arg(long, hide_short_help = true)]
    pub any_type_hash: bool,
}

impl WireArgs {
    /// The wires, in the order in which they are given; at least one.
    pub fn wires(&self) -> &[Wire] {
        &self.wire
    }

    /// Whether a wire is one of them.
    pub fn has(&self, wire: Wire) -> bool {
        self.wire.contains(&wire)
    }

    /// Whether the subscribers on one of them are ROS 2 nodes.
    pub fn has_ros2(&self) -> bool {
        self.wire.iter().any(|wire| wire.is_ros2())
    }

    /// The command with which another terminal resumes a player, on the first of its wires that has one.
    pub fn resume_command(&self) -> Option<String> {
        let node = self.node_name.trim_start_matches('/');
        self.wire.iter().find_map(|wire| match wire {
            Wire::RmwZenoh => Some("play ctl resume".to_owned()),
            Wire::Ros2Dds => Some(format!(
                "ros2 service call /{node}/resume rosbag2_interfaces/srv/Resume"
            )),
            Wire::Ros1 => Some(format!("rosservice call /{node}/resume")),
            Wire::Zenoh | Wire::Null => None,
        })
    }

    /// A warning for `--strict` if zenoh may drop messages of reliable topics, which it does not report.
    pub(crate) fn unknown_losses(&self) -> Option<String> {
        let is_over_zenoh = |wire: &Wire| !matches!(wire, Wire::Ros1 | Wire::Null);
        let may_drop = self.congestion != CongestionArg::Block;
        (may_drop && self.wire.iter().any(is_over_zenoh)).then(|| {
            "--strict does not notice messages that zenoh drops; hint: --congestion block"
                .to_owned()
        })
    }

    /// Whether flags say where the network of zenoh is.
    fn places_session(&self) -> bool {
        !self.connect.is_empty() || !self.listen.is_empty() || self.zenoh_config.is_some()
    }

    /// Why these flags are refused together; `has_state`: so is `--clock-state`.
    pub(crate) fn refused(&self, has_state: bool) -> Option<&'static str> {
        let several = self.wire.len() > 1;
        let is_ros1 = self.wire == [Wire::Ros1];
        let is_repeated = |(at, wire): (usize, &Wire)| self.wire[..at].contains(wire);
        let has_namespace = self.bridge_namespace != BridgeNamespace::default();
        [
            (
                several && self.has(Wire::Null),
                "--wire null: it is given alone",
            ),
            (
                self.wire.iter().enumerate().any(is_repeated),
                "--wire: each wire is given once",
            ),
            (
                is_ros1 && self.places_session(),
                "--connect, --listen and --zenoh-config: ROS_MASTER_URI says where the network of --wire ros1 is",
            ),
            (
                is_ros1 && self.domain_id.is_some(),
                "--domain-id: networks of --wire ros1 have no number; ROS_MASTER_URI says which one it is",
            ),
            (
                is_ros1 && self.shm == SharedMemoryArg::On,
                "--shm on: --wire ros1 has no shared memory",
            ),
            (
                is_ros1 && self.any_type_hash,
                "--any-type-hash: types of --wire ros1 have sums, which nodes compare",
            ),
            (
                is_ros1 && has_state,
                "--clock-state: --wire ros1 has no such topic",
            ),
            (
                self.has(Wire::Ros2Dds) && self.has(Wire::Zenoh),
                "--wire zenoh: it has the keys of --wire ros2dds, so that nodes would get everything twice",
            ),
            (
                self.has(Wire::Ros1) && self.congestion == CongestionArg::BlockFirst,
                "--congestion block-first: --wire ros1 has block and drop",
            ),
            (
                self.use_sim_time && !self.has(Wire::Ros1),
                "--use-sim-time needs --wire ros1: nodes of ROS 2 have it as a parameter",
            ),
            (
                self.domain_id.is_some() && self.wire == [Wire::Ros2Dds],
                "--domain-id: with --wire ros2dds, the bridge has the domain",
            ),
            (
                has_namespace && !self.has(Wire::Ros2Dds),
                "--bridge-namespace needs --wire ros2dds",
            ),
        ]
        .into_iter()
        .find_map(|(is_refused, why)| is_refused.then_some(why))
    }
}
