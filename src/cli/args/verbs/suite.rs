//! The arguments of `play suite`.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Subcommand};

use crate::ci::suite::PartitionArg;
use crate::ci::suite::scenario::Case;
use crate::time::{Duration, parse_span};
use crate::untrusted::Foreign;

/// The arguments of `play suite`.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct SuiteArgs {
    /// A command other than running.
    #[command(subcommand)]
    pub command: Option<SuiteVerb>,
    /// What is run, and how.
    #[command(flatten)]
    pub run: SuiteRunArgs,
}

/// The commands of `play suite` other than running. A folder with the name of a command is given as `./report`.
#[derive(Subcommand, Clone, Debug)]
pub enum SuiteVerb {
    /// Merge the reports of all shards into one, and exit with the worst verdict
    Report(SuiteReportArgs),
    /// Hold a system under test for cases (used by play suite)
    #[command(hide = true)]
    HoldSystem(HoldSystemArgs),
}

/// The arguments of `play suite hold-system`.
#[derive(Args, Clone, Debug)]
pub struct HoldSystemArgs {
    /// Folder for the files of the system
    #[arg(long, value_name = "DIR")]
    pub run_dir: PathBuf,
    /// How long CMD has to end when it is asked to
    #[arg(long, value_name = "SPAN", default_value = "5", value_parser = parse_span)]
    pub grace: Duration,
    /// The program under test
    #[arg(last = true, value_name = "CMD", required = true)]
    pub command: Vec<OsString>,
}

/// What is run, and how.
#[derive(Args, Clone, Debug)]
pub struct SuiteRunArgs {
    /// Folders of scenarios, and scenario files (TOML)
    #[arg(value_name = "DIR")]
    pub paths: Vec<PathBuf>,
    /// How many runs there are at once
    #[arg(short, long, value_name = "N", default_value = "1")]
    pub jobs: NonZeroUsize,
    /// Only cases whose name matches this regular expression; tag:WORD: cases with this tag
    #[arg(long, value_name = "REGEX")]
    pub filter: Vec<SuiteFilter>,
    /// Only a part of the suite: M/N, or auto (from the environment), or auto/N; hash:… cuts by name
    #[arg(long, value_name = "M/N")]
    pub partition: Option<PartitionArg>,
    /// An earlier report (NDJSON or JUnit) with the times of cases, for cutting
    #[arg(long, value_name = "FILE")]
    pub timings: Option<PathBuf>,
    /// Run each case N times: its rate of failure, and whether its outputs are equal
    #[arg(long, value_name = "N", default_value = "1")]
    pub repeat: NonZeroU32,
    /// Start no more cases after one has failed
    #[arg(long)]
    pub fail_fast: bool,
    /// The longest wall time of a run whose scenario has no timeout
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    pub timeout: Option<Duration>,
    /// Time between TERM and KILL for a run
    #[arg(long, value_name = "SPAN", default_value = "20", value_parser = parse_span)]
    pub grace: Duration,
    /// Folder for the reports of shards and the files of runs
    #[arg(long, value_name = "DIR", default_value = "bagplay-suite")]
    pub out: PathBuf,
    /// Print the cases and their shards, and run nothing
    #[arg(long)]
    pub list: bool,
    /// Write the references that scenarios name, instead of comparing with them
    #[arg(long, conflicts_with = "repeat")]
    pub update_golden: bool,
    /// Program that gets the command line of each run, instead of this one: to run it in a container, for instance
    #[arg(long, value_name = "PROGRAM")]
    pub runner: Option<PathBuf>,
    /// The reports.
    #[command(flatten)]
    pub reports: ReportFiles,
}

/// The arguments of `play suite report`.
#[derive(Args, Clone, Debug)]
pub struct SuiteReportArgs {
    /// Reports of all shards with all their attempts (NDJSON), and folders of them
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The reports.
    #[command(flatten)]
    pub reports: ReportFiles,
}

/// Where reports are written.
#[derive(Args, Clone, PartialEq, Eq, Debug, Default)]
#[command(next_help_heading = "Reports")]
pub struct ReportFiles {
    /// Write a report in the JUnit format
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a report in JSON
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write a report in Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write a report as one HTML page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl ReportFiles {
    /// The files that are named, with their flags.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let all = [
            ("--junit", &self.junit),
            ("--report", &self.report),
            ("--markdown", &self.markdown),
            ("--html", &self.html),
        ];
        all.into_iter()
            .filter_map(|(flag, file)| Some((flag, file.as_deref()?)))
    }
}

/// Which cases are run.
#[derive(Clone, Debug)]
pub struct SuiteFilter {
    text: String,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Tag(String),
    Name(regex::Regex),
}

/// A text that is no filter.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", Foreign::text(reason))]
pub struct InvalidFilter {
    reason: String,
}

impl FromStr for SuiteFilter {
    type Err = InvalidFilter;

    fn from_str(text: &str) -> Result<Self, InvalidFilter> {
        let what = match text.strip_prefix("tag:") {
            Some(tag) => What::Tag(tag.to_owned()),
            None => What::Name(regex::Regex::new(text).map_err(|error| {
                let reason = error.to_string();
                let last = reason.lines().last().unwrap_or_default();
                InvalidFilter {
                    reason: last.trim_start_matches("error: ").to_owned(),
                }
            })?),
        };
        Ok(Self {
            text: text.to_owned(),
            what,
        })
    }
}

impl SuiteFilter {
    /// As it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it selects a case.
    pub fn selects(&self, case: &Case) -> bool {
        match &self.what {
            What::Tag(tag) => case.tags.contains(tag),
            What::Name(name) => self.text == case.name || name.is_match(&case.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use clap::{ArgAction, CommandFactory as _, Parser as _};

    use super::*;
    use crate::ci::suite::scenario::{FLAG_KEYS, NOT_KEYS, OWN_KEYS, Scenario, Shape};
    use crate::cli::args::flags::Cli;
    use crate::cli::args::verbs::verb::Verb;

    #[test]
    fn a_filter_selects_by_name_or_tag() {
        let text = "bags = 'a'\ntags = ['smoke', 'gpu']";
        let scenario = Scenario::parse(Path::new("a.toml"), "slam/fast", text, &|_| None).unwrap();
        for (filter, is_selected) in [
            ("slam", true),
            ("^fast", false),
            ("fast$", true),
            ("tag:smoke", true),
            ("tag:smok", false),
            ("tag:", false),
            ("slam/fast", true),
        ] {
            let filter: SuiteFilter = filter.parse().unwrap();
            assert_eq!(
                filter.selects(&scenario.cases[0]),
                is_selected,
                "{filter:?}"
            );
        }
        let error = "(".parse::<SuiteFilter>().unwrap_err();
        assert_eq!(error.to_string(), "unclosed group");
    }

    #[test]
    fn running_and_reporting_are_told_apart() {
        let suite = |words: &str| {
            let cli = Cli::try_parse_from(words.split(' ')).unwrap();
            let Some(Verb::Suite(args)) = cli.command else {
                panic!("{cli:?}")
            };
            args
        };
        let run = suite("play suite a b -j 4 --partition auto/8 --junit x.xml");
        assert!(run.command.is_none());
        assert_eq!((run.run.paths.len(), run.run.jobs.get()), (2, 4));
        let report = suite("play suite report 1.ndjson out --html x.html");
        let Some(SuiteVerb::Report(args)) = report.command else {
            panic!("{report:?}")
        };
        assert_eq!((args.files.len(), args.reports.html.is_some()), (2, true));
        assert!(Cli::try_parse_from(["play", "suite", "a", "-j", "0"]).is_err());
        assert!(Cli::try_parse_from(["play", "suite", "a", "--partition", "9/8"]).is_err());
        assert!(Cli::try_parse_from(["play", "suite", "report"]).is_err());
    }

    #[test]
    fn each_flag_of_a_run_is_a_key_of_scenarios_or_stands_in_the_other_table() {
        let command = Cli::command();
        let flags = command.get_arguments().filter_map(clap::Arg::get_long);
        let is_known = |flag: &&str| {
            FLAG_KEYS
                .iter()
                .chain(OWN_KEYS)
                .any(|key| key.name == *flag)
                || NOT_KEYS.contains(flag)
        };
        let unknown: Vec<&str> = flags.filter(|flag| !is_known(flag)).collect();
        assert!(
            unknown.is_empty(),
            "in neither table of scenario/keys.rs: {unknown:?}"
        );
    }

    #[test]
    fn the_shape_of_a_key_is_that_of_its_flag() {
        let command = Cli::command();
        let flags = command.get_arguments();
        let flags = flags.filter_map(|arg| Some((arg.get_long()?, arg.get_action())));
        let flags: BTreeMap<&str, &ArgAction> = flags.collect();
        for key in FLAG_KEYS {
            let Some(action) = flags.get(key.name) else {
                continue;
            };
            let is_list = matches!(key.shape, Shape::List | Shape::Files | Shape::OptionalList);
            assert_eq!(matches!(action, ArgAction::Append), is_list, "{}", key.name);
            let is_switch = key.shape == Shape::Switch;
            assert_eq!(
                matches!(action, ArgAction::SetTrue),
                is_switch,
                "{}",
                key.name
            );
        }
    }

    #[test]
    fn the_words_of_a_scenario_are_read_as_they_are_meant() {
        let text = "bags = 'a.mcap'\nclock = true\nrate = 'max'\nstart = '-5s'\ntopics = ['/a', '/b']\nwait-for-subscribers = true\nstrict = true";
        let scenario = Scenario::parse(Path::new("s/a.toml"), "a", text, &|_| None).unwrap();
        let words = scenario.cases[0].words(Path::new("run"), &[]);
        let cli = Cli::read([OsString::from("play")].into_iter().chain(words)).unwrap();
        let play = cli.play;
        assert_eq!(play.bags, [Path::new("s/a.mcap")]);
        assert_eq!(play.clock.clock, Some(40.0));
        assert_eq!(play.topics.selection.topics, ["/a", "/b"]);
        assert_eq!(play.topics.wait_for_subscribers, [""]);
        assert!(play.time.strict && play.time.start.is_some());
    }
}
