//! [`System`]: a system under test that another process holds, so that it stays between the runs of a suite.

use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration as StdDuration;
use std::{fs, io};

use anyhow::{Context, anyhow};
use bagplay::ci::child::{ChildEnd, ChildExit, How, Program, Tail, has_ended};
use bagplay::ci::isolation::{Isolation, RunFolder};
use bagplay::ci::report::{ChildRecord, SystemRecord};
use bagplay::ci::suite::system::{Held, Lines, SystemOfCase, Told};
use bagplay::cli::{Exit, PlayArgs};
use bagplay::time::{Ros, Time};
use bagplay::wire::WireOptions;
use crossbeam_channel::{Receiver, bounded};

use crate::app::failure::{Failure, OrExit};

/// How long the news of an end may take after the end itself.
const LONGEST_NEWS: StdDuration = StdDuration::from_secs(10);

/// A system under test that runs already.
#[derive(Debug)]
pub(super) struct System {
    told: SystemOfCase,
    /// Its end, once it is known.
    exit: Arc<OnceLock<ChildExit>>,
    /// Gets its end: one value.
    ended: Receiver<ChildExit>,
    /// Closed when its end is known.
    news: Receiver<()>,
    past: RefCell<Past>,
}

/// The end of the program under test as the suite reports it; `None` if the lines end without one.
fn end_among(mut lines: impl Iterator<Item = io::Result<Told>>) -> Option<ChildExit> {
    lines.find_map(|line| match line {
        Ok(Told::Ended(exit)) => Some(exit),
        Ok(Told::Lost) => Some(unknown_end(How::Lost)),
        _ => None,
    })
}

fn unknown_end(how: How) -> ChildExit {
    ChildExit {
        name: "the program under test".to_owned(),
        how,
        after: StdDuration::ZERO,
        reached: None,
    }
}

/// The runs that a system has dealt with.
#[derive(Clone, Debug)]
struct Past {
    runs: u32,
    last: Option<String>,
    clock: Option<Time<Ros>>,
    /// The sizes of the files of its output when the present run began.
    written: [u64; 2],
}

impl System {
    /// The system that standard input tells of, if the command line says so.
    pub(super) fn told(args: &PlayArgs) -> Result<Option<Self>, Failure> {
        if !args.ci.held_system {
            return Ok(None);
        }
        let exit = Arc::new(OnceLock::new());
        let ((first, told), (tell, ended)) = (bounded(1), bounded(1));
        let (open, news) = bounded::<()>(0);
        let known = Arc::clone(&exit);
        let read = move || {
            let mut lines = Lines::<_, Told>::new(std::io::stdin());
            let Some(Ok(Told::System(system))) = lines.next() else {
                return;
            };
            let _ = first.send(system);
            // If the suite reports no end, it has ended, and the system with it.
            let exit = end_among(lines).unwrap_or_else(|| unknown_end(How::Lost));
            let _ = known.set(exit.clone());
            let _ = tell.send(exit);
            drop(open);
        };
        thread::Builder::new()
            .name("system-news".into())
            .spawn(read)
            .context("standard input cannot be read")
            .or_exit(Exit::Failed)?;
        let told: SystemOfCase = told
            .recv()
            .map_err(|_| anyhow!("--held-system: standard input does not describe a system"))
            .or_exit(Exit::Usage)?;
        let past = Past {
            runs: told.runs_before,
            last: told.after.clone(),
            clock: told.clock_ns.map(Time::from_nanos),
            written: [0; 2],
        };
        Ok(Some(Self {
            told,
            exit,
            ended,
            news,
            past: RefCell::new(past),
        }))
    }

    /// What the suite says of it.
    pub(super) const fn held(&self) -> &Held {
        &self.told.held
    }

    /// Gets its end when it has ended.
    pub(super) const fn ended(&self) -> &Receiver<ChildExit> {
        &self.ended
    }

    /// The processes that settle: that of its router, and all below it.
    pub(in crate::app::run::ci) const fn root(&self) -> u32 {
        self.told.held.processes.0
    }

    /// The options of a session in its network.
    pub(super) fn wire_options(&self, options: WireOptions) -> WireOptions {
        let options = Isolation::in_domain(self.held().domain_id).wire_options(options);
        WireOptions {
            isolated_router: Some(self.held().endpoint.clone()),
            ..options
        }
    }

    /// The commands that reset it before this run, and how long each may take: none before its first run.
    pub(super) fn resets(&self) -> (&[Vec<String>], StdDuration) {
        let limit = StdDuration::from_millis(self.told.reset_timeout_ms);
        let is_first = self.past.borrow().runs == 0;
        (if is_first { &[] } else { &self.told.reset }, limit)
    }

    /// A run begins whose clock starts at this time, if one is served. Returns what is known of the system before it.
    pub(super) fn begins(&self, clock: Option<Time<Ros>>) -> SystemRecord {
        let mut past = self.past.borrow_mut();
        let size = |file: &Path| fs::metadata(file).map_or(0, |facts| facts.len());
        past.written = [size(&self.held().stdout), size(&self.held().stderr)];
        let is_first = past.runs == self.told.runs_before;
        SystemRecord {
            runs_before: past.runs,
            after: past.last.clone(),
            started_because: self.told.started_because.clone().filter(|_| is_first),
            clock_from_ns: past.clock.filter(|_| clock.is_some()).map(Time::as_nanos),
            clock_to_ns: clock.map(Time::as_nanos),
            ..SystemRecord::default()
        }
    }

    /// A run of this process has ended, with the clock at this time, if it had begun. Returns how the program is: it
    /// runs on, or it has ended; and what is known of the system.
    pub(super) fn has_dealt_with_run(
        &self,
        record: SystemRecord,
        clock: Option<Time<Ros>>,
        program: &Program,
    ) -> (ChildEnd, SystemRecord) {
        let has_begun = clock.is_some();
        let clock = clock.filter(|_| record.clock_to_ns.is_some());
        let mut past = self.past.borrow_mut();
        past.runs += 1;
        past.last = Some(self.told.case.clone());
        past.clock = clock.or(past.clock);
        let record = SystemRecord {
            has_begun,
            clock_end_ns: clock.map(Time::as_nanos),
            ..record
        };
        (self.end_of_run(program), record)
    }

    fn end_of_run(&self, program: &Program) -> ChildEnd {
        if self.exit.get().is_none() && has_ended(self.held().processes.1) {
            // Nothing is sent: the channel is closed when its end is known.
            let _ = self.news.recv_timeout(LONGEST_NEWS);
        }
        let exit = self.exit.get().cloned();
        // It may have ended since, and its result is not known here yet.
        let has_ended = has_ended(self.held().processes.1);
        let exit = exit.or_else(|| has_ended.then(|| unknown_end(How::Unknown)));
        ChildEnd {
            name: program.name(),
            was_running: exit.is_none(),
            exit,
            outlasted: None,
            orphans: Vec::new(),
            left: Vec::new(),
        }
    }

    /// The same for a report, with the last lines that it wrote in this run, at most so many of each file.
    pub(super) fn record(&self, program: &Program, end: &ChildEnd, lines: usize) -> ChildRecord {
        let [stdout, stderr] = self.past.borrow().written;
        let files = [
            (self.held().stdout.as_path(), stdout),
            (self.held().stderr.as_path(), stderr),
        ];
        let ended = end.exit.as_ref().map(|exit| exit.how.to_string());
        ChildRecord {
            command: program.words(),
            ended: ended.unwrap_or_else(|| "runs on".to_owned()),
            tail: Tail::since(files, lines).lines(),
            orphans: Vec::new(),
        }
    }

    /// A program that gets its environment, with files in the folder of the run.
    pub(super) fn program(&self, command: &[String], folder: &RunFolder, name: &str) -> Program {
        let mut program = Program::new(command, folder);
        program.stdout = folder.file(&format!("{name}.stdout.log"));
        program.stderr = folder.file(&format!("{name}.stderr.log"));
        let variables = self.held().environment.iter();
        program.environment = variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        program
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::supervise::under_test::exit_of_end;

    #[test]
    fn a_holder_that_is_gone_says_nothing_of_the_program() {
        let end = end_among([Ok(Told::Lost)].into_iter()).unwrap();
        assert_eq!(exit_of_end(&end), Exit::Failed);
        let ended = Told::Ended(unknown_end(How::Code(1)));
        let end = end_among([Ok(ended), Ok(Told::Lost)].into_iter()).unwrap();
        assert_eq!(exit_of_end(&end), Exit::Child);
        assert_eq!(end_among([].into_iter()), None);
    }
}
