//! [`Runner`]: runs cases side by side and says what became of each.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, at, bounded, never, select};

use super::case_process::{CaseProcess, RunFiles};
use super::outcome;
use crate::ci::report::RunRecord;
use crate::ci::suite::repetitions::fold;
use crate::ci::suite::scenario::Case;
use crate::ci::suite::shard_file::Why;
use crate::untrusted::Foreign;

/// How cases are run.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The program that gets the words of each case: `play`, or one that takes the same command line.
    pub program: PathBuf,
    /// Flags of every case, besides `--isolated` and, on Linux, `--lockstep` for cases that name what is under test. A switch
    /// that a scenario names, on or off, is left as the scenario has it.
    pub more: Vec<OsString>,
    /// The folder for the files of all runs; it is made.
    pub folder: PathBuf,
    /// How many runs there are at once, at least 1.
    pub jobs: usize,
    /// How often each case is run, at least 1.
    pub repeat: u32,
    /// Whether no case is started after one has failed.
    pub fail_fast: bool,
    /// The longest wall time of a run whose case has none.
    pub timeout: Option<Duration>,
    /// How long a run may take to end after SIGTERM.
    pub grace: Duration,
}

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A run begins.
    Started {
        /// The place of its case in the list.
        case: usize,
        /// The number of the repetition, from 1.
        repetition: u32,
    },
    /// A run has ended.
    RunEnded {
        /// The place of its case in the list.
        case: usize,
        /// The number of the repetition, from 1.
        repetition: u32,
    },
    /// All runs of a case have ended.
    CaseEnded {
        /// The place of the case in the list.
        case: usize,
        /// What became of it.
        record: &'a RunRecord,
    },
}

/// How running ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finished<T> {
    /// Why.
    pub why: Why,
    /// How many cases have a record.
    pub cases: usize,
    /// The message that interrupted it.
    pub stopped_by: Option<T>,
}

/// Why running ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunnerError {
    /// The folder for the files of the runs cannot be made.
    #[error("{}: {error}", Foreign::path(folder))]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// What happens could not be told.
    #[error(transparent)]
    Told(io::Error),
}

impl Runner {
    /// Runs the cases in their order. Returns when all processes have ended: after a message from `stop` they are asked
    /// to end, and no others are started. If `tell` fails, it is the same.
    pub fn run<T>(
        &self,
        cases: &[&Case],
        stop: &Receiver<T>,
        tell: &mut dyn FnMut(Event<'_>) -> io::Result<()>,
    ) -> Result<Finished<T>, RunnerError> {
        fs::create_dir_all(&self.folder).map_err(|error| RunnerError::Folder {
            folder: self.folder.clone(),
            error,
        })?;
        let (ended, endings) = bounded(self.jobs.max(1));
        let mut state = State {
            runner: self,
            cases,
            next: (0, 1),
            started: 0,
            running: BTreeMap::new(),
            records: BTreeMap::new(),
            finished: 0,
            why: Why::Complete,
            failure: None,
            ended,
        };
        let (mut stop, mut stopped_by) = (stop.clone(), None);
        loop {
            state.start_more(tell);
            if state.running.is_empty() && state.next_run().is_none() {
                break;
            }
            let deadline = state.running.values().filter_map(|run| run.deadline).min();
            let timer = deadline.map_or_else(never, at);
            select! {
                recv(endings) -> number => {
                    if let Ok(number) = number {
                        state.take_end(number, tell);
                    }
                }
                recv(stop) -> asked => {
                    if let Ok(asked) = asked {
                        state.interrupt();
                        stopped_by = Some(asked);
                    }
                    // Once is enough, and a channel without a sender would be ready for ever.
                    stop = never();
                }
                recv(timer) -> _ => state.end_late_ones(),
            }
        }
        state.fold_rest(tell);
        match state.failure {
            Some(error) => Err(RunnerError::Told(error)),
            None => Ok(Finished {
                why: state.why,
                cases: state.finished,
                stopped_by,
            }),
        }
    }

    fn files(&self, case: &Case, repetition: u32) -> RunFiles {
        let own = self.folder.join(case.folder());
        let own = if self.repeat > 1 {
            own.join(repetition.to_string())
        } else {
            own
        };
        RunFiles::in_folder(&own)
    }

    /// The words that the program gets for the first run of a case.
    pub fn words(&self, case: &Case) -> Vec<OsString> {
        self.words_with(case, &self.files(case, 1))
    }

    fn words_with(&self, case: &Case, files: &RunFiles) -> Vec<OsString> {
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

/// The flags that a case of a suite has unless its scenario says otherwise.
fn defaults(case: &Case) -> Vec<OsString> {
    let is_known = !case.command.is_empty() || case.has("pid") || case.has("cgroup");
    let lockstep = (cfg!(target_os = "linux") && is_known).then_some("--lockstep");
    // Processes that run already cannot be told of another router.
    let isolated = (!case.command.is_empty()).then_some("--isolated");
    let flags = isolated.into_iter().chain(lockstep);
    flags.map(OsString::from).collect()
}

struct State<'a> {
    runner: &'a Runner,
    cases: &'a [&'a Case],
    /// The case and the repetition that are started next.
    next: (usize, u32),
    started: u64,
    running: BTreeMap<u64, CaseProcess>,
    /// The records of cases of which not all runs have ended.
    records: BTreeMap<usize, Vec<RunRecord>>,
    finished: usize,
    why: Why,
    failure: Option<io::Error>,
    ended: Sender<u64>,
}

impl State<'_> {
    fn next_run(&self) -> Option<(usize, u32)> {
        let is_going_on = match self.why {
            Why::Complete => self.failure.is_none(),
            // The repetitions of a case that has begun are needed for its rate.
            Why::FailFast => self.failure.is_none() && self.next.1 > 1,
            Why::Interrupted => false,
        };
        Some(self.next).filter(|(case, _)| is_going_on && *case < self.cases.len())
    }

    fn start_more(&mut self, tell: &mut dyn FnMut(Event<'_>) -> io::Result<()>) {
        while self.running.len() < self.runner.jobs.max(1)
            && let Some((at, repetition)) = self.next_run()
        {
            self.next = if repetition < self.runner.repeat {
                (at, repetition + 1)
            } else {
                (at + 1, 1)
            };
            self.tell(
                tell,
                Event::Started {
                    case: at,
                    repetition,
                },
            );
            let case = self.cases[at];
            let files = self.runner.files(case, repetition);
            let mut command = Command::new(&self.runner.program);
            command.args(self.runner.words_with(case, &files));
            let now = now();
            let own = case.timeout.map(crate::time::Duration::to_std);
            let deadline = own
                .or(self.runner.timeout)
                .and_then(|timeout| now.checked_add(timeout));
            let number = self.started;
            self.started += 1;
            let ended = (number, self.ended.clone());
            match CaseProcess::start(command, (at, repetition), files, (now, deadline), ended) {
                Ok(process) => {
                    self.running.insert(number, process);
                }
                Err(error) => {
                    let record =
                        outcome::not_started(case, repetition, &self.runner.program, &error);
                    self.take_record(at, record, tell);
                }
            }
        }
    }

    fn take_end(&mut self, number: u64, tell: &mut dyn FnMut(Event<'_>) -> io::Result<()>) {
        let Some(mut process) = self.running.remove(&number) else {
            return;
        };
        let at = process.case;
        let case = self.cases[at];
        let took = now().saturating_duration_since(process.began);
        let record = match process.wait() {
            Ok(status) => outcome::record(case, &process, status, took),
            Err(error) => {
                outcome::not_started(case, process.repetition, &self.runner.program, &error)
            }
        };
        self.take_record(at, record, tell);
    }

    fn take_record(
        &mut self,
        case: usize,
        record: RunRecord,
        tell: &mut dyn FnMut(Event<'_>) -> io::Result<()>,
    ) {
        let repetition = record.repetition;
        if record.exit_code != 0 && self.runner.fail_fast && self.why == Why::Complete {
            self.why = Why::FailFast;
        }
        self.tell(tell, Event::RunEnded { case, repetition });
        let records = self.records.entry(case).or_default();
        records.push(record);
        if records.len() as u64 == u64::from(self.runner.repeat.max(1)) {
            self.finish(case, tell);
        }
    }

    fn finish(&mut self, case: usize, tell: &mut dyn FnMut(Event<'_>) -> io::Result<()>) {
        let mut records = self.records.remove(&case).unwrap_or_default();
        records.sort_by_key(|record| record.repetition);
        if let Some(record) = fold(records) {
            self.finished += 1;
            self.tell(
                tell,
                Event::CaseEnded {
                    case,
                    record: &record,
                },
            );
        }
    }

    /// Cases of which not all runs were started. One that has not failed in the runs that there are is as good as not run.
    fn fold_rest(&mut self, tell: &mut dyn FnMut(Event<'_>) -> io::Result<()>) {
        self.records
            .retain(|_, records| records.iter().any(|record| record.exit_code != 0));
        let left: Vec<usize> = self.records.keys().copied().collect();
        for case in left {
            self.finish(case, tell);
        }
        let is_left_out = self.next.0 < self.cases.len();
        if self.why == Why::FailFast && !is_left_out {
            self.why = Why::Complete;
        }
    }

    fn tell(&mut self, tell: &mut dyn FnMut(Event<'_>) -> io::Result<()>, event: Event<'_>) {
        if let Err(error) = tell(event) {
            self.failure.get_or_insert(error);
            self.interrupt();
        }
    }

    fn interrupt(&mut self) {
        self.why = Why::Interrupted;
        let now = now();
        for process in self.running.values_mut() {
            process.ask_to_end(now, self.runner.grace);
        }
    }

    fn end_late_ones(&mut self) {
        let now = now();
        let is_late =
            |process: &&mut CaseProcess| process.deadline.is_some_and(|deadline| deadline <= now);
        for process in self.running.values_mut().filter(is_late) {
            process.take_next_step(now, self.runner.grace);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "time limits of processes are in wall time"
)]
fn now() -> Instant {
    Instant::now()
}
