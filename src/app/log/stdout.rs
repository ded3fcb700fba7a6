//! Writes results to standard output. Nothing else in the program writes there but the screen, so text of a recording
//! or of the command line is always escaped and cannot control the terminal.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::Context;
use bagplay::cli::Exit;
use bagplay::untrusted::Foreign;
use serde::Serialize;

use crate::app::failure::{Failure, OrExit};

/// The error of an output that cannot be written to.
const STDOUT: &str = "standard output";

/// Writes a text that quotes a recording, each line escaped.
pub(crate) fn page(text: &str) -> Result<(), Failure> {
    write(escaped(text).as_bytes())
}

/// Writes a value as one line of JSON. Characters that a terminal might interpret are written as `\uNNNN`, which means
/// the same.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    write(json_line(value)?.as_bytes())
}

/// Lines that are written together.
#[derive(Debug, Default)]
pub(crate) struct Lines(String);

impl Lines {
    /// Adds a text that quotes a recording, each line escaped.
    pub(crate) fn page(&mut self, text: &str) {
        self.0 += &escaped(text);
    }

    /// Adds a value as one line of JSON, as [`json`] writes it.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        self.0 += &json_line(value)?;
        Ok(())
    }

    /// How many bytes there are.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Writes the lines, so that there are none.
    pub(crate) fn write(&mut self) -> Result<(), Failure> {
        write(std::mem::take(&mut self.0).as_bytes())
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for line in text.lines() {
        // Most lines need no look at each character.
        if line.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            escaped.push_str(line);
            escaped.push('\n');
            continue;
        }
        let line = Foreign::text(line).at_most(usize::MAX);
        // Writing into a string does not fail.
        let _ = writeln!(escaped, "{line}");
    }
    escaped
}

fn json_line(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).or_exit(Exit::Failed)?;
    Ok(printable(&text) + "\n")
}

/// The width of the terminal that it is, in columns; `None` if it is none.
pub(crate) fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stdout()).ok()?;
    // Some terminals do not know theirs.
    (size.ws_col > 0).then(|| size.ws_col.into())
}

/// Writes a text that quotes nothing.
pub(crate) fn own(text: &[u8]) -> Result<(), Failure> {
    write(text)
}

/// Writes the help or the version; clap leaves colours out where they are not wanted.
pub(crate) fn help(answer: &clap::Error) -> Result<(), Failure> {
    let shown = answer.print().and_then(|()| stdout().flush());
    shown.context(STDOUT).or_exit(Exit::Failed)
}

/// JSON text with only printable characters.
fn printable(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        // Among the first 128 characters all controls but the last are escaped already.
        if c == '\u{7f}' || (!c.is_ascii() && c.escape_debug().count() > 1) {
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(c);
        }
    }
    text
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where results are written"
)]
fn stdout() -> std::io::Stdout {
    std::io::stdout()
}

fn write(text: &[u8]) -> Result<(), Failure> {
    // Earlier log lines come first, where both go to a terminal.
    super::flush(super::FLUSH_TIMEOUT);
    let mut stdout = stdout().lock();
    stdout
        .write_all(text)
        .and_then(|()| stdout.flush())
        .context(STDOUT)
        .or_exit(Exit::Failed)
}

#[cfg(test)]
mod tests {
    use super::{Foreign, escaped, printable};

    #[test]
    fn lines_are_escaped_one_by_one() {
        let all: String = ('\u{1}'..'\u{180}').filter(|c| *c != '\n').collect();
        let whole = Foreign::text(&all).to_string();
        assert_eq!(escaped(&all).trim_end_matches('\n'), whole);
        let plain: String = (' '..='~').collect();
        assert_eq!(Foreign::text(&plain).to_string(), plain);
        assert_eq!(
            escaped(&format!("{plain}\na\u{1b}b\n")),
            format!("{plain}\na\\u{{1b}}b\n")
        );
    }

    #[test]
    fn json_means_the_same_and_is_printable() {
        let text = "a\u{7}\u{7f}\u{9b}\u{202e}\u{e0041}\"\\ größe 測試 𝄞";
        let json = serde_json::to_string(text).unwrap();
        let shown = printable(&json);
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        assert_eq!(
            shown,
            r#""a\u0007\u007f\u009b\u202e\udb40\udc41\"\\ größe 測試 𝄞""#
        );
    }
}
