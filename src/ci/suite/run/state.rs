//! [`State`]: what runs, what is still to be run, and what has become of the rest.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::process::Command;
use std::time::Instant;

use crossbeam_channel::Sender;

use super::case_process::CaseProcess;
use super::chain::{Chain, chains};
use super::command::Runner;
use super::event::Event;
use super::outcome;
use super::system_process::News;
use super::wall::now;
use crate::ci::report::RunRecord;
use crate::ci::suite::diverged;
use crate::ci::suite::repetitions::fold;
use crate::ci::suite::scenario::Case;
use crate::ci::suite::shard_file::Why;
use crate::ci::suite::system::SystemOfCase;

/// Is told what happens.
pub(super) type Tell<'t> = &'t mut dyn FnMut(Event<'_>) -> io::Result<()>;

/// The runs of a suite.
pub(super) struct State<'a> {
    pub(super) runner: &'a Runner,
    pub(super) cases: &'a [&'a Case],
    /// The cases that are run by themselves.
    singles: Vec<usize>,
    /// The place among these and the repetition that are started next.
    next: (usize, u32),
    /// The cases that share systems, as long as nothing of them was begun.
    waiting: VecDeque<Chain>,
    /// Those that were begun.
    pub(super) chains: BTreeMap<u64, Chain>,
    pub(super) started: u64,
    /// How many chains were begun.
    begun: u64,
    /// How many systems were started.
    pub(super) held: u64,
    pub(super) running: BTreeMap<u64, CaseProcess>,
    /// The records of cases of which not all runs have ended.
    records: BTreeMap<usize, Vec<RunRecord>>,
    /// Whether some runs of chains were left out.
    pub(super) is_left_out: bool,
    pub(super) finished: usize,
    pub(super) why: Why,
    pub(super) failure: Option<io::Error>,
    ended: Sender<u64>,
    pub(super) news: Sender<(u64, News)>,
}

impl<'a> State<'a> {
    pub(super) fn new(
        runner: &'a Runner,
        cases: &'a [&'a Case],
        ended: Sender<u64>,
        news: Sender<(u64, News)>,
    ) -> Self {
        let (singles, waiting) = match runner.holder {
            Some(_) => chains(cases, runner.jobs, runner.repeat),
            None => ((0..cases.len()).collect(), VecDeque::new()),
        };
        Self {
            runner,
            cases,
            singles,
            next: (0, 1),
            waiting,
            chains: BTreeMap::new(),
            started: 0,
            begun: 0,
            held: 0,
            running: BTreeMap::new(),
            records: BTreeMap::new(),
            is_left_out: false,
            finished: 0,
            why: Why::Complete,
            failure: None,
            ended,
            news,
        }
    }

    /// Whether nothing runs and nothing will.
    pub(super) fn is_over(&self) -> bool {
        let is_idle = self.running.is_empty() && self.chains.is_empty();
        let has_chain = !self.waiting.is_empty() && self.may_begin(1);
        is_idle && !has_chain && self.next_run().is_none()
    }

    /// Whether a run with this number of repetition may begin.
    pub(super) fn may_begin(&self, repetition: u32) -> bool {
        match self.why {
            Why::Complete => self.failure.is_none(),
            // The repetitions of a case that has begun are needed for its rate.
            Why::FailFast => self.failure.is_none() && repetition > 1,
            Why::Interrupted => false,
        }
    }

    /// The instant at which something is ended that takes too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let runs = self.running.values().map(|run| run.deadline);
        let systems = self.chains.values().map(Chain::deadline);
        runs.chain(systems).flatten().min()
    }

    fn next_run(&self) -> Option<(usize, u32)> {
        let (at, repetition) = self.next;
        let case = self.singles.get(at).filter(|_| self.may_begin(repetition));
        case.map(|case| (*case, repetition))
    }

    /// Starts as much as may run at once: first the cases that share systems, because these take longest.
    pub(super) fn start_more(&mut self, tell: Tell<'_>) {
        let most = self.runner.jobs.max(1);
        while self.busy() < most {
            if self.may_begin(1)
                && let Some(chain) = self.waiting.pop_front()
            {
                let number = self.begun;
                self.begun += 1;
                self.chains.insert(number, chain);
                self.go_on(number, tell);
            } else if let Some((at, repetition)) = self.next_run() {
                self.next = if repetition < self.runner.repeat {
                    (self.next.0, repetition + 1)
                } else {
                    (self.next.0 + 1, 1)
                };
                self.start(at, repetition, None, tell);
            } else {
                return;
            }
        }
    }

    /// How many runs and systems there are; a run on a system counts once.
    fn busy(&self) -> usize {
        let runs = self.running.values();
        runs.filter(|run| run.chain.is_none()).count() + self.chains.len()
    }

    /// Starts a run. Returns whether there is a process.
    pub(super) fn start(
        &mut self,
        at: usize,
        repetition: u32,
        system: Option<(u64, SystemOfCase)>,
        tell: Tell<'_>,
    ) -> bool {
        let started = Event::Started {
            case: at,
            repetition,
        };
        self.tell(tell, started);
        let case = self.cases[at];
        let files = self.runner.files(case, repetition);
        let mut command = Command::new(&self.runner.program);
        if system.is_some() {
            command.arg("--held-system");
        }
        command.args(self.runner.words_with(case, &files));
        let now = now();
        let own = case.timeout.map(crate::time::Duration::to_std);
        let deadline = own
            .or(self.runner.timeout)
            .and_then(|timeout| now.checked_add(timeout));
        let number = self.started;
        self.started += 1;
        let ended = (number, self.ended.clone());
        let times = (now, deadline);
        match CaseProcess::start(command, (at, repetition), files, times, ended, system) {
            Ok(process) => {
                self.running.insert(number, process);
                true
            }
            Err(error) => {
                let record = outcome::not_started(case, repetition, &self.runner.program, &error);
                self.take_record(at, record, tell);
                false
            }
        }
    }

    pub(super) fn take_end(&mut self, number: u64, tell: Tell<'_>) {
        let Some(mut process) = self.running.remove(&number) else {
            return;
        };
        let at = process.case;
        let case = self.cases[at];
        let took = now().saturating_duration_since(process.began);
        let mut record = match process.wait() {
            Ok(status) => outcome::record(case, &process, status, took),
            Err(error) => {
                outcome::not_started(case, process.repetition, &self.runner.program, &error)
            }
        };
        if let Some(chain) = process.chain {
            self.take_end_in_chain(chain, at, record, tell);
            return;
        }
        if case.stays {
            record.notes.push(
                "restart = \"never\" has no effect with --runner: the program under test was started for this run"
                    .to_owned(),
            );
        }
        self.take_record(at, record, tell);
    }

    pub(super) fn take_record(&mut self, case: usize, record: RunRecord, tell: Tell<'_>) {
        let repetition = record.repetition;
        self.take_failure(&record);
        self.tell(tell, Event::RunEnded { case, repetition });
        let records = self.records.entry(case).or_default();
        records.push(record);
        if records.len() as u64 == u64::from(self.runner.repeat.max(1)) {
            self.finish(case, tell);
        }
    }

    /// After a failure no case may begin, if that is wanted.
    pub(super) fn take_failure(&mut self, record: &RunRecord) {
        if record.exit_code != 0 && self.runner.fail_fast && self.why == Why::Complete {
            self.why = Why::FailFast;
        }
    }

    fn finish(&mut self, case: usize, tell: Tell<'_>) {
        let mut records = self.records.remove(&case).unwrap_or_default();
        records.sort_unstable_by_key(|record| record.repetition);
        let recorded = diverged::recorded(&records);
        if let Some(mut record) = fold(records) {
            diverged::name_difference(self.cases[case], &recorded, &mut record);
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

    /// Cases of which not all runs were started. One that has not failed in the runs that there are is as good as not
    /// run.
    pub(super) fn fold_rest(&mut self, tell: Tell<'_>) {
        self.records
            .retain(|_, records| records.iter().any(|record| record.exit_code != 0));
        let left: Vec<usize> = self.records.keys().copied().collect();
        for case in left {
            self.finish(case, tell);
        }
        let has_left = self.next.0 < self.singles.len() || !self.waiting.is_empty();
        if self.why == Why::FailFast && !has_left && !self.is_left_out {
            self.why = Why::Complete;
        }
    }

    pub(super) fn tell(&mut self, tell: Tell<'_>, event: Event<'_>) {
        if let Err(error) = tell(event) {
            self.failure.get_or_insert(error);
            self.ask_all_to_end();
        }
    }

    /// Ends what runs, and starts nothing more.
    pub(super) fn interrupt(&mut self, tell: Tell<'_>) {
        self.ask_all_to_end();
        let chains: Vec<u64> = self.chains.keys().copied().collect();
        for chain in chains {
            self.go_on(chain, tell);
        }
    }

    fn ask_all_to_end(&mut self) {
        self.why = Why::Interrupted;
        let now = now();
        for process in self.running.values_mut() {
            let grace = self.runner.grace_of(self.cases[process.case]);
            process.ask_to_end(now, grace);
        }
    }

    pub(super) fn end_late_ones(&mut self) {
        let now = now();
        let is_late =
            |process: &&mut CaseProcess| process.deadline.is_some_and(|deadline| deadline <= now);
        for process in self.running.values_mut().filter(is_late) {
            let grace = self.runner.grace_of(self.cases[process.case]);
            process.take_next_step(now, grace);
        }
        for chain in self.chains.values_mut() {
            chain.end_late_system(now);
        }
    }
}
