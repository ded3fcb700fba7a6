//! [`CiArgs`]: flags of a run against programs under test, with verdicts.

#![expect(clippy::struct_excessive_bools, reason = "a flag is a bool")]

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::values::{parse_node, parse_topic};
use crate::ci::drive::OnMiss;
use crate::ci::gates::GateRule;
use crate::time::{Duration, parse_span};
use crate::wire::SourceStamps;

/// A run against programs under test, with verdicts.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "CI replay")]
pub struct CiArgs {
    /// Read recordings, flags and the program under test from a scenario (TOML); what is given here replaces what it
    /// has
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub scenario: Option<PathBuf>,
    /// Where these flags come from, if not from the command line alone.
    #[arg(skip)]
    pub read_from: Option<FromScenario>,
    /// The program under test, which is started and ended
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
    /// Play at the speed at which CMD processes the messages
    #[arg(long)]
    pub lockstep: bool,
    /// With --lockstep: processes that run already (instead of CMD, or beside it)
    #[arg(
        long,
        value_name = "PID",
        requires = "lockstep",
        hide_short_help = true
    )]
    pub pid: Vec<u32>,
    /// With --lockstep: the folder of a control group whose processes run already (instead of CMD)
    #[arg(
        long,
        value_name = "DIR",
        requires = "lockstep",
        conflicts_with = "pid",
        hide_short_help = true
    )]
    pub cgroup: Option<PathBuf>,
    /// Longest wait of --lockstep, each time
    #[arg(long, value_name = "SPAN", default_value = "30", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub settle_limit: Duration,
    /// Hold playback until messages are answered: 'IN -> OUT'
    ///
    /// Also 'IN -> OUT1, OUT2 x3', 'IN -> OUT by stamp within 2s', and 'tick 20ms -> OUT' for steps of the clock.
    #[arg(long, value_name = "RULE")]
    pub gate: Vec<GateRule>,
    /// How many messages of a gate may be unanswered while playback goes on
    #[arg(
        long,
        value_name = "K",
        default_value = "1",
        requires = "gate",
        hide_short_help = true
    )]
    pub in_flight: NonZeroU32,
    /// How long a gate waits for an answer
    #[arg(long, value_name = "SPAN", default_value = "10", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub gate_timeout: Duration,
    /// What an unanswered message does: `fail`, `count` or `count:MAX` (MAX for each gate)
    #[arg(long, value_name = "WHAT", default_value = "fail", value_parser = parse_on_miss, hide_short_help = true)]
    pub on_miss: OnMiss,
    /// Log time for which the clock goes on after the end of the recording
    #[arg(long, value_name = "SPAN", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true, conflicts_with_all = ["end", "playback_duration", "playback_until_sec", "playback_until_nsec"])]
    pub tail: Option<Duration>,
    /// At the end, wait until no output has come for this long (wall time; not with --lockstep)
    #[arg(long, value_name = "SPAN", default_value = "0.2", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub settle: Duration,
    /// Slow down bursts of messages that a subscriber's queue cannot hold
    #[arg(long, requires = "gate", hide_short_help = true)]
    pub spread: bool,
    /// Play recorded topics that CMD publishes under this prefix, instead of leaving them out
    #[arg(long, value_name = "PREFIX", hide_short_help = true)]
    pub aside: Option<String>,
    /// What the source timestamps of messages show
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "TIME",
        hide_short_help = true
    )]
    pub source_stamp: SourceStamp,
    /// Record what the program under test publishes (MCAP)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub record: Option<PathBuf>,
    /// Also record the played messages, at the log time that playback had reached
    #[arg(long, hide_short_help = true)]
    pub record_inputs: bool,
    /// Begin when these nodes have joined
    #[arg(long, value_name = "NODE", value_parser = parse_node, hide_short_help = true)]
    pub wait_for_nodes: Vec<String>,
    /// Record these topics only
    #[arg(long, value_name = "TOPIC", value_parser = parse_topic, hide_short_help = true)]
    pub record_topics: Vec<String>,
    /// Check what CMD publishes by a file of expectations
    #[arg(long, value_name = "FILE")]
    pub expect: Vec<PathBuf>,
    /// Compare the outputs with those of a recording
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub golden: Option<PathBuf>,
    /// Tolerances of --golden, by topic and field (TOML)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub golden_rules: Option<PathBuf>,
    /// Replace the recording of --golden by the outputs of this run
    #[arg(long, hide_short_help = true)]
    pub update_golden: bool,
    /// Run this many times and compare the outputs
    #[arg(long, value_name = "N", default_value = "1", hide_short_help = true)]
    pub repeat: NonZeroU32,
    /// Be a router on a free port, which only this run and CMD know
    #[arg(long, conflicts_with_all = ["connect", "listen", "zenoh_config", "domain_id"], hide_short_help = true)]
    pub isolated: bool,
    /// CMD runs already: standard input says where (for play suite)
    #[arg(long, requires = "command", hide = true)]
    pub held_system: bool,
    /// Folder for the files of the run
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub run_dir: Option<PathBuf>,
    /// Longest wall time of the run with all its repetitions; after it the run has failed
    #[arg(long, value_name = "SPAN", value_parser = parse_timeout, hide_short_help = true, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,
    /// How long CMD has to end when it is asked to
    #[arg(long, value_name = "SPAN", default_value = "5", value_parser = parse_span, hide_short_help = true, allow_hyphen_values = true)]
    pub grace: Duration,
    /// Write the verdicts as JUnit XML
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub junit: Option<PathBuf>,
    /// Write everything about the run as JSON
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub report: Option<PathBuf>,
    /// Write a summary as Markdown
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub markdown: Option<PathBuf>,
    /// Write a page that shows the run
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub html: Option<PathBuf>,
}

/// The scenario from which flags were read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FromScenario {
    /// The file.
    pub file: PathBuf,
    /// The words of a command line with all of them, the program's name first.
    pub words: Vec<OsString>,
}

/// What the source timestamps of messages show.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SourceStamp {
    /// The time of this machine at which they are sent
    #[default]
    Wall,
    /// Their log time, so that subscribers can order messages of several topics by it
    Log,
}

impl From<SourceStamp> for SourceStamps {
    fn from(stamp: SourceStamp) -> Self {
        match stamp {
            SourceStamp::Wall => Self::Wall,
            SourceStamp::Log => Self::Log,
        }
    }
}

impl CiArgs {
    /// Whether a program under test is named.
    pub fn has_program(&self) -> bool {
        !self.command.is_empty() || !self.pid.is_empty() || self.cgroup.is_some()
    }

    /// Whether any of these flags makes this a run with verdicts.
    pub fn is_any(&self) -> bool {
        self.scenario.is_some()
            || !self.command.is_empty()
            || self.lockstep
            || !self.gate.is_empty()
            || self.tail.is_some()
            || self.record.is_some()
            || self.record_inputs
            || self.aside.is_some()
            || !self.record_topics.is_empty()
            || !self.wait_for_nodes.is_empty()
            || !self.expect.is_empty()
            || self.golden.is_some()
            || self.update_golden
            || self.repeat.get() > 1
            || self.isolated
            || self.timeout.is_some()
            || self.run_dir.is_some()
            || [&self.junit, &self.report, &self.markdown, &self.html]
                .iter()
                .any(|file| file.is_some())
    }
}

impl CiArgs {
    /// Why these flags cannot be used together. What a scenario has is not known here.
    pub(crate) fn refused(&self) -> Option<&'static str> {
        if self.scenario.is_some() {
            return None;
        }
        if self.lockstep && !self.has_program() {
            return Some(
                "--lockstep needs a program under test: give its command line after `--`, or running processes with \
                 --pid or --cgroup",
            );
        }
        if self.cgroup.is_some() && !self.command.is_empty() {
            return Some(
                "--cgroup and a program after `--` exclude each other: the program would not be in that control group; hint: use \
                 --pid with the program",
            );
        }
        if self.isolated && (!self.pid.is_empty() || self.cgroup.is_some()) {
            return Some(
                "--isolated creates a separate network, which running processes (--pid, --cgroup) cannot join",
            );
        }
        let is_repeated = |(at, rule): (usize, &GateRule)| self.gate[..at].contains(rule);
        if self.gate.iter().enumerate().any(is_repeated) {
            return Some("--gate is given twice with the same rule");
        }
        if self.golden_rules.is_some() && self.golden.is_none() {
            return Some("--golden-rules needs --golden");
        }
        (self.update_golden && self.golden.is_none()).then_some("--update-golden needs --golden")
    }
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    let span = parse_span(text).map_err(|error| error.to_string())?;
    let is_long = span > Duration::ZERO;
    is_long
        .then_some(span)
        .ok_or_else(|| "the timeout must be longer than zero".to_owned())
}

fn parse_on_miss(text: &str) -> Result<OnMiss, String> {
    match (text, text.strip_prefix("count:").map(u64::from_str)) {
        ("fail", _) => Ok(OnMiss::Fail),
        ("count", _) => Ok(OnMiss::Count(u64::MAX)),
        (_, Some(Ok(most))) => Ok(OnMiss::Count(most)),
        _ => Err("write fail, count or count:MAX".to_owned()),
    }
}
