//! The arguments of `play info`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `play info`.
#[derive(Args, Clone, Debug)]
pub struct InfoArgs {
    /// Recordings to describe: MCAP files and rosbag2 directories
    #[arg(value_name = "BAG", required = true)]
    pub bags: Vec<PathBuf>,
    /// Read every message and report all damage (exit code 3 if there is any)
    #[arg(long)]
    pub check: bool,
}
