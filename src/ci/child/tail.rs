//! [`Tail`]: the last lines that a program wrote, escaped for the log and for reports.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::program::Program;
use crate::untrusted::Foreign;

/// The most bytes that are read from the end of a file: 64 KiB.
const MOST_BYTES: u64 = 64 << 10;
/// The most characters of a line that are kept.
const MOST_CHARACTERS: usize = 1000;

/// The last lines of both files of a program, without empty lines at their ends.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tail {
    /// Of its standard output.
    pub stdout: Vec<String>,
    /// Of its standard error.
    pub stderr: Vec<String>,
}

impl Tail {
    /// At most this many lines of each file. A file that cannot be read has none.
    pub fn of(program: &Program, lines: usize) -> Self {
        let read = |path: &Path| last_lines(path, lines).unwrap_or_default();
        Self {
            stdout: read(&program.stdout),
            stderr: read(&program.stderr),
        }
    }

    /// The same of what was written after these files had so many bytes.
    pub fn since(files: [(&Path, u64); 2], lines: usize) -> Self {
        let [stdout, stderr] =
            files.map(|(path, from)| lines_since(path, from, lines).unwrap_or_default());
        Self { stdout, stderr }
    }

    /// All lines, each after the name of its stream: first standard output, then standard error.
    pub fn lines(&self) -> Vec<String> {
        let streams = [("stdout", &self.stdout), ("stderr", &self.stderr)];
        let lines = streams
            .into_iter()
            .flat_map(|(name, lines)| lines.iter().map(move |line| format!("{name}: {line}")));
        lines.collect()
    }
}

fn last_lines(path: &Path, most: usize) -> io::Result<Vec<String>> {
    lines_since(path, 0, most)
}

fn lines_since(path: &Path, from: u64, most: usize) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(MOST_BYTES).max(from.min(length));
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let text = bytes.trim_ascii_end();
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    if start > from && lines.len() > 1 {
        // It may have begun earlier.
        lines.remove(0);
    }
    let from = lines.len().saturating_sub(most);
    let escaped = lines[from..].iter().map(|line| escape(line));
    Ok(if text.is_empty() {
        Vec::new()
    } else {
        escaped.collect()
    })
}

fn escape(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Foreign::bytes(&without_colours(line))
        .at_most(MOST_CHARACTERS)
        .to_string()
}

/// A line without the sequences that set colours (`ESC [ … m`): ROS nodes write many.
fn without_colours(line: &[u8]) -> Vec<u8> {
    let mut rest = line;
    let mut kept = Vec::with_capacity(line.len());
    while let Some((&first, after)) = rest.split_first() {
        let parameters = rest.strip_prefix(b"\x1b[");
        let end = parameters.and_then(|text| {
            let end = text
                .iter()
                .position(|byte| !matches!(byte, b'0'..=b'9' | b';'))?;
            (text.get(end) == Some(&b'm')).then(|| text.get(end + 1..))?
        });
        if let Some(end) = end {
            rest = end;
        } else {
            kept.push(first);
            rest = after;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], most: usize) -> Vec<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        last_lines(file.path(), most).unwrap()
    }

    #[test]
    fn the_last_lines_are_escaped() {
        assert_eq!(lines(b"", 3), [""; 0]);
        assert_eq!(
            lines(b"a\nb\r\nc\xff\x1b[2J\n\n", 2),
            ["b", "c\\xff\\u{1b}[2J"]
        );
        assert_eq!(lines(b"a\nb", 9), ["a", "b"]);
        assert_eq!(lines(b"a\n", 0), [""; 0]);
    }

    #[test]
    fn lines_from_before_a_place_are_left_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "one\ntwo\nthree\n").unwrap();
        let since = |from| lines_since(file.path(), from, 9).unwrap();
        assert_eq!(since(4), ["two", "three"]);
        assert_eq!(since(14), [""; 0]);
        assert_eq!(since(99), [""; 0]);
    }

    #[test]
    fn colours_are_left_out_and_nothing_else() {
        assert_eq!(
            lines(b"\x1b[1;31mred\x1b[0m \x1b[m.\x1b[", 1),
            ["red .\\u{1b}["]
        );
        assert_eq!(lines(b"\x1b[31", 1), ["\\u{1b}[31"]);
    }

    #[test]
    fn a_long_file_is_read_at_its_end_and_a_long_line_is_cut() {
        let mut text = vec![b'x'; 1 << 20];
        text.extend(b"\nlast\n");
        assert_eq!(lines(&text, 5), ["last"]);
        let long = lines(&text[..1 << 20], 5);
        assert_eq!(long.len(), 1);
        assert_eq!(long[0].chars().count(), MOST_CHARACTERS + 1);
    }
}
