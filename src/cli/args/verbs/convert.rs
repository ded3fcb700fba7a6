//! The arguments of `play convert`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `play convert`.
#[derive(Args, Clone, Debug)]
pub struct ConvertArgs {
    /// Recordings to convert: MCAP files and rosbag2 directories; several become one
    #[arg(value_name = "BAG", required = true)]
    pub bags: Vec<PathBuf>,
    /// The file to write; with a slash at its end a rosbag2 directory
    #[arg(short, long, value_name = "OUT")]
    pub out: PathBuf,
    /// Write a rosbag2 directory: an MCAP file and a metadata.yaml
    #[arg(long)]
    pub rosbag2: bool,
    /// Replace OUT if it exists, but never a recording that is converted
    #[arg(long)]
    pub force: bool,
    /// End with exit code 3 if a topic or part of a recording is left out; all else is written
    #[arg(long)]
    pub strict: bool,
}
