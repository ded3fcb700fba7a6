//! The arguments of `play attach`.

use clap::Args;

use super::ctl::ReachArgs;
use crate::cli::args::values::parse_node;
use crate::time::{Duration, parse_span};

/// The arguments of `play attach`.
#[derive(Args, Clone, Debug)]
pub struct AttachArgs {
    /// The player's node; needed if there are several players
    #[arg(long, value_name = "NAME", value_parser = parse_node)]
    pub node: Option<String>,
    /// How long to wait for a player, and for its answer
    #[arg(long, value_name = "SPAN", default_value = "5", value_parser = parse_span)]
    pub timeout: Duration,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// The network on which the player is.
    #[command(flatten)]
    pub reach: ReachArgs,
}
