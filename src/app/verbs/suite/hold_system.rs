//! `play suite hold-system`: a process that holds a system under test while several cases use it. It is the router of
//! the system's network and the parent of its program, so that both outlast each case, and end with the suite.

use std::io;
use std::thread;

use anyhow::Context;
use bagplay::ci::child::{Child, Program};
use bagplay::ci::isolation::{Earlier, Isolation, RunFolder};
use bagplay::ci::suite::system::{Held, Over, Said};
use bagplay::cli::{Exit, HoldSystemArgs};
use bagplay::wire::{Session, WireEvent, WireOptions};
use crossbeam_channel::{Receiver, bounded, never, select};

use crate::app::failure::{Failure, OrExit};
use crate::app::log::stdout;
use crate::app::signals;

/// Starts the system, says so on standard output, and ends it when standard input ends.
pub(super) fn run(args: &HoldSystemArgs) -> Result<Exit, Failure> {
    let signals = signals::listen()
        .context("signals cannot be received")
        .or_exit(Exit::Failed)?;
    let folder = RunFolder::make(&args.run_dir, Earlier::Remove).or_exit(Exit::Usage)?;
    let isolation = Isolation::new();
    let options = isolation.wire_options(WireOptions {
        sends_at_once: true,
        ..WireOptions::default()
    });
    let log = |event: WireEvent| tracing::debug!("{event}");
    let session = Session::open(&options, log).or_exit(Exit::Failed)?;
    let endpoint = session
        .router_endpoint()
        .context("this process is no router")
        .or_exit(Exit::Failed)?;
    let mut program = Program::new(args.command.clone(), &folder);
    program.environment = isolation.environment(&endpoint, &folder);
    let suite_is_gone = suite_is_gone()?;
    let child = Child::start(&program).map_err(Failure::of_child)?;
    tracing::info!("started {}, process {}", child.name(), child.id());
    let variables = program.environment.iter();
    let said = stdout::json(&Said::Started(Held {
        endpoint,
        domain_id: isolation.domain_id(),
        processes: (std::process::id(), child.id()),
        stdout: program.stdout.clone(),
        stderr: program.stderr.clone(),
        environment: variables
            .map(|(name, value)| {
                let text = |it: &std::ffi::OsString| it.to_string_lossy().into_owned();
                (text(name), text(value))
            })
            .collect(),
    }));
    if let Err(failure) = said {
        // The suite would not know of the system.
        drop(child.end(args.grace.to_std()));
        return Err(failure);
    }
    let mut ended = child.ended().clone();
    loop {
        select! {
            recv(ended) -> exit => {
                if let Ok(exit) = exit {
                    tracing::info!("{exit}");
                    say(&Said::Ended(exit));
                }
                // The channel is closed from now on.
                ended = never();
            }
            recv(signals) -> _ => break,
            recv(suite_is_gone) -> _ => break,
        }
    }
    let end = child.end(args.grace.to_std());
    for note in end.notes() {
        tracing::warn!("{note}");
    }
    say(&Said::Over(Over {
        notes: end.notes(),
        orphans: end.orphans.iter().map(ToString::to_string).collect(),
    }));
    session.close();
    Ok(Exit::Done)
}

fn say(said: &Said) {
    // A suite that does not listen any more has closed standard input, too.
    let _ = stdout::json(said);
}

/// Closed when standard input ends.
fn suite_is_gone() -> Result<Receiver<()>, Failure> {
    let (open, gone) = bounded::<()>(0);
    let read = move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        drop(open);
    };
    thread::Builder::new()
        .name("suite".into())
        .spawn(read)
        .context("standard input cannot be read")
        .or_exit(Exit::Failed)?;
    Ok(gone)
}
