//! Ending a program with everything that it started: [`ChildEnd`]. First TERM, after the grace KILL.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use rustix::process::Signal;

use super::ends::exit::ChildExit;
use super::processes::list::Process;
use super::program::Program;
use super::tail::Tail;
use super::wall::{now, pause};
use super::watched::Watched;
use crate::ci::report::ChildRecord;
use crate::untrusted::Foreign;

/// How long processes are waited for that were sent KILL. Only one that waits for a device outlasts it.
const LONGEST_KILL: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// How many looks in a row have to find no process: a list of processes is not made at one instant.
const QUIET_LOOKS: u32 = 2;
/// The same while it is not clear whether a process is one of them: a fifth of a second.
pub(super) const UNCLEAR_LOOKS: u32 = 50;
pub(super) const BETWEEN_QUIET_LOOKS: Duration = Duration::from_millis(4);

/// A process that a program left behind. Displayed as `name (number)`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Orphan {
    /// Its number (PID).
    pub id: u32,
    /// Its name, escaped.
    pub name: String,
}

/// How a program was ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChildEnd {
    /// The name of the program.
    pub name: String,
    /// Its end; `None` if even KILL did not end it.
    pub exit: Option<ChildExit>,
    /// It still ran when it was to be ended, so that its end says nothing about it.
    pub was_running: bool,
    /// The grace, if the program itself did not end within it.
    pub outlasted: Option<Duration>,
    /// Processes that outlived the program, or had left it as daemons, and were ended.
    pub orphans: Vec<Orphan>,
    /// Processes that could not be ended.
    pub left: Vec<Orphan>,
}

impl ChildEnd {
    /// What is worth to be said about it, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let name = Foreign::text(&self.name);
        let outlasted = self.outlasted.map(|grace| {
            format!(
                "{name} did not end within {:.1} s of SIGTERM and was killed",
                grace.as_secs_f64()
            )
        });
        let orphans = (!self.orphans.is_empty()).then(|| {
            format!(
                "{name} left processes behind, which were ended: {}",
                list(&self.orphans)
            )
        });
        let left = (!self.left.is_empty()).then(|| {
            format!(
                "processes of {name} could not be ended: {}",
                list(&self.left)
            )
        });
        outlasted.into_iter().chain(orphans).chain(left).collect()
    }

    /// The same for a report, with the last lines that the program wrote, at most so many of each file.
    pub fn record(&self, program: &Program, lines: usize) -> ChildRecord {
        let ended = match &self.exit {
            _ if self.was_running && self.left.is_empty() => "ended by play".to_owned(),
            Some(exit) => match &exit.reached {
                Some(reached) => format!("ended, because {reached}"),
                None => exit.how.to_string(),
            },
            None => "could not be ended".to_owned(),
        };
        ChildRecord {
            command: program.words(),
            ended,
            tail: Tail::of(program, lines).lines(),
            orphans: self.orphans.iter().map(ToString::to_string).collect(),
        }
    }
}

impl fmt::Display for Orphan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.id)
    }
}

fn list(processes: &[Orphan]) -> String {
    let words: Vec<String> = processes.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// The processes that are to be ended.
#[derive(Debug)]
pub(super) struct Ending<'a> {
    watched: &'a Watched,
    /// Those that were sent TERM.
    told: BTreeSet<i32>,
    orphans: BTreeMap<i32, String>,
}

impl<'a> Ending<'a> {
    pub(super) const fn new(watched: &'a Watched) -> Self {
        Self {
            watched,
            told: BTreeSet::new(),
            orphans: BTreeMap::new(),
        }
    }

    /// Ends all processes, and returns when none is left; after the grace and [`LONGEST_KILL`] at the latest.
    pub(super) fn run(mut self, grace: Duration) -> ChildEnd {
        let was_running = self.watched.is_running();
        let leader = self.watched.leader();
        let outlasted = if self.wait(grace, Self::ask) {
            None
        } else {
            let living = self.watched.living();
            for process in living.iter().filter(|process| process.id != leader) {
                self.name(process);
            }
            let is_outlasted = living.iter().any(|process| process.id == leader);
            self.wait(LONGEST_KILL, |ending, living| ending.watched.kill(living));
            is_outlasted.then_some(grace)
        };
        let left: Vec<Process> = self.watched.living();
        let orphan = |(id, name): (i32, String)| Orphan {
            id: id.unsigned_abs(),
            name,
        };
        ChildEnd {
            name: self.watched.name().to_owned(),
            exit: None,
            was_running,
            outlasted,
            orphans: self.orphans.into_iter().map(orphan).collect(),
            left: left
                .into_iter()
                .map(|one| orphan((one.id, one.name)))
                .collect(),
        }
    }

    /// Does something to all processes that still run, and looks again, until none is left. `false` if some are when
    /// the time is over.
    fn wait(&mut self, longest: Duration, mut act: impl FnMut(&mut Self, &[Process])) -> bool {
        let began = now();
        let mut span = FIRST_PAUSE;
        let mut quiet = 0;
        loop {
            let look = self.watched.look();
            if look.members.is_empty() {
                quiet += 1;
                let is_over = quiet >= QUIET_LOOKS && look.is_clear;
                if is_over || quiet >= UNCLEAR_LOOKS {
                    return true;
                }
                pause(BETWEEN_QUIET_LOOKS);
                continue;
            }
            quiet = 0;
            act(self, &look.members);
            let left = longest.saturating_sub(began.elapsed());
            if left.is_zero() {
                return false;
            }
            pause(span.min(left));
            span = (span * 2).min(LONGEST_PAUSE);
        }
    }

    /// Sends TERM, once to each: to the group, and to those that left it and whose parents have ended. What has a
    /// parent among them is left to it.
    fn ask(&mut self, living: &[Process]) {
        let leader = self.watched.leader();
        let is_first = self.told.is_empty();
        let is_group_told = is_first && self.watched.signal_group(Signal::TERM);
        if is_first {
            self.told.insert(leader);
        }
        let has_leader = living.iter().any(|process| process.id == leader);
        let orphans = orphans(living, has_leader.then_some(leader));
        for process in living {
            let is_orphan = orphans.contains(&process.id);
            let is_in_group = process.group == leader;
            if is_group_told && is_in_group {
                self.told.insert(process.id);
            }
            if is_first && is_orphan {
                self.name(process);
            }
            if is_orphan && self.told.insert(process.id) {
                self.name(process);
                process.signal(Signal::TERM);
            }
        }
    }

    fn name(&mut self, process: &Process) {
        self.orphans.insert(process.id, process.name.clone());
    }
}

/// Those that do not descend from the program; all but itself if it has ended.
fn orphans(living: &[Process], leader: Option<i32>) -> BTreeSet<i32> {
    let mut below: BTreeSet<i32> = leader.into_iter().collect();
    loop {
        let before = below.len();
        let children = living
            .iter()
            .filter(|process| below.contains(&process.parent));
        let children: Vec<i32> = children.map(|process| process.id).collect();
        below.extend(children);
        if below.len() == before {
            break;
        }
    }
    let ids = living.iter().map(|process| process.id);
    ids.filter(|id| !below.contains(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(id: i32, parent: i32) -> Process {
        Process {
            id,
            parent,
            group: 2,
            started: 0,
            has_ended: false,
            name: String::new(),
        }
    }

    #[test]
    fn orphans_are_those_without_a_way_up_to_the_program() {
        let living = [
            process(4, 3),
            process(2, 1),
            process(3, 2),
            process(5, 1),
            process(6, 5),
        ];
        assert_eq!(orphans(&living, Some(2)), BTreeSet::from([5, 6]));
        let without: Vec<Process> = living.into_iter().filter(|one| one.id != 2).collect();
        assert_eq!(orphans(&without, None), BTreeSet::from([3, 4, 5, 6]));
    }

    #[test]
    fn what_became_of_it_is_told_in_sentences() {
        let orphan = |id, name: &str| Orphan {
            id,
            name: name.to_owned(),
        };
        let mut end = ChildEnd {
            name: "a\n".to_owned(),
            exit: None,
            was_running: true,
            outlasted: None,
            orphans: Vec::new(),
            left: Vec::new(),
        };
        assert_eq!(end.notes(), [""; 0]);
        end.outlasted = Some(Duration::from_millis(1500));
        end.orphans = vec![orphan(7, "sleep"), orphan(8, "sh")];
        end.left = vec![orphan(9, "dd")];
        assert_eq!(
            end.notes(),
            [
                "a\\n did not end within 1.5 s of SIGTERM and was killed",
                "a\\n left processes behind, which were ended: sleep (7), sh (8)",
                "processes of a\\n could not be ended: dd (9)",
            ]
        );
    }
}
