//! The file of `--log-file`: an existing log of this program, or a new file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use bagplay::cli::Exit;
use bagplay::untrusted::Foreign;
use jiff::Timestamp;

use crate::app::failure::{Failure, OrExit};

/// The title, which follows the time at the start of each log.
const TITLE: &str = " log of play ";
/// The format of the time at the start of each line, to the millisecond.
const TIME: &str = "2026-01-31T12:00:00.000Z";

/// Opens a file for appending. A file that is not empty must be a log of this program, so that a mistyped name damages
/// no recording.
pub(crate) fn open(path: &Path) -> Result<File, Failure> {
    let open = || {
        let name = path.as_os_str().as_encoded_bytes();
        if name.ends_with(b".mcap") || name.ends_with(b".mcap.zstd") {
            bail!(
                "this is the name of a recording; hint: --log-file takes the file that the log is written to"
            );
        }
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)?;
        if file.metadata()?.is_file() && !is_log(&mut file)? {
            bail!("this file exists and is not a log of play; hint: give another name");
        }
        Ok(file)
    };
    open()
        .with_context(|| format!("--log-file {}", Foreign::path(path)))
        .or_exit(Exit::Usage)
}

/// Writes a line; the first one is preceded by the title.
pub(crate) fn write(mut file: &File, line: &str) -> io::Result<()> {
    let about = file.metadata()?;
    if about.is_file() && about.len() == 0 {
        let title = TITLE.trim_start();
        let version = env!("CARGO_PKG_VERSION");
        let title = format!("{:.3} {title}{version}\n{line}", Timestamp::now());
        return file.write_all(title.as_bytes());
    }
    file.write_all(line.as_bytes())
}

/// Whether the file begins as a log does, or is empty.
fn is_log(file: &mut File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take((TIME.len() + TITLE.len()) as u64)
        .read_to_end(&mut head)?;
    if head.is_empty() {
        return Ok(true);
    }
    let (time, title) = head.split_at(head.len().min(TIME.len()));
    let is_alike = |(found, model): (&u8, u8)| {
        *found == model || (found.is_ascii_digit() && model.is_ascii_digit())
    };
    let is_time = time.iter().zip(TIME.bytes()).all(is_alike);
    Ok(is_time && title == TITLE.as_bytes())
}
