//! `play`: parses the command line, runs the command, reports its result and exits with its code.

mod app;

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;

use app::failure::{self, Failure};
use app::log::{self, FlushOnExit, LogTarget};
use app::run::ci::scenario;
use app::run::{ci, play};
use app::signals;
#[cfg(feature = "tui")]
use app::verbs::attach;
use app::verbs::recordings::{convert, cut, find};
use app::verbs::{clock, ctl, print, suite};
use bagplay::cli::{Cli, Exit, OutputArgs, Verb};

fn main() -> ExitCode {
    // A second signal may come while the last log lines wait for a terminal. It still decides the exit code.
    signals::decide(run_command()).into()
}

/// Runs the command. On return the log has been written, or the wait for that has timed out.
fn run_command() -> Exit {
    let _flush = FlushOnExit;
    // If this fails, exceeding the file size limit ends the process; that is no reason not to start.
    let _ = signals::let_writes_fail();
    let parsed = Cli::read(std::env::args_os());
    let done = match parsed {
        Ok(cli) => start_log_and_run(&cli),
        Err(clap_error) => {
            let shown = print::print_help_or_exit(&clap_error);
            if shown.is_err() {
                log::start(&OutputArgs::default(), None);
            }
            shown
        }
    };
    match done {
        Ok(exit) => exit,
        Err(failure) if failure.is_closed_pipe() => Exit::Done,
        Err(Failure { exit, error }) => {
            tracing::error!("{}", failure::plain(&format!("{error:#}")));
            exit
        }
    }
}

fn start_log_and_run(cli: &Cli) -> Result<Exit, Failure> {
    match log::open_file(&cli.output) {
        Ok(file) => run(cli, &log::start(&cli.output, file)),
        Err(failure) => {
            log::start(&cli.output, None);
            Err(failure)
        }
    }
}

fn run(cli: &Cli, log_target: &LogTarget) -> Result<Exit, Failure> {
    match &cli.command {
        None if cli.play.ci.scenario.is_some() => run_scenario(cli, log_target),
        None if cli.play.ci.is_any() => ci::run(&cli.play, &cli.output, log_target),
        None => play::run(&cli.play, &cli.output, log_target),
        #[cfg(feature = "tui")]
        Some(Verb::Attach(args)) => attach::run(args, &cli.output, log_target),
        #[cfg(not(feature = "tui"))]
        Some(Verb::Attach(_)) => Err(Failure::new(
            Exit::Usage,
            anyhow::anyhow!("attach: this program was built without the transport bar"),
        )),
        Some(Verb::Clock(args)) => clock::run(args, &cli.output, log_target),
        Some(Verb::Ctl(args)) => ctl::run(args, &cli.output),
        Some(Verb::Suite(args)) => suite::run(args, &cli.output, log_target),
        Some(Verb::Cut(args)) => cut::run(args, &cli.output, log_target),
        Some(Verb::Convert(args)) => convert::run(args, &cli.output, log_target),
        Some(Verb::Info(args)) => print::info(args, &cli.output, log_target),
        Some(Verb::Find(args)) => find::run(args, &cli.output, log_target),
        Some(Verb::Completions { shell }) => print::completions(*shell, &mut Cli::command()),
        Some(Verb::Man) => print::man(Cli::command()),
    }
}

/// A run whose command line stands in a file.
fn run_scenario(cli: &Cli, log_target: &LogTarget) -> Result<Exit, Failure> {
    let args = &cli.play.ci;
    let file = args.scenario.as_deref().unwrap_or_else(|| Path::new(""));
    let of_file = scenario::command_line(file, args.run_dir.as_ref(), std::env::args_os())?;
    ci::run(&of_file.play, &of_file.output, log_target)
}
