//! The flags of the network as options of the wire.

use bagplay::cli::{CongestionArg, RosDistro, SharedMemoryArg, WireArgs};
use bagplay::wire::{Congestion, Distro, Protocol, SharedMemoryUse, WireOptions};

/// The options that the flags of the network say, for a protocol; the others are the usual ones.
pub(super) fn options(args: &WireArgs, protocol: Protocol) -> WireOptions {
    WireOptions {
        protocol,
        domain_id: args.domain_id,
        node_name: args.node_name.clone(),
        bridge_namespace: args.bridge_namespace.clone(),
        connect: args.connect.clone(),
        listen: args.listen.clone(),
        config_file: args.zenoh_config.clone(),
        congestion: match args.congestion {
            CongestionArg::Block => Congestion::Block,
            CongestionArg::BlockFirst => Congestion::BlockFirst,
            CongestionArg::Drop => Congestion::Drop,
        },
        stall_timeout: args.stall_timeout.to_std(),
        distro: match args.ros_distro {
            RosDistro::Auto => Distro::Auto,
            RosDistro::Humble => Distro::Humble,
            RosDistro::Jazzy => Distro::Jazzy,
            RosDistro::Kilted => Distro::Kilted,
            RosDistro::Lyrical => Distro::Lyrical,
            RosDistro::Rolling => Distro::Rolling,
        },
        any_type_hash: args.any_type_hash,
        shared_memory: match args.shm {
            SharedMemoryArg::Auto => SharedMemoryUse::Auto,
            SharedMemoryArg::On => SharedMemoryUse::On,
            SharedMemoryArg::Off => SharedMemoryUse::Off,
        },
        ..WireOptions::default()
    }
}
