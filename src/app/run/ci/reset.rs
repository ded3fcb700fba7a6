//! The beginning of a run on a system that stays: it sees the clock go to the start of the run, and is reset, before
//! anything else is sent.

use std::time::Duration as StdDuration;

use bagplay::ci::child::{Child, ChildExit};
use bagplay::ci::drive::Desk;
use bagplay::ci::isolation::RunFolder;
use bagplay::ci::report::{Check, Kind};
use bagplay::cli::{Ending, Exit, Plan};
use bagplay::untrusted::Foreign;
use crossbeam_channel::{after, select};

use super::drained::drain;
use super::held::System;
use super::setup::Setup;
use crate::app::failure::Failure;
use crate::app::network::Network;
use crate::app::supervise::Ended;
use crate::app::supervise::under_test::{UnderTest, exit_of_end};

/// The time between TERM and KILL for a command that took too long.
const GRACE: StdDuration = StdDuration::from_secs(1);
/// How many of the last lines of a command are looked at.
const TAIL: usize = 3;
const CHECK: &str = "the system is reset";

/// What the beginning of a run on a system needs.
struct Beginning<'a> {
    setup: &'a Setup<'a>,
    system: &'a System,
    network: &'a Network,
    desk: &'a Desk,
    folder: &'a RunFolder,
}

/// Waits until a system that stays between cases has dealt with the run before: its late messages must not be taken for
/// answers to the first clock. `Some`: how the run ends, because it cannot begin.
pub(super) fn wait_for_rest(
    setup: &Setup<'_>,
    network: &Network,
    desk: &Desk,
    under_test: &mut UnderTest,
) -> Option<Ended> {
    setup.system?;
    let rests = drain(setup, network, desk, under_test, "the run began");
    desk.starts();
    (rests.how != Ending::End).then_some(rests)
}

/// Begins a run on a system that stays; `None` without one. To be called when the player has started.
pub(super) fn begin_on_system(
    setup: &Setup<'_>,
    (network, desk): (&Network, &Desk),
    folder: &RunFolder,
    plan: &Plan,
    under_test: &mut UnderTest,
) -> Option<Reset> {
    let system = setup.system?;
    let beginning = Beginning {
        setup,
        system,
        network,
        desk,
        folder,
    };
    Some(beginning.wait(plan.options.clock.is_served(), under_test))
}

/// The system has been reset by these commands; or the run ends here.
pub(super) struct Reset {
    pub(super) commands: Vec<Vec<String>>,
    pub(super) check: Option<Check>,
    pub(super) ended: Ended,
}

impl Beginning<'_> {
    /// Waits until the system has dealt with the clock of the start, resets it, waits again, and lets messages out.
    fn wait(&self, has_clock: bool, under_test: &mut UnderTest) -> Reset {
        if !has_clock {
            self.desk.begins_without_clock();
        }
        let mut reset = Reset {
            commands: Vec::new(),
            check: None,
            ended: self.settle(under_test, "it had dealt with the jump of the clock"),
        };
        let (commands, limit) = self.system.resets();
        for (index, command) in commands.iter().enumerate() {
            if reset.ended.how != Ending::End {
                return reset;
            }
            reset.commands.push(command.clone());
            let name = format!("reset-{}", index + 1);
            match self.run(command, &name, limit, under_test) {
                Ok(()) => reset.check = Some(Check::passed(Kind::Child, CHECK)),
                Err(Stop::Failed(why)) => {
                    tracing::error!("{why}");
                    reset.check = Some(Check::failed(Kind::Child, CHECK, why));
                    reset.ended = Ended::failed(Exit::Child);
                }
                Err(Stop::NotStarted(exit, why)) => {
                    tracing::error!("{why}");
                    under_test.reason.get_or_insert(why);
                    reset.ended = Ended::failed(exit);
                }
                Err(Stop::Signal(exit)) => {
                    let how = Ending::Interrupted;
                    reset.ended = Ended { how, exit };
                }
                Err(Stop::TimeIsUp) => {
                    let limit = self.setup.time_limit.span();
                    let why = format!(
                        "the run took longer than {limit} (--timeout), while the system was reset"
                    );
                    tracing::error!("{why}");
                    under_test.reason.get_or_insert(why);
                    reset.ended = Ended::failed(Exit::Timeout);
                }
                Err(Stop::SystemEnded(exit)) => {
                    let why = format!("{exit}, while it was reset");
                    tracing::error!("{why}");
                    under_test.reason.get_or_insert(why);
                    reset.ended = Ended::failed(exit_of_end(&exit));
                }
            }
        }
        if reset.ended.how == Ending::End && !commands.is_empty() {
            self.desk.stirs();
            reset.ended = self.settle(under_test, "it had dealt with the reset");
        }
        if reset.ended.how == Ending::End {
            self.desk.release();
        }
        reset
    }

    fn settle(&self, under_test: &mut UnderTest, before: &str) -> Ended {
        drain(self.setup, self.network, self.desk, under_test, before)
    }

    /// Runs one command to its end.
    fn run(
        &self,
        command: &[String],
        name: &str,
        limit: StdDuration,
        under_test: &UnderTest,
    ) -> Result<(), Stop> {
        let shown = Foreign::text(&command.join(" ")).at_most(200).to_string();
        tracing::info!("resets the system: {shown}");
        let program = self.system.program(command, self.folder, name);
        let child = Child::start(&program);
        let failed = |why: String| Stop::Failed(format!("the reset hook `{shown}` {why}"));
        let child = child.map_err(|error| {
            let why = format!("cannot be run: {error}");
            match Failure::of_child(error).exit {
                Exit::Usage => failed(why),
                exit => Stop::NotStarted(exit, format!("the reset hook `{shown}` {why}")),
            }
        })?;
        let time_is_up = self.setup.time_limit.passes();
        let exit: Option<ChildExit> = select! {
            recv(child.ended()) -> exit => exit.ok(),
            recv(self.setup.signals) -> exit => {
                return Err(Stop::Signal(exit.unwrap_or(Exit::Interrupted)));
            }
            recv(time_is_up) -> _ => return Err(Stop::TimeIsUp),
            recv(under_test.ended) -> exit => match exit {
                Ok(exit) => return Err(Stop::SystemEnded(exit)),
                Err(_) => None,
            },
            recv(after(limit)) -> _ => None,
        };
        let tail = child.tail(TAIL);
        let said = tail.stderr.last().or(tail.stdout.last());
        let said = said.map_or_else(String::new, |line| format!("; it said: {line}"));
        drop(child.end(GRACE));
        match exit {
            Some(exit) if exit.is_success() => Ok(()),
            Some(exit) => Err(failed(format!("failed: {exit}{said}"))),
            None => {
                let limit = limit.as_secs_f64();
                Err(failed(format!(
                    "did not end within {limit} s and was ended{said}"
                )))
            }
        }
    }
}

/// Why a command did not do its work.
enum Stop {
    /// It failed or took too long.
    Failed(String),
    /// This machine could not start it.
    NotStarted(Exit, String),
    /// A signal asked for the end of the run.
    Signal(Exit),
    /// The time limit of the run has passed.
    TimeIsUp,
    /// The program under test has ended.
    SystemEnded(ChildExit),
}
