//! The arguments of `play cut`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::ros_flags::KindSelection;
use crate::cli::args::topic_flags::TopicSelection;
use crate::time::When;

/// The arguments of `play cut`.
#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a flag is a bool")]
pub struct CutArgs {
    /// Recordings to cut: MCAP files and rosbag2 directories; several become one
    #[arg(value_name = "BAG", required = true)]
    pub bags: Vec<PathBuf>,
    /// The file to write; with a slash at its end a rosbag2 directory
    #[arg(short, long, value_name = "OUT")]
    pub out: PathBuf,
    /// First time of the cut: ns, seconds, RFC 3339, +10s, -5s from the end, 50%
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub start: Option<When>,
    /// Last time of the cut, as --start; messages of exactly that time belong to it
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub end: Option<When>,
    /// Do not add the last messages of latched topics from before the start
    #[arg(long)]
    pub no_latched: bool,
    /// Decompress and check chunks that are copied as they are, and leave out damage in them
    #[arg(long)]
    pub check: bool,
    /// Write a rosbag2 directory: an MCAP file and a metadata.yaml
    #[arg(long)]
    pub rosbag2: bool,
    /// Replace OUT if it exists, but never a recording that is cut
    #[arg(long)]
    pub force: bool,
    /// End with exit code 3 if part of a recording cannot be read; implies --check, and what can be read is written
    #[arg(long)]
    pub strict: bool,
    /// Which topics.
    #[command(flatten)]
    pub selection: TopicSelection,
    /// Which services and actions.
    #[command(flatten)]
    pub kinds: KindSelection,
}
