//! The flags that select topics, for playing and for other commands, and those that name and await them.

use std::path::PathBuf;

use clap::Args;

use super::values::TranscodeArg;
use crate::time::{Duration, parse_span};

/// Which topics.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Topics")]
pub struct TopicSelection {
    /// These topics only
    #[arg(long, value_name = "TOPIC")]
    pub topics: Vec<String>,
    /// Without these topics
    #[arg(long, value_name = "TOPIC")]
    pub exclude_topics: Vec<String>,
    /// Topics whose whole name matches, in addition to --topics
    #[arg(short = 'e', long, value_name = "REGEX")]
    pub regex: Option<String>,
    /// Without topics whose whole name matches
    #[arg(
        short = 'x',
        long,
        alias = "exclude",
        value_name = "REGEX",
        hide_short_help = true
    )]
    pub exclude_regex: Option<String>,
}

/// Which topics, under which names.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Topics")]
pub struct TopicArgs {
    /// Which of them.
    #[command(flatten)]
    pub selection: TopicSelection,
    /// Publish topic A as B
    #[arg(short = 'm', long, value_name = "A:=B")]
    pub remap: Vec<String>,
    /// Prepend this to every topic name
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Option<String>,
    /// YAML file with QoS profiles by topic, which replace the recorded ones
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub qos_profile_overrides_path: Option<PathBuf>,
    /// Send ROS 1 messages as ROS 2 messages, by their recorded definitions
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_short_help = true
    )]
    pub transcode: TranscodeArg,
    /// Wait until these topics (none named: all) have a subscriber
    ///
    /// TOPIC=N: N subscribers.
    #[arg(long, value_name = "TOPIC")]
    pub wait_for_subscribers: Vec<String>,
    /// Time limit of --wait-for-subscribers and --wait-for-nodes
    #[arg(long, value_name = "SPAN", default_value = "30", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub wait_timeout: Duration,
}
