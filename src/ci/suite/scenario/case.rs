//! [`Case`]: one run of a scenario, and the words of the command line that it stands for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::ScenarioError;
use crate::ci::judge::compare::Rules;
use crate::time::Duration;

/// One run of a scenario, with one combination of its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// Its name: that of the scenario and the values of its parameters, `slam[depth=10,rate=2]`.
    pub name: String,
    /// The file of the scenario.
    pub scenario: PathBuf,
    /// Words by which it can be selected.
    pub tags: Vec<String>,
    /// What is played.
    pub bags: Vec<PathBuf>,
    /// The program under test and its arguments; empty if it is not started here.
    pub command: Vec<String>,
    /// Environment variables of the program under test.
    pub env: BTreeMap<String, String>,
    /// The longest wall time of a run.
    pub timeout: Option<Duration>,
    /// Whether the program under test stays for other cases.
    pub stays: bool,
    /// The commands that reset it between two runs.
    pub reset: Vec<Vec<String>>,
    /// The longest wall time of each of them.
    pub reset_timeout: Duration,
    pub(super) flags: Vec<Flag>,
    /// Switches that are off by a word of the scenario.
    pub(super) off: BTreeSet<&'static str>,
}

/// A flag of `play` in a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Flag {
    pub(super) name: &'static str,
    pub(super) value: Option<OsString>,
    pub(super) role: Role,
    /// Line and column of its value in the file of the scenario, from 1.
    pub(super) place: (usize, usize),
}

/// What the value of a flag is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// A file that is read.
    Read,
    /// A file that is written, relative to the folder of the run.
    Written,
    Other,
}

impl Case {
    /// The words of the command line, without the name of the program. Files that the run writes go to `run_dir`.
    /// `more` are further flags, for all cases of a suite; a switch among them that the scenario names, on or off, is
    /// left as the scenario has it. `--update-golden` is left out of a case that has no reference.
    pub fn words(&self, run_dir: &Path, more: &[OsString]) -> Vec<OsString> {
        // The bags first: `--clock` without a value would take a name that follows it.
        let mut words: Vec<OsString> = self.bags.iter().map(guarded).collect();
        for flag in &self.flags {
            let mut word = OsString::from(format!("--{}", flag.name));
            if let Some(value) = &flag.value {
                word.push("=");
                if flag.role == Role::Written {
                    word.push(run_dir.join(value));
                } else {
                    word.push(value);
                }
            }
            words.push(word);
        }
        let is_said = |word: &&OsString| {
            let name = word.to_str().and_then(|word| word.strip_prefix("--"));
            let is_said = |name| self.off.contains(name) || self.has(name);
            let is_void = |name| name == "update-golden" && !self.has("golden");
            name.is_some_and(|name| is_said(name) || is_void(name))
        };
        words.extend(more.iter().filter(|word| !is_said(word)).cloned());
        if !self.command.is_empty() {
            words.push("--".into());
            words.extend(self.program());
        }
        words
    }

    /// The case without these flags.
    #[must_use]
    pub fn without(mut self, flags: &BTreeSet<String>) -> Self {
        self.flags.retain(|flag| !flags.contains(flag.name));
        self.off.retain(|name| !flags.contains(*name));
        self
    }

    /// The words of the program under test, with its environment.
    pub fn program(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        if !self.env.is_empty() {
            words.push("env".into());
            let set = |(name, value): (&String, &String)| format!("{name}={value}").into();
            words.extend(self.env.iter().map(set));
        }
        words.extend(self.command.iter().map(OsString::from));
        words
    }

    /// Cases that stay on one system have this in common: its program, and how long it has to end.
    pub fn system(&self) -> Option<(Vec<OsString>, Option<&OsString>)> {
        let grace = self.values("grace").next();
        self.stays.then(|| (self.program(), grace))
    }

    /// The error that the words of this case are refused: the first paragraph of `reason`, with the place of the first
    /// flag that it names, and the name of the case if that has parameters.
    pub fn refused(&self, reason: &str) -> ScenarioError {
        let lines = reason.trim_start_matches("error: ").lines();
        let lines = lines.take_while(|line| !line.trim().is_empty());
        let reason = lines.map(str::trim).collect::<Vec<_>>().join(" ");
        let named_at = |flag: &Flag| {
            let name = format!("--{}", flag.name);
            let is_end =
                |rest: &str| !rest.starts_with(|it: char| it.is_alphanumeric() || it == '-');
            let mut places = reason.match_indices(&name);
            places.find_map(|(at, name)| is_end(&reason[at + name.len()..]).then_some(at))
        };
        let named = self
            .flags
            .iter()
            .filter_map(|flag| Some((named_at(flag)?, flag.place)));
        let place = named.min().map(|(_, place)| place);
        let reason = if self.name.ends_with(']') {
            format!("{}: {reason}", self.name)
        } else {
            reason
        };
        ScenarioError::new(&self.scenario, place, &reason)
    }

    /// Whether the scenario has this flag.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|it| it.name == flag)
    }

    /// The values of a flag, in the order of the file.
    pub fn values(&self, flag: &str) -> impl Iterator<Item = &OsString> {
        let of_name = self.flags.iter().filter(move |it| it.name == flag);
        of_name.filter_map(|it| it.value.as_ref())
    }

    /// The files that it reads besides its recordings: references, expectations, configuration.
    pub fn needs(&self) -> impl Iterator<Item = &Path> {
        let read = self.flags.iter().filter(|flag| flag.role == Role::Read);
        read.filter_map(|flag| flag.value.as_deref().map(Path::new))
    }

    /// The files that it reads besides its recordings, if they are there: also the rules beside a reference.
    pub fn reads(&self) -> impl Iterator<Item = PathBuf> {
        let golden = self.values("golden").map(Path::new);
        let rules = golden.map(Rules::file_beside);
        self.needs().map(Path::to_owned).chain(rules)
    }

    /// A name for the folder of its run: letters, digits, `.`, `_` and `-`; different for different cases.
    pub fn folder(&self) -> String {
        let plain = |it: char| {
            if it.is_ascii_alphanumeric() || "._-".contains(it) {
                it
            } else {
                '-'
            }
        };
        let short: String = self
            .name
            .trim_start_matches('.')
            .chars()
            .map(plain)
            .take(100)
            .collect();
        if short == self.name {
            return short;
        }
        let digest = xxhash_rust::xxh3::xxh3_64(self.name.as_bytes());
        format!("{short}-{digest:016x}")
    }
}

/// A path that no command line takes for a flag.
fn guarded(path: &PathBuf) -> OsString {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        return Path::new(".").join(path).into();
    }
    path.into()
}
