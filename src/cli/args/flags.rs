//! The command line of `play` as clap types: the arguments as typed, before they are interpreted.

#![expect(clippy::doc_markdown, reason = "clap shows these texts as they stand")]
#![expect(clippy::struct_excessive_bools, reason = "a flag is a bool")]

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use super::argv::{spread_lists, verb_first};
use super::printable::printable;
use super::ros_flags::RosArgs;
use super::values::{
    Color, CongestionArg, Format, LogLevel, MessageOrder, OnDisconnect, RosDistro, Wire, parse_hz,
    parse_pace,
};
use super::when::{When, WhenRange, parse_size, parse_span};
use crate::cli::exit::EXIT_CODES;
use crate::player::Pace;
use crate::time::Duration;

const EXAMPLES: &str = "\
Examples:
  play drive.mcap --clock                 as recorded, and serve /clock at 40 Hz
  play drive.mcap --clock 100 --rate 0.5  half speed, /clock at 100 Hz
  play drive.mcap --start +30s --end 50%  from 30 s to the middle
  play drive.mcap --loop-range +10s..+20s --topics /camera /imu
  play drive.mcap --rate max --wire null --format json   check a recording
  play info drive.mcap                    what is inside";

/// Plays recorded robot logs (MCAP) to ROS 2 over zenoh and serves their clock.
///
/// Messages go out at the instants of a virtual clock that can be slowed, sped up, reversed, paused,
/// stepped and sought. ROS 2 nodes on `rmw_zenoh_cpp` see an ordinary node; no ROS is needed here. With
/// no zenoh router on this machine, play becomes one.
#[derive(Parser, Clone, Debug)]
#[command(name = "play", bin_name = "play", version, args_conflicts_with_subcommands = true, after_long_help = after_help())]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    /// Something else than playing.
    #[command(subcommand)]
    pub command: Option<Verb>,
    /// What to play, and how.
    #[command(flatten)]
    pub play: PlayArgs,
    /// How to speak.
    #[command(flatten)]
    pub talk: TalkArgs,
}

impl Cli {
    /// What the words of a command line mean, the program's name first. An error quotes them escaped.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let mut cli = Self::try_parse_from(spread_lists(verb_first(words, &command)))
            .map_err(|error| printable(error, &mut command))?;
        if let Some(why) = cli.play.ros.refused() {
            return Err(command.error(ErrorKind::ArgumentConflict, why));
        }
        cli.play.bags.append(&mut cli.play.ros.input);
        Ok(cli)
    }
}

fn after_help() -> String {
    format!("{EXAMPLES}\n\n{EXIT_CODES}")
}

/// What `play` does besides playing. A bag of that name is reached as `./info`.
#[derive(Subcommand, Clone, Debug)]
pub enum Verb {
    /// Show what is inside recordings
    Info(InfoArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (try: play man | man -l -)
    Man,
}

/// What to look into, and how closely.
#[derive(Args, Clone, Debug)]
pub struct InfoArgs {
    /// Recordings to look into: MCAP files and rosbag2 directories
    #[arg(value_name = "BAG", required = true)]
    pub bags: Vec<PathBuf>,
    /// Read everything, and report all that is wrong (exit 3 if anything is)
    #[arg(long)]
    pub check: bool,
}

/// How to speak, everywhere.
#[derive(Args, Clone, Debug, Default)]
pub struct TalkArgs {
    /// Results as text or as one JSON object
    #[arg(
        long,
        value_enum,
        default_value_t,
        global = true,
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    pub format: Format,
    /// Colours on the terminal
    #[arg(
        long,
        value_enum,
        default_value_t,
        global = true,
        value_name = "WHEN",
        help_heading = "Output",
        hide_short_help = true
    )]
    pub color: Color,
    /// Say more (-vv: much more); RUST_LOG says it in detail
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = "Output", hide_short_help = true)]
    pub verbose: u8,
    /// Say what is as important as this, or more; as in ros2 bag play
    #[arg(
        long,
        value_enum,
        global = true,
        conflicts_with_all = ["verbose", "quiet"],
        value_name = "LEVEL",
        help_heading = "Output",
        hide_short_help = true
    )]
    pub log_level: Option<LogLevel>,
    /// Say only what went wrong
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Output",
        hide_short_help = true
    )]
    pub quiet: bool,
    /// Write what is said to this file too, each line with its time
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help_heading = "Output",
        hide_short_help = true
    )]
    pub log_file: Option<PathBuf>,
}

/// What to play, and how.
#[derive(Args, Clone, Debug)]
pub struct PlayArgs {
    /// Recordings to play; several are merged in time order
    #[arg(value_name = "BAG")]
    pub bags: Vec<PathBuf>,
    /// When.
    #[command(flatten)]
    pub time: TimeArgs,
    /// The clock.
    #[command(flatten)]
    pub clock: ClockArgs,
    /// What of it.
    #[command(flatten)]
    pub topics: TopicArgs,
    /// Where to.
    #[command(flatten)]
    pub wire: WireArgs,
    /// What is drawn.
    #[command(flatten)]
    pub screen: ScreenArgs,
    /// What scripts carry.
    #[command(flatten)]
    pub ros: RosArgs,
}

/// When and how fast.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Time")]
pub struct TimeArgs {
    /// Playback factor, 0.001 to 1000; negative plays backwards; `max` is as fast as it is taken
    #[arg(short, long, value_name = "R", default_value = "1", allow_hyphen_values = true, value_parser = parse_pace)]
    pub rate: Pace,
    /// Start paused
    #[arg(short = 'p', long)]
    pub start_paused: bool,
    /// Wait so long before the start (wall time)
    #[arg(short, long, value_name = "SPAN", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub delay: Option<Duration>,
    /// Begin again at the end
    #[arg(short = 'l', long = "loop")]
    pub is_loop: bool,
    /// Play a part of it again and again
    #[arg(long, value_name = "A..B", allow_hyphen_values = true, conflicts_with_all = ["start", "start_offset", "end", "playback_duration", "playback_until_sec", "playback_until_nsec"])]
    pub loop_range: Option<WhenRange>,
    /// First time played: ns, seconds, RFC 3339, +10s, -5s from the end, 50%
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        conflicts_with = "start_offset"
    )]
    pub start: Option<When>,
    /// Last time played, as --start; of several ends the earliest counts
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub end: Option<When>,
    /// Start so long after the start of the recording
    #[arg(long, value_name = "SPAN", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub start_offset: Option<Duration>,
    /// Play so much of the recording
    #[arg(long, value_name = "SPAN", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub playback_duration: Option<Duration>,
    /// Play until this time, in seconds
    #[arg(
        long,
        value_name = "SEC",
        conflicts_with = "playback_until_nsec",
        hide_short_help = true, value_parser = parse_span, allow_hyphen_values = true)]
    pub playback_until_sec: Option<Duration>,
    /// Play until this time, in nanoseconds
    #[arg(
        long,
        value_name = "NSEC",
        hide_short_help = true,
        allow_hyphen_values = true
    )]
    pub playback_until_nsec: Option<i64>,
    /// Jump over gaps longer than this
    #[arg(long, value_name = "SPAN", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub skip_empty: Option<Duration>,
    /// Do not send latched topics again after a jump or a late start
    #[arg(long, hide_short_help = true)]
    pub no_refill: bool,
    /// Which stamp orders messages and drives the clock
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "ORDER",
        hide_short_help = true
    )]
    pub message_order: MessageOrder,
    /// Bound of the read-ahead
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = parse_size, hide_short_help = true)]
    pub read_ahead: u64,
    /// Fail if anything in a recording could not be read (exit 3) or a subscriber missed something (exit 1)
    #[arg(long, hide_short_help = true)]
    pub strict: bool,
}

/// The clock that is served.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Clock")]
pub struct ClockArgs {
    /// Serve /clock on a fixed grid [bare: 40 Hz]
    #[arg(long, value_name = "HZ", value_parser = parse_hz)]
    pub clock: Option<f64>,
    /// Send /clock before each message of these topics, with its exact time
    #[arg(long, value_name = "TOPIC")]
    pub clock_topics: Vec<String>,
    /// The same for every topic
    #[arg(long)]
    pub clock_topics_all: bool,
    /// Let /clock start at this time instead of the recording's
    #[arg(
        long,
        value_name = "TIME",
        hide_short_help = true,
        allow_hyphen_values = true
    )]
    pub clock_start: Option<When>,
    /// Say on ~/clock_state how the clock goes on: its factor, its jumps, why it stands
    #[arg(long, hide_short_help = true)]
    pub clock_state: bool,
    /// Refuse to start if somebody else publishes /clock
    #[arg(long, hide_short_help = true)]
    pub strict_clock: bool,
}

/// Which topics, under which names.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Topics")]
pub struct TopicArgs {
    /// Only these topics
    #[arg(long, value_name = "TOPIC")]
    pub topics: Vec<String>,
    /// Not these topics
    #[arg(long, value_name = "TOPIC")]
    pub exclude_topics: Vec<String>,
    /// Topics whose whole name matches, besides --topics
    #[arg(short = 'e', long, value_name = "REGEX")]
    pub regex: Option<String>,
    /// Not topics whose whole name matches
    #[arg(
        short = 'x',
        long,
        alias = "exclude",
        value_name = "REGEX",
        hide_short_help = true
    )]
    pub exclude_regex: Option<String>,
    /// Publish topic A as B
    #[arg(short = 'm', long, value_name = "A:=B")]
    pub remap: Vec<String>,
    /// Put this before every topic name
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Option<String>,
    /// QoS profiles by topic instead of the recorded ones, as YAML
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub qos_profile_overrides_path: Option<PathBuf>,
    /// Wait at the start until these topics (none named: all) have a subscriber
    #[arg(long, value_name = "TOPIC")]
    pub wait_for_subscribers: Vec<String>,
    /// How long to wait for subscribers
    #[arg(long, value_name = "SPAN", default_value = "30", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub wait_timeout: Duration,
}

/// Where the messages go.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Network")]
pub struct WireArgs {
    /// How messages are put on the network
    #[arg(long, value_enum, default_value_t)]
    pub wire: Wire,
    /// The ROS distribution on the other side; auto listens for it
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
    /// Name of the node that plays
    #[arg(
        long,
        value_name = "NAME",
        default_value = "rosbag2_player",
        hide_short_help = true
    )]
    pub node_name: String,
    /// Zenoh router or peer to connect to, as tcp/host:7447
    #[arg(long, value_name = "ENDPOINT")]
    pub connect: Vec<String>,
    /// Address to listen on as a router, as tcp/0.0.0.0:7447
    #[arg(long, value_name = "ENDPOINT")]
    pub listen: Vec<String>,
    /// Zenoh configuration file, instead of the built-in one
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub zenoh_config: Option<PathBuf>,
    /// What a reliable topic does when a subscriber does not keep up
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub congestion: CongestionArg,
    /// How long a subscriber may take nothing before playback goes on without it
    #[arg(long, value_name = "SPAN", default_value = "5", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub stall_timeout: Duration,
    /// What happens when the router is lost
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub on_disconnect: OnDisconnect,
    /// Reach subscribers whatever type hash they expect
    #[arg(long, hide_short_help = true)]
    pub any_type_hash: bool,
}

/// The transport bar.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct ScreenArgs {
    /// Show the transport bar, as is done on a terminal unless $CI is set
    #[arg(long, conflicts_with = "no_tui", hide_short_help = true)]
    pub tui: bool,
    /// Do not show the transport bar
    #[arg(long)]
    pub no_tui: bool,
    /// Draw with ASCII characters only
    #[arg(long, hide_short_help = true)]
    pub ascii: bool,
}
