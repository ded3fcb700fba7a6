//! The verbs that only print: `info`, `completions`, `man`.

use bagplay::bag::MessageOrder;
use bagplay::cli::{Exit, Format, Info, InfoArgs, OutputArgs};
use bagplay::marks::Marks;
use jiff::tz::TimeZone;

use crate::app::dirs;
use crate::app::failure::{Failure, OrExit};
use crate::app::log::LogTarget;
use crate::app::log::stdout;
use crate::app::run::open_bag;

/// `play info BAG…`: one page for all of them, as they would be played together.
pub(crate) fn info(
    args: &InfoArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    let bag = open_bag::open(&args.bags, MessageOrder::Received, log_target)?;
    let info = if args.check {
        // The page reports all damage, so no separate warning is needed.
        Info::checked(&bag)
    } else {
        let info = Info::new(&bag);
        for finding in info.damage().list() {
            tracing::warn!("{finding}");
        }
        info
    };
    let info = match Marks::read(&args.bags, dirs::state().as_deref()) {
        Ok(marks) => info.marked(&marks),
        Err(error) => {
            tracing::warn!("{error}");
            info
        }
    };
    match output.format {
        Format::Text => stdout::page(&info.page(&TimeZone::system(), stdout::width()))?,
        Format::Json => stdout::json(&info)?,
    }
    Ok(if args.check && !info.is_sound() {
        Exit::Recording
    } else {
        Exit::Done
    })
}

/// `play --help` and `--version`; a usage error is printed and ends the process.
pub(crate) fn print_help_or_exit(clap_error: &clap::Error) -> Result<Exit, Failure> {
    if clap_error.use_stderr() {
        clap_error.exit();
    }
    stdout::help(clap_error)?;
    Ok(Exit::Done)
}

/// `play completions SHELL`.
pub(crate) fn completions(
    shell: clap_complete::Shell,
    command: &mut clap::Command,
) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "play", &mut script);
    stdout::own(&script)?;
    Ok(Exit::Done)
}

/// `play man`.
pub(crate) fn man(command: clap::Command) -> Result<Exit, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .or_exit(Exit::Failed)?;
    stdout::own(&page)?;
    Ok(Exit::Done)
}
