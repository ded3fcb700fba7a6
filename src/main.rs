//! `play`: parse, open, connect, play, sum up, exit.

mod app;

use std::process::ExitCode;

use clap::CommandFactory;

use app::failure::{self, Failure};
use app::logging::{self, SaidBeforeTheEnd, Voice};
use app::{play, show, signals};
use bagplay::cli::{Cli, Exit, TalkArgs, Verb};

fn main() -> ExitCode {
    let _last = SaidBeforeTheEnd;
    // Without it, writing too much ends the process: no reason not to begin.
    let _ = signals::let_writes_fail();
    let typed = Cli::read(std::env::args_os());
    let done = match typed {
        Ok(cli) => speak_and_run(&cli),
        Err(answer) => {
            let shown = show::instead(&answer);
            if shown.is_err() {
                logging::start(&TalkArgs::default(), None);
            }
            shown
        }
    };
    match done {
        Ok(exit) => signals::decide(exit).into(),
        Err(failure) if failure.is_closed_pipe() => Exit::Done.into(),
        Err(Failure { exit, error }) => {
            tracing::error!("{}", failure::plain(&format!("{error:#}")));
            signals::decide(exit).into()
        }
    }
}

fn speak_and_run(cli: &Cli) -> Result<Exit, Failure> {
    match logging::open_file(&cli.talk) {
        Ok(file) => run(cli, &logging::start(&cli.talk, file)),
        Err(failure) => {
            logging::start(&cli.talk, None);
            Err(failure)
        }
    }
}

fn run(cli: &Cli, voice: &Voice) -> Result<Exit, Failure> {
    match &cli.command {
        None => play::run(&cli.play, &cli.talk, voice),
        Some(Verb::Info(args)) => show::info(args, &cli.talk, voice),
        Some(Verb::Completions { shell }) => show::completions(*shell, &mut Cli::command()),
        Some(Verb::Man) => show::man(Cli::command()),
    }
}
