//! The command line of `play` as clap types: the arguments before they are interpreted.

#![expect(clippy::doc_markdown, reason = "clap shows these texts as they stand")]
#![expect(clippy::struct_excessive_bools, reason = "a flag is a bool")]

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser};

use super::argv::{spread_lists, verb_first};
use super::ci_flags::CiArgs;
use super::follow_flags::FollowArgs;
use super::printable::printable;
use super::ros_flags::RosArgs;
use super::topic_flags::TopicArgs;
use super::values::{
    Color, Format, LogLevel, MessageOrder, OrderOf, parse_hz, parse_pace, parse_size,
};
use super::verbs::verb::Verb;
use super::wire_args::WireArgs;
use crate::cli::exit::EXIT_CODES;
use crate::player::Pace;
use crate::time::{Duration, When, WhenRange, parse_span};

const EXAMPLES: &str = "\
Examples:
  play drive.mcap --clock                 as recorded, and serve /clock at 40 Hz
  play drive.mcap --clock 100 --rate 0.5  half speed, /clock at 100 Hz
  play drive.mcap --start +30s --end 50%  from 30 s to the middle
  play drive.mcap --loop-range +10s..+20s --topics /camera /imu
  play drive.mcap --follow                by the /clock of another player or of a simulator
  play drive.mcap --rate max --wire null --format json   check a recording
  play info drive.mcap                    topics, times, QoS profiles
  play find drive.mcap '/imu a.x > 1'     messages whose fields satisfy a condition
  play cut a.mcap --end +10s -o b.mcap    its first ten seconds as a recording of their own
  play convert ros1.mcap -o ros2.mcap     the messages of ROS 1 as those of ROS 2
  play clock --start 0 --rate 2           a clock without a recording, at double speed";

/// Plays recorded robot logs (MCAP) to nodes of ROS 2 and ROS 1 and to viewers, and serves their clock.
///
/// Messages are sent at the times of a clock that can be slowed down, sped up, reversed, paused,
/// stepped and sought. ROS 2 nodes on `rmw_zenoh_cpp` see an ordinary node. No ROS installation is
/// needed. If no zenoh router runs on this machine, play becomes one.
#[derive(Parser, Clone, Debug)]
#[command(name = "play", bin_name = "play", version, args_conflicts_with_subcommands = true, after_long_help = after_help())]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    /// A command other than playing.
    #[command(subcommand)]
    pub command: Option<Verb>,
    /// What to play, and how.
    #[command(flatten)]
    pub play: PlayArgs,
    /// What is printed, and where to.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl Cli {
    /// Parses the words of a command line, the program's name first. An error quotes them escaped.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let mut cli = Self::try_parse_from(spread_lists(verb_first(words, &command)))
            .map_err(|error| printable(error, &mut command))?;
        let follow = &cli.play.follow;
        let refused = follow.refused(cli.play.wire.wires());
        let (wire, has_state) = match &cli.command {
            Some(Verb::Clock(args)) => (&args.wire, args.clock_state),
            _ => (&cli.play.wire, cli.play.clock.clock_state),
        };
        let refused = refused.or_else(|| wire.refused(has_state));
        let refused = refused.or_else(|| cli.play.ci.refused());
        let refused = refused.or_else(|| cli.play.refused_with_verdicts());
        if let Some(why) = cli.play.ros.refused().or(refused) {
            return Err(command.error(ErrorKind::ArgumentConflict, why));
        }
        cli.play.bags.append(&mut cli.play.ros.input);
        if let Some(Verb::Find(args)) = &mut cli.command
            && let Err(error) = args.sort_words()
        {
            command.build();
            let find = command.find_subcommand_mut("find");
            let find = find.expect("it is a command");
            return Err(find.error(ErrorKind::ValueValidation, error));
        }
        Ok(cli)
    }
}

impl PlayArgs {
    /// Why a run with verdicts cannot go on to its end. What a scenario has is not known here.
    fn refused_with_verdicts(&self) -> Option<&'static str> {
        if !self.ci.is_any() || self.ci.scenario.is_some() {
            return None;
        }
        let time = &self.time;
        [
            (
                self.follow.follow.is_some(),
                "--follow cannot be used in a run with verdicts (--gate, --lockstep, --expect and the like): such a run drives \
                 the clock itself",
            ),
            (
                time.is_loop || time.loop_range.is_some(),
                "--loop and --loop-range cannot be used in a run with verdicts (--gate, --lockstep, --expect and the like): it \
                 would not end; hint: --repeat plays it several times",
            ),
            (
                time.order == OrderOf::Topic,
                "--order topic cannot be used in a run with verdicts (--gate, --lockstep, --expect and the like): it waits for \
                 the answers to one message after the other",
            ),
            (
                time.begin_at.is_some(),
                "--begin-at cannot be used in a run with verdicts (--gate, --lockstep, --expect and the like); hint: --start",
            ),
            (
                self.viewers.foxglove.is_some(),
                "--foxglove cannot be used in a run with verdicts (--gate, --lockstep, --expect and the like): viewers control \
                 the player",
            ),
            (
                time.start_paused,
                "--start-paused cannot be used in a run with verdicts (--gate, --lockstep, --expect and the like): it has no \
                 transport bar and no services to resume it",
            ),
        ]
        .into_iter()
        .find_map(|(is_given, why)| is_given.then_some(why))
    }
}

/// The configuration file; `app/bar/look.rs` reads it.
const FILES: &str = "\
Configuration of the transport bar (keys, colours, times, mouse):
  $XDG_CONFIG_HOME/bagplay/config.toml, by default ~/.config/bagplay/config.toml";

fn after_help() -> String {
    format!("{EXAMPLES}\n\n{FILES}\n\n{EXIT_CODES}")
}

/// What is printed, and where to; for all commands.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Format of results
    #[arg(
        long,
        value_enum,
        default_value_t,
        global = true,
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    pub format: Format,
    /// When to use colours
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
    /// Log at level debug; RUST_LOG selects in detail
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = "Output", hide_short_help = true)]
    pub verbose: u8,
    /// Log messages of this level and above, as in ros2 bag play
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
    /// Log errors only
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Output",
        hide_short_help = true
    )]
    pub quiet: bool,
    /// Write the log to this file, too, each line with its time
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
    /// The time range and the rate.
    #[command(flatten)]
    pub time: TimeArgs,
    /// The clock.
    #[command(flatten)]
    pub clock: ClockArgs,
    /// The clock that is followed.
    #[command(flatten)]
    pub follow: FollowArgs,
    /// The topics.
    #[command(flatten)]
    pub topics: TopicArgs,
    /// The network.
    #[command(flatten)]
    pub wire: WireArgs,
    /// Viewers.
    #[command(flatten)]
    pub viewers: ViewerArgs,
    /// Runs against programs under test.
    #[command(flatten)]
    pub ci: CiArgs,
    /// The transport bar.
    #[command(flatten)]
    pub screen: ScreenArgs,
    /// Flags for scripts written for `ros2 bag play`.
    #[command(flatten)]
    pub ros: RosArgs,
}

/// The time range and the rate.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Time")]
pub struct TimeArgs {
    /// Rate, 0.001 to 1000; negative: backwards; `max`: no limit [default: 1]
    ///
    /// With --lockstep and --gate the default is max.
    #[arg(short, long, value_name = "R", allow_hyphen_values = true, value_parser = parse_pace)]
    pub rate: Option<Pace>,
    /// Start paused
    #[arg(short = 'p', long)]
    pub start_paused: bool,
    /// Wait this long before the start (wall time)
    #[arg(short, long, value_name = "SPAN", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub delay: Option<Duration>,
    /// Start again at the end
    #[arg(short = 'l', long = "loop")]
    pub is_loop: bool,
    /// Repeat a part of the recording
    #[arg(long, value_name = "A..B", allow_hyphen_values = true, conflicts_with_all = ["start", "start_offset", "end", "playback_duration", "playback_until_sec", "playback_until_nsec"])]
    pub loop_range: Option<WhenRange>,
    /// First time to play: ns, seconds, RFC 3339, +10s, -5s from the end, 50%
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        conflicts_with = "start_offset"
    )]
    pub start: Option<When>,
    /// Begin at this time, as --start; what is played stays the same
    #[arg(
        long,
        value_name = "TIME",
        hide_short_help = true,
        allow_hyphen_values = true
    )]
    pub begin_at: Option<When>,
    /// Last time to play, as --start; of several ends the earliest applies
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub end: Option<When>,
    /// Start this long after the start of the recording
    #[arg(long, value_name = "SPAN", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub start_offset: Option<Duration>,
    /// Play this much of the recording
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
    /// Skip gaps longer than this
    #[arg(long, value_name = "SPAN", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub skip_empty: Option<Duration>,
    /// Do not send latched topics again after a jump or a late start
    #[arg(long, hide_short_help = true)]
    pub no_refill: bool,
    /// Timestamp that orders messages and drives the clock
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "ORDER",
        hide_short_help = true
    )]
    pub message_order: MessageOrder,
    /// Memory limit of the read-ahead
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = parse_size, hide_short_help = true)]
    pub read_ahead: u64,
    /// Send on time, whatever processor time this takes
    #[arg(long, hide_short_help = true)]
    pub precise: bool,
    /// Run before all other programs on a busy machine, and keep processors awake, as far as the system permits it
    #[arg(long, hide_short_help = true)]
    pub realtime: bool,
    /// Which order is kept: of all messages, or of the messages of each topic
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "OF",
        hide_short_help = true
    )]
    pub order: OrderOf,
    /// Fail if part of a recording cannot be read or sent (exit code 3) or a subscriber misses messages (1)
    #[arg(long, hide_short_help = true)]
    pub strict: bool,
}

/// The clock that is served.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Clock")]
pub struct ClockArgs {
    /// Publish /clock at a fixed rate [without a value: 40 Hz]
    #[arg(long, value_name = "HZ", value_parser = parse_hz)]
    pub clock: Option<f64>,
    /// Publish /clock before each message of these topics, with its time
    #[arg(long, value_name = "TOPIC")]
    pub clock_topics: Vec<String>,
    /// Publish /clock before each message of any topic
    #[arg(long, hide_short_help = true)]
    pub clock_topics_all: bool,
    /// Shift /clock so that it starts at this time
    #[arg(
        long,
        value_name = "TIME",
        hide_short_help = true,
        allow_hyphen_values = true
    )]
    pub clock_start: Option<When>,
    /// Publish the state of the clock on ~/clock_state: its rate, its jumps, why it is held
    #[arg(long, hide_short_help = true)]
    pub clock_state: bool,
    /// Fail if another node publishes /clock
    #[arg(long, hide_short_help = true)]
    pub strict_clock: bool,
}

/// Viewers beside the network of ROS.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Network")]
pub struct ViewerArgs {
    /// Serve the Foxglove app, too [without a value: 127.0.0.1:8765]
    ///
    /// The app shows the messages as recorded, also those that ROS does not have, and its playback bar controls this
    /// player. ADDR is HOST:PORT, HOST or PORT. Whoever can reach it can control the player.
    #[arg(long, value_name = "ADDR")]
    pub foxglove: Option<String>,
}

/// The transport bar.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct ScreenArgs {
    /// Show the transport bar; the default on a terminal unless $CI is set
    #[arg(long, conflicts_with = "no_tui", hide_short_help = true)]
    pub tui: bool,
    /// Do not show the transport bar
    #[arg(long)]
    pub no_tui: bool,
    /// Draw with ASCII characters only
    #[arg(long, hide_short_help = true)]
    pub ascii: bool,
}
