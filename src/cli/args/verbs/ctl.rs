//! The arguments of `play ctl`.

#![expect(clippy::doc_markdown, reason = "clap shows these texts as they stand")]

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

use crate::cli::args::values::{parse_node, parse_pace};
use crate::player::Pace;
use crate::time::{Duration, Unreadable, When, WhenRange, parse_span};

/// The arguments of `play ctl`.
#[derive(Args, Clone, Debug)]
pub struct CtlArgs {
    /// What the player is to do
    #[command(subcommand)]
    pub command: CtlCommand,
    /// The player's node; needed if there are several players
    #[arg(long, value_name = "NAME", value_parser = parse_node, global = true)]
    pub node: Option<String>,
    /// How long to wait for a player, and for its answer
    #[arg(long, value_name = "SPAN", default_value = "5", value_parser = parse_span, global = true)]
    pub timeout: Duration,
    /// The network on which the player is.
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// How a program reaches players on the network.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Network")]
pub struct ReachArgs {
    /// Zenoh router or peer to connect to [default: the router on this machine]
    #[arg(long, value_name = "ENDPOINT", global = true)]
    pub connect: Vec<String>,
    /// ROS domain [default: $ROS_DOMAIN_ID, else 0]
    #[arg(long, value_name = "ID", global = true)]
    pub domain_id: Option<u32>,
    /// Zenoh configuration file, instead of the built-in one
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    pub zenoh_config: Option<PathBuf>,
}

/// What `play ctl` tells a player.
#[derive(Subcommand, Clone, PartialEq, Debug)]
pub enum CtlCommand {
    /// Pause
    Pause,
    /// Play on
    Resume,
    /// Pause if playing, otherwise play
    Toggle,
    /// Change the rate: a factor from 0.001 to 1000, negative backwards, or max
    Rate {
        /// The rate
        #[arg(value_parser = parse_pace, allow_hyphen_values = true)]
        rate: Pace,
    },
    /// Jump to a time, written as for --start
    Seek {
        /// The time
        #[arg(value_name = "TIME", allow_hyphen_values = true)]
        to: When,
    },
    /// Pause, and publish the next messages; negative: go back to an earlier message
    Step {
        /// How many messages
        #[arg(value_name = "N", default_value_t = 1, allow_hyphen_values = true)]
        steps: i64,
        /// Count only messages of this topic
        #[arg(long)]
        topic: Option<String>,
    },
    /// Publish the next messages at once, while paused; 0 means all
    Burst {
        /// How many messages
        #[arg(value_name = "N")]
        number: u64,
    },
    /// Play a range again and again: A..B with times as for --start, on, or off
    Loop {
        /// The range
        #[arg(value_name = "A..B|on|off", allow_hyphen_values = true)]
        range: LoopArg,
    },
    /// Show what the player is doing
    Status {
        /// Print a line at each change, until the player ends
        #[arg(long)]
        watch: bool,
    },
    /// End the run
    Stop,
    /// Return when the player's clock has reached a time
    WaitUntil {
        /// The time, written as for --start
        #[arg(value_name = "TIME", allow_hyphen_values = true)]
        time: When,
    },
}

impl CtlCommand {
    /// Its name on the command line.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Toggle => "toggle",
            Self::Rate { .. } => "rate",
            Self::Seek { .. } => "seek",
            Self::Step { .. } => "step",
            Self::Burst { .. } => "burst",
            Self::Loop { .. } => "loop",
            Self::Status { .. } => "status",
            Self::Stop => "stop",
            Self::WaitUntil { .. } => "wait-until",
        }
    }
}

/// Whether to loop, and where.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LoopArg {
    /// This range, again and again.
    Range(WhenRange),
    /// The whole recording, again and again.
    On,
    /// The whole recording, once.
    Off,
}

impl FromStr for LoopArg {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        match text {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            range => range.parse().map(Self::Range),
        }
    }
}
