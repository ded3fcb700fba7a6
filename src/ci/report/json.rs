//! Records as JSON: one to a file, or one to a line. The first member of each is `schema`, the version of the form.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::record::RunRecord;
use crate::untrusted::{Foreign, open_file};

/// The version of the form. A reader refuses a later one; members that it does not know it ignores.
pub const SCHEMA: u64 = 1;

/// The longest record that is read, in bytes, as a file or as a line of a file.
pub(in crate::ci) const LONGEST: u64 = 256 << 20;
/// The longest file that is read, in bytes.
const LARGEST: u64 = 2 << 30;

/// Why a file of records could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// It could not be opened or read.
    #[error("{file}: {source}")]
    Io {
        /// The file, escaped.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// A record in it cannot be used.
    #[error("{file}:{line}: {why}")]
    Record {
        /// The file, escaped.
        file: String,
        /// The line at which the record begins, from 1.
        line: usize,
        /// Why, escaped.
        why: String,
    },
}

#[derive(Serialize)]
struct Versioned<'a, T> {
    schema: u64,
    #[serde(flatten)]
    record: &'a T,
}

#[derive(Deserialize)]
struct Version {
    schema: Option<u64>,
}

/// A record as text that a person can read, with a line feed at its end. `T` is a struct or a map.
pub fn to_json<T: Serialize>(record: &T) -> Result<String, serde_json::Error> {
    let schema = SCHEMA;
    let text = serde_json::to_string_pretty(&Versioned { schema, record })?;
    Ok(text + "\n")
}

/// A record as one line, with a line feed at its end. `T` is a struct or a map.
pub fn to_line<T: Serialize>(record: &T) -> Result<String, serde_json::Error> {
    let schema = SCHEMA;
    let text = serde_json::to_string(&Versioned { schema, record })?;
    Ok(text + "\n")
}

/// What was found where a line was to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ci) enum LineRead {
    /// The end: there is no further line.
    End,
    /// A line with its line feed.
    Whole,
    /// A line without a line feed, at the end of the input.
    Cut,
    /// A line that is longer than the limit; it was not read to its end.
    TooLong,
}

/// Reads a line of at most `longest` bytes into `line`, and replaces its content.
pub(in crate::ci) fn bounded_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    longest: u64,
) -> io::Result<LineRead> {
    line.clear();
    let most = longest.saturating_add(1);
    let length = reader.by_ref().take(most).read_until(b'\n', line)?;
    Ok(match (length as u64, line.last()) {
        (_, None) => LineRead::End,
        (length, _) if length > longest => LineRead::TooLong,
        (_, Some(b'\n')) => LineRead::Whole,
        _ => LineRead::Cut,
    })
}

/// The record of a run in a file that [`to_json`] or [`to_line`] wrote.
pub fn read_run(path: &Path) -> Result<RunRecord, RecordsError> {
    let file = Source::open(path)?;
    let mut text = Vec::new();
    let read = file.reader.take(LONGEST + 1).read_to_end(&mut text);
    read.map_err(|source| io_error(path, source))?;
    run(&text).map_err(|why| record_error(path, 1, &why))
}

/// The records of runs in a file of lines. Empty lines are skipped.
pub fn read_runs(path: &Path) -> Result<Vec<RunRecord>, RecordsError> {
    read_each(path, run)
}

/// The records of any kind in a file of lines that [`to_line`] wrote. Empty lines are skipped.
pub fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, RecordsError> {
    read_each(path, parsed)
}

fn read_each<T>(
    path: &Path,
    parse: impl Fn(&[u8]) -> Result<T, String>,
) -> Result<Vec<T>, RecordsError> {
    let mut source = Source::open(path)?;
    let mut records = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        let read = bounded_line(&mut source.reader, &mut line, LONGEST);
        match read.map_err(|source| io_error(path, source))? {
            LineRead::End => break,
            LineRead::TooLong => return Err(record_error(path, number, &too_long())),
            LineRead::Whole | LineRead::Cut => {}
        }
        if !line.trim_ascii().is_empty() {
            let record = parse(&line).map_err(|why| record_error(path, number, &why))?;
            records.push(record);
        }
    }
    Ok(records)
}

fn run(text: &[u8]) -> Result<RunRecord, String> {
    let record: RunRecord = parsed(text)?;
    if record.name.is_empty() {
        return Err("it has no `name`: not the record of a run".to_owned());
    }
    Ok(record)
}

fn parsed<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    if u64::try_from(text.len()).is_ok_and(|length| length > LONGEST) {
        return Err(too_long());
    }
    let version: Version = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    match version.schema {
        None => return Err("it has no `schema`: not a record of this program".to_owned()),
        Some(schema) if schema > SCHEMA => {
            return Err(format!(
                "its schema is {schema}, this program reads up to {SCHEMA}: use a newer release"
            ));
        }
        Some(_) => {}
    }
    serde_json::from_slice(text).map_err(|error| error.to_string())
}

fn too_long() -> String {
    format!("longer than the {LONGEST} bytes that are read")
}

struct Source {
    reader: BufReader<File>,
}

impl Source {
    fn open(path: &Path) -> Result<Self, RecordsError> {
        let file = open_file(path).map_err(|source| io_error(path, source))?;
        let length = file
            .metadata()
            .map_err(|source| io_error(path, source))?
            .len();
        if length > LARGEST {
            let why = format!("longer than the {LARGEST} bytes that are read");
            return Err(io_error(
                path,
                io::Error::new(io::ErrorKind::FileTooLarge, why),
            ));
        }
        let reader = BufReader::new(file);
        Ok(Self { reader })
    }
}

fn io_error(path: &Path, source: io::Error) -> RecordsError {
    let file = Foreign::path(path).to_string();
    RecordsError::Io { file, source }
}

fn record_error(path: &Path, line: usize, why: &str) -> RecordsError {
    RecordsError::Record {
        file: Foreign::path(path).to_string(),
        line,
        why: Foreign::text(why).at_most(300).to_string(),
    }
}
