//! [`Chain`]: cases that use one system after the other, in an order that does not depend on time.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::time::Instant;

use super::system_process::SystemProcess;
use crate::ci::report::{Ended, Exit, RunRecord};
use crate::ci::suite::scenario::Case;
use crate::ci::suite::system::{Held, SystemOfCase};

/// Whether a run without a report ended before it joined the network.
const fn ends_before_joining(record: &RunRecord) -> bool {
    matches!(Exit::of(record.exit_code), Exit::Usage | Exit::Recording)
}

/// Runs that use one system, and what that system has dealt with.
#[derive(Debug)]
pub(super) struct Chain {
    /// Case and repetition.
    pub(super) left: VecDeque<(usize, u32)>,
    pub(super) system: Option<SystemProcess>,
    /// Whether a run is under way.
    pub(super) is_running: bool,
    /// A run whose record waits for the end of its system.
    pub(super) waiting: Option<(usize, RunRecord)>,
    past: Past,
    /// Why the next case gets a new system.
    pub(super) renewed: Option<String>,
}

/// The runs that a system has dealt with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Past {
    runs: u32,
    last: Option<String>,
    clock_ns: Option<i64>,
}

/// What follows from the end of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// The system goes on.
    GoOn,
    /// The next run needs another system.
    Renew,
    /// The run had not begun when its system ended, so it is begun again on another one.
    Again,
}

/// The cases that are run by themselves, and the chains of the others: at most `jobs` for each system. All are places
/// in the list, and the cases of a chain are in the order of their names.
pub(super) fn chains(cases: &[&Case], jobs: usize, repeat: u32) -> (Vec<usize>, VecDeque<Chain>) {
    let mut singles = Vec::new();
    let mut systems: Vec<Vec<usize>> = Vec::new();
    let mut known: BTreeMap<(Vec<OsString>, Option<&OsString>), usize> = BTreeMap::new();
    for (at, case) in cases.iter().enumerate() {
        match case.system() {
            None => singles.push(at),
            Some(system) => {
                let next = systems.len();
                let number = *known.entry(system).or_insert(next);
                if number == next {
                    systems.push(Vec::new());
                }
                systems[number].push(at);
            }
        }
    }
    let mut chains = VecDeque::new();
    for of_system in systems {
        let number = jobs.clamp(1, of_system.len());
        for first in 0..number {
            // The list has the longest case first.
            let mut own: Vec<usize> = of_system
                .iter()
                .copied()
                .skip(first)
                .step_by(number)
                .collect();
            own.sort_unstable_by_key(|at| &cases[*at].name);
            let runs = own.into_iter();
            let runs = runs.flat_map(|at| (1..=repeat.max(1)).map(move |number| (at, number)));
            chains.push_back(Chain {
                left: runs.collect(),
                system: None,
                is_running: false,
                waiting: None,
                past: Past::default(),
                renewed: None,
            });
        }
    }
    (singles, chains)
}

impl Chain {
    /// What a run of this case is told.
    pub(super) fn told(&mut self, case: &Case, held: Held) -> SystemOfCase {
        SystemOfCase {
            held,
            case: case.name.clone(),
            runs_before: self.past.runs,
            after: self.past.last.clone(),
            clock_ns: self.past.clock_ns,
            started_because: self.renewed.take(),
            reset: case.reset.clone(),
            reset_timeout_ms: u64::try_from(case.reset_timeout.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// A run has ended.
    pub(super) fn ended(&mut self, record: &RunRecord) -> After {
        self.is_running = false;
        let after = self.what_follows(record);
        if self.system.is_none() {
            // It was lost during the run, and the next one is new.
            self.past = Past::default();
        }
        after
    }

    fn what_follows(&mut self, record: &RunRecord) -> After {
        let exit = self.system.as_ref().and_then(|system| system.exit.clone());
        let is_gone = exit.is_some() || self.system.is_none();
        let how = exit.map_or_else(
            || "the process that held it was lost".to_owned(),
            |exit| exit.to_string(),
        );
        let of_case = record.system.as_ref();
        let has_touched = of_case.is_some() || !ends_before_joining(record);
        if !is_gone && !has_touched {
            return After::GoOn;
        }
        if is_gone && self.past.runs > 0 && of_case.is_some_and(|system| !system.has_begun) {
            let last = self.past.last.as_deref().unwrap_or_default();
            self.renewed = Some(format!(
                "the one before it ended after the run of {last}: {how}"
            ));
            return After::Again;
        }
        self.past = Past {
            runs: self.past.runs + 1,
            last: Some(record.name.clone()),
            clock_ns: of_case
                .and_then(|it| it.clock_end_ns)
                .or(self.past.clock_ns),
        };
        let name = &record.name;
        if is_gone {
            // It may have ended after the run was judged.
            let when = if record.exit_code == Exit::Child.code() {
                "in"
            } else {
                "after"
            };
            self.renewed = Some(format!(
                "the one before it ended {when} the run of {name}: {how}"
            ));
            After::Renew
        } else if record.ended != Ended::Complete {
            self.renewed = Some(format!("the run of {name} before it did not reach its end"));
            After::Renew
        } else {
            After::GoOn
        }
    }

    /// The system ended between two runs.
    pub(super) fn is_lost(&mut self) {
        let exit = self.system.as_ref().and_then(|system| system.exit.as_ref());
        if let (Some(exit), Some(last)) = (exit, &self.past.last) {
            self.renewed = Some(format!(
                "the one before it ended after the run of {last}: {exit}"
            ));
        }
    }

    /// When its system is killed, because it has not started in time or does not end.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.system.as_ref().and_then(|system| system.deadline)
    }

    /// Kills its system if that time has come.
    pub(super) fn end_late_system(&mut self, now: Instant) {
        if self.deadline().is_some_and(|deadline| deadline <= now)
            && let Some(system) = &mut self.system
        {
            system.kill();
        }
    }

    /// The process of its system has ended. What the system has dealt with says what follows from the end of a run that
    /// is under way, so it is forgotten after that.
    pub(super) fn take_system(&mut self) -> Option<SystemProcess> {
        if !self.is_running {
            self.past = Past::default();
        }
        self.system.take()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ci::report::SystemRecord;
    use crate::ci::suite::scenario::Scenario;

    fn cases(texts: &[(&str, &str)]) -> Vec<Case> {
        let of = |(name, keys): &(&str, &str)| {
            let text = format!("bags = 'a.mcap'\n{keys}");
            Scenario::parse(Path::new("a.toml"), name, &text, &|_| None)
                .unwrap()
                .cases
        };
        texts.iter().flat_map(of).collect()
    }

    fn named(all: &[Case], chains: &VecDeque<Chain>) -> Vec<String> {
        let run = |(at, number): &(usize, u32)| format!("{}{number}", all[*at].name);
        let runs = |chain: &Chain| chain.left.iter().map(run).collect::<Vec<_>>().join(" ");
        chains.iter().map(runs).collect()
    }

    #[test]
    fn cases_of_one_program_share_as_many_systems_as_there_are_workers() {
        let (one, other) = (
            "command = ['node']\nrestart = 'never'",
            "command = ['node']\nenv = { A = '1' }\nrestart = 'never'",
        );
        let all = cases(&[
            ("d", one),
            ("x", "command = ['node']"),
            ("c", one),
            ("o", other),
            ("b", one),
            ("a", &format!("{one}\nrate = 2")),
            ("g", &format!("{one}\ngrace = '1s'")),
        ]);
        let list: Vec<&Case> = all.iter().collect();
        let (singles, chained) = chains(&list, 1, 1);
        assert_eq!(singles, [1]);
        assert_eq!(named(&all, &chained), ["a1 b1 c1 d1", "o1", "g1"]);
        let (_, chained) = chains(&list, 2, 1);
        assert_eq!(named(&all, &chained), ["b1 d1", "a1 c1", "o1", "g1"]);
        let (_, chained) = chains(&list, 8, 2);
        assert_eq!(
            named(&all, &chained),
            ["d1 d2", "c1 c2", "b1 b2", "a1 a2", "o1 o2", "g1 g2"]
        );
    }

    fn system() -> SystemProcess {
        let folder = tempfile::tempdir().unwrap();
        let (news, _) = crossbeam_channel::bounded(8);
        let mut command = std::process::Command::new("sleep");
        command.arg("1000");
        let log = folder.path().join("system.log");
        SystemProcess::start(command, &log, std::time::Duration::ZERO, (1, news)).unwrap()
    }

    /// The process that holds the system of a chain is killed, also during a run.
    fn lose_system(chain: &mut Chain) {
        let mut system = chain.take_system().unwrap();
        system.kill();
        system.wait().unwrap();
    }

    #[test]
    fn a_new_system_has_dealt_with_nothing() {
        let all = cases(&[("a", "command = ['node']\nrestart = 'never'")]);
        let list: Vec<&Case> = all.iter().collect();
        let mut chain = chains(&list, 1, 1).1.pop_front().unwrap();
        let record = |ended, has_begun| RunRecord {
            name: "a".to_owned(),
            ended,
            system: Some(SystemRecord {
                has_begun,
                clock_end_ns: Some(7),
                ..SystemRecord::default()
            }),
            ..RunRecord::default()
        };
        for (has_begun, after) in [(true, After::Renew), (false, After::Again)] {
            chain.system = Some(system());
            assert_eq!(chain.ended(&record(Ended::Complete, true)), After::GoOn);
            let told = chain.told(&all[0], Held::default());
            assert_eq!((told.runs_before, told.clock_ns), (1, Some(7)));
            chain.is_running = true;
            lose_system(&mut chain);
            assert_eq!(chain.ended(&record(Ended::Failed, has_begun)), after);
            let told = chain.told(&all[0], Held::default());
            assert_eq!(
                (told.runs_before, told.after, told.clock_ns),
                (0, None, None)
            );
            let why = told.started_because.unwrap();
            let said = "the run of a: the process that held it was lost";
            assert!(why.ends_with(said), "{why}");
        }
        // The process ends between two runs.
        chain.system = Some(system());
        assert_eq!(chain.ended(&record(Ended::Complete, true)), After::GoOn);
        lose_system(&mut chain);
        assert_eq!(chain.told(&all[0], Held::default()).runs_before, 0);
    }
}
