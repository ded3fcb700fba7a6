//! [`Runner`]: how cases are run, and the command line of each run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::case_process::RunFiles;
use super::system_process::LONGEST_END;
use crate::ci::suite::scenario::Case;

/// How cases are run.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The program that gets the words of each case: `play`, or one that takes the same command line.
    pub program: PathBuf,
    /// Flags of every case, besides `--isolated` and, on Linux, `--lockstep` for cases that name what is under test. A
    /// switch that a scenario names, on or off, is left as the scenario has it.
    pub more: Vec<OsString>,
    /// The folder for the files of all runs; it is made.
    pub folder: PathBuf,
    /// The program that holds a system for several cases, `play`, and the folder for the files of these systems.
    /// `None`: a system is started for each run, also if its scenario says that it stays.
    pub holder: Option<(PathBuf, PathBuf)>,
    /// How many runs there are at once, at least 1.
    pub jobs: usize,
    /// How often each case is run, at least 1.
    pub repeat: u32,
    /// Whether no case is started after one has failed.
    pub fail_fast: bool,
    /// The longest wall time of a run whose case has none.
    pub timeout: Option<Duration>,
    /// How long a run may take to end after SIGTERM; longer if its scenario gives the program under test more time.
    pub grace: Duration,
}

impl Runner {
    pub(super) fn files(&self, case: &Case, repetition: u32) -> RunFiles {
        let own = self.folder.join(case.folder());
        let own = if self.repeat > 1 {
            own.join(repetition.to_string())
        } else {
            own
        };
        RunFiles::in_folder(&own)
    }

    /// How long a run of a case may take to end after SIGTERM.
    pub(super) fn grace_of(&self, case: &Case) -> Duration {
        let own = grace(case).map(|grace| grace.saturating_add(LONGEST_END));
        own.map_or(self.grace, |own| own.max(self.grace))
    }

    /// The words that the program gets for the first run of a case.
    pub fn words(&self, case: &Case) -> Vec<OsString> {
        self.words_with(case, &self.files(case, 1))
    }

    pub(super) fn words_with(&self, case: &Case, files: &RunFiles) -> Vec<OsString> {
        let flag = |name: &str, path: &Path| {
            let mut word = OsString::from(format!("--{name}="));
            word.push(path);
            word
        };
        let own = [
            flag("run-dir", &files.folder),
            flag("report", &files.report),
        ];
        let more = own.into_iter().chain(defaults(case));
        let more: Vec<OsString> = more.chain(self.more.iter().cloned()).collect();
        case.words(&files.folder, &more)
    }
}

/// How long the program under test has to end, if the scenario says it.
pub(super) fn grace(case: &Case) -> Option<Duration> {
    let text = case.values("grace").next().and_then(|text| text.to_str());
    let span = text.and_then(|text| crate::time::parse_span(text).ok());
    span.map(crate::time::Duration::to_std)
}

/// The flags that a case of a suite has unless its scenario says otherwise.
fn defaults(case: &Case) -> Vec<OsString> {
    let is_known = !case.command.is_empty() || case.has("pid") || case.has("cgroup");
    let lockstep = (cfg!(target_os = "linux") && is_known).then_some("--lockstep");
    // Processes that run already cannot be told of another router.
    let isolated = (!case.command.is_empty()).then_some("--isolated");
    let flags = isolated.into_iter().chain(lockstep);
    flags.map(OsString::from).collect()
}
