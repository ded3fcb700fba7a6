//! The runs of a suite that share systems: what is done when one of their processes has ended.

use std::process::Command;
use std::time::Duration;

use super::chain::After;
use super::command::grace;
use super::event::Event;
use super::outcome;
use super::state::{State, Tell};
use super::system_process::{News, SystemProcess};
use super::wall::now;
use crate::ci::report::RunRecord;
use crate::ci::suite::system::{Said, Told};

/// How long a program has to end, if its scenario says nothing else.
const GRACE: Duration = Duration::from_secs(5);

/// What a chain does next.
enum Next {
    StartSystem,
    StartRun,
    EndSystem,
    Wait,
    Over,
}

impl State<'_> {
    /// Takes the next step of a chain in which nothing runs.
    pub(super) fn go_on(&mut self, number: u64, tell: Tell<'_>) {
        loop {
            let Some(chain) = self.chains.get_mut(&number) else {
                return;
            };
            let (is_held_up, next) = (
                chain.is_running || chain.waiting.is_some(),
                chain.left.front().copied(),
            );
            let system = chain.system.as_ref().map(|system| {
                let is_up = system.is_up();
                (
                    is_up,
                    !is_up && (system.held.is_some() || system.exit.is_some()),
                )
            });
            let run = next.filter(|(_, repetition)| self.may_begin(*repetition));
            let next = match (system, run) {
                _ if is_held_up => Next::Wait,
                (None, None) => Next::Over,
                (None, Some(_)) => Next::StartSystem,
                (Some((true, _)), Some(_)) => Next::StartRun,
                (Some((_, true)), _) | (Some(_), None) => Next::EndSystem,
                (Some((false, false)), Some(_)) => Next::Wait,
            };
            match (next, run) {
                (Next::StartSystem, Some((at, repetition))) => {
                    if self.start_system(number, at, repetition, tell) {
                        return;
                    }
                }
                (Next::StartRun, Some((at, repetition))) => {
                    if self.start_in_chain(number, at, repetition, tell) {
                        return;
                    }
                }
                (Next::EndSystem, _) => return self.end_system(number),
                (Next::Over, _) => {
                    let chain = self.chains.remove(&number);
                    self.is_left_out |= chain.is_some_and(|chain| !chain.left.is_empty());
                    return;
                }
                (Next::Wait | Next::StartSystem | Next::StartRun, _) => return,
            }
        }
    }

    /// Starts the process that holds the system of a chain; if that fails, its next run has failed.
    fn start_system(&mut self, number: u64, at: usize, repetition: u32, tell: Tell<'_>) -> bool {
        let Some((program, folder)) = &self.runner.holder else {
            return false;
        };
        self.held += 1;
        let own = folder.join(self.held.to_string());
        let case = self.cases[at];
        let mut command = Command::new(program);
        let mut run_dir = std::ffi::OsString::from("--run-dir=");
        run_dir.push(own.join("run"));
        command.args(["suite", "hold-system"]).arg(run_dir);
        if let Some(grace) = case.values("grace").next() {
            let mut word = std::ffi::OsString::from("--grace=");
            word.push(grace);
            command.arg(word);
        }
        command.arg("--").args(case.program());
        let news = (number, self.news.clone());
        let grace = grace(case).unwrap_or(GRACE);
        let started = SystemProcess::start(command, &own.join("system.log"), grace, news);
        match started {
            Ok(system) => {
                if let Some(chain) = self.chains.get_mut(&number) {
                    chain.system = Some(system);
                }
                true
            }
            Err(error) => {
                let record = outcome::not_started(case, repetition, program, &error);
                self.drop_next(number);
                self.take_record(at, record, tell);
                false
            }
        }
    }

    fn drop_next(&mut self, number: u64) {
        if let Some(chain) = self.chains.get_mut(&number) {
            chain.left.pop_front();
        }
    }

    fn start_in_chain(&mut self, number: u64, at: usize, repetition: u32, tell: Tell<'_>) -> bool {
        let case = self.cases[at];
        let Some(chain) = self.chains.get_mut(&number) else {
            return false;
        };
        chain.left.pop_front();
        let held = chain.system.as_ref().and_then(|system| system.held.clone());
        let told = chain.told(case, held.unwrap_or_default());
        chain.is_running = true;
        let is_started = self.start(at, repetition, Some((number, told)), tell);
        if !is_started && let Some(chain) = self.chains.get_mut(&number) {
            chain.is_running = false;
        }
        is_started
    }

    fn end_system(&mut self, number: u64) {
        if let Some(chain) = self.chains.get_mut(&number) {
            chain.is_lost();
            if let Some(system) = &mut chain.system {
                system.end(now());
            }
        }
    }

    /// A run on a system has ended.
    pub(super) fn take_end_in_chain(
        &mut self,
        number: u64,
        at: usize,
        record: RunRecord,
        tell: Tell<'_>,
    ) {
        let Some(chain) = self.chains.get_mut(&number) else {
            return self.take_record(at, record, tell);
        };
        let after = chain.ended(&record);
        let repetition = record.repetition;
        if after == After::Again && self.may_begin(2) {
            if let Some(chain) = self.chains.get_mut(&number) {
                chain.left.push_front((at, repetition));
            }
            self.tell(
                tell,
                Event::RunEnded {
                    case: at,
                    repetition,
                },
            );
            self.end_system(number);
            return self.go_on(number, tell);
        }
        self.take_failure(&record);
        let next = self
            .chains
            .get(&number)
            .and_then(|chain| chain.left.front());
        let is_last = next.is_none_or(|(_, repetition)| !self.may_begin(*repetition));
        let chain = self.chains.get_mut(&number);
        if let Some(chain) = chain.filter(|_| is_last || after != After::GoOn)
            && let Some(system) = &mut chain.system
        {
            // The record of the last run on a system has what is to be said of its end.
            system.end(now());
            chain.waiting = Some((at, record));
        } else {
            self.take_record(at, record, tell);
        }
        self.go_on(number, tell);
    }

    /// Something happened to the process that holds the system of a chain.
    pub(super) fn take_news(&mut self, number: u64, news: News, tell: Tell<'_>) {
        let Some(chain) = self.chains.get_mut(&number) else {
            return;
        };
        match (news, &mut chain.system) {
            (News::Said(Said::Started(held)), Some(system)) => system.has_started(held),
            (News::Said(Said::Over(over)), Some(system)) => system.over = over,
            (News::Said(Said::Ended(exit)), Some(system)) => {
                system.exit = Some(exit.clone());
                self.tell_run(number, &Told::Ended(exit));
            }
            (News::Gone, Some(_)) => self.take_end_of_system(number, tell),
            (_, None) => {}
        }
        self.go_on(number, tell);
    }

    fn tell_run(&mut self, number: u64, told: &Told) {
        let mut runs = self.running.values_mut();
        if let Some(run) = runs.find(|run| run.chain == Some(number)) {
            run.tell(told);
        }
    }

    fn take_end_of_system(&mut self, number: u64, tell: Tell<'_>) {
        let Some(chain) = self.chains.get_mut(&number) else {
            return;
        };
        let Some(mut system) = chain.take_system() else {
            return;
        };
        let status = system.wait();
        if let Some((at, mut record)) = chain.waiting.take() {
            record.notes.extend(system.over.notes);
            if let Some(child) = &mut record.child {
                child.orphans.extend(system.over.orphans);
            }
            self.take_record(at, record, tell);
        } else if chain.is_running && system.exit.is_none() {
            // The holder was killed: its program may still run, but no process watches it any more.
            self.tell_run(number, &Told::Lost);
        } else if system.held.is_none()
            && !system.is_ending()
            && let Some((at, repetition)) = chain.left.pop_front()
        {
            let case = self.cases[at];
            let late = system.start_took_too_long();
            let record = outcome::no_system(case, repetition, &system.log, (status.ok(), late));
            self.take_record(at, record, tell);
        }
    }
}
