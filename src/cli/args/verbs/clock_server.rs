//! The arguments of `play clock`.

#![expect(clippy::doc_markdown, reason = "clap shows these texts as they stand")]
#![expect(clippy::struct_excessive_bools, reason = "a flag is a bool")]

use clap::{Args, ValueEnum};

use crate::cli::args::values::parse_hz;
use crate::cli::args::wire_args::WireArgs;
use crate::time::{Speed, When};

/// Which time a clock server shows.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ClockSourceArg {
    /// A time of its own, which can be paused, sped up, reversed and sought.
    #[default]
    Sim,
    /// The system time of this machine.
    System,
    /// The steady time of this machine: since its start, never set.
    Steady,
}

impl ClockSourceArg {
    /// Its name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::System => "system",
            Self::Steady => "steady",
        }
    }

    /// Whether it shows a clock of the machine, which cannot be driven.
    pub const fn is_of_machine(self) -> bool {
        !matches!(self, Self::Sim)
    }
}

/// The node of a clock server, if no other name is given: a player beside it keeps its own.
const NODE_NAME: &str = "clock_server";

const EXAMPLES: &str = "\
Examples:
  play clock                              /clock from now on, at 100 Hz
  play clock --start 0 --rate 0.5         from zero, at half speed
  play clock --source system              the system time of this machine, for nodes without one";

/// The arguments of `play clock`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
#[command(mut_arg("node_name", |arg| arg.default_value(NODE_NAME).help("Name of this clock server as a ROS node")))]
pub struct ClockServerArgs {
    /// Which time /clock shows
    #[arg(long, value_enum, default_value_t)]
    pub source: ClockSourceArg,
    /// Rate, 0.001 to 1000; negative runs backwards [default: 1]
    #[arg(short, long, value_name = "R", allow_hyphen_values = true)]
    pub rate: Option<Speed>,
    /// How often /clock is published, in Hz of wall time
    #[arg(long, value_name = "HZ", default_value = "100", value_parser = parse_hz)]
    pub hz: f64,
    /// First time: ns, seconds or RFC 3339 [default: the system time]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub start: Option<When>,
    /// Start paused
    #[arg(short = 'p', long)]
    pub start_paused: bool,
    /// Send on time, whatever processor time this takes
    #[arg(long)]
    pub precise: bool,
    /// Publish the state of the clock on ~/clock_state: its rate, its jumps, why it is held
    #[arg(long)]
    pub clock_state: bool,
    /// Fail if another node publishes /clock
    #[arg(long)]
    pub strict_clock: bool,
    /// The network.
    #[command(flatten)]
    pub wire: WireArgs,
}
