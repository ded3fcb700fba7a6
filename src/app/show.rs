//! The verbs that only print: `info`, `completions`, `man`.

use std::io::{self, Write};
use std::path::PathBuf;

use bagplay::bag::Bag;
use bagplay::cli::{Exit, Format, Info, TalkArgs};
use jiff::tz::TimeZone;

use super::failure::{Failure, OrExit};

/// `play info BAG…`: one page for all of them, as they would be played together.
pub(crate) fn info(bags: &[PathBuf], talk: &TalkArgs) -> Result<Exit, Failure> {
    let bag = Bag::open(bags).or_exit(Exit::Recording)?;
    let info = Info::new(&bag);
    let text = match talk.format {
        Format::Text => info.page(&TimeZone::system()),
        Format::Json => serde_json::to_string(&info).or_exit(Exit::Failed)? + "\n",
    };
    print(text.as_bytes())?;
    for damage in bag.damage() {
        tracing::warn!("{damage}");
    }
    Ok(Exit::Done)
}

/// `play completions SHELL`.
pub(crate) fn completions(
    shell: clap_complete::Shell,
    command: &mut clap::Command,
) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "play", &mut script);
    print(&script)
}

/// `play man`.
pub(crate) fn man(command: clap::Command) -> Result<Exit, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .or_exit(Exit::Failed)?;
    print(&page)
}

fn print(text: &[u8]) -> Result<Exit, Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text)
        .and_then(|()| stdout.flush())
        .or_exit(Exit::Failed)?;
    Ok(Exit::Done)
}
