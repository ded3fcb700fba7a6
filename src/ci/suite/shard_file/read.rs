//! [`ShardFile`]: the file of a shard, read back.

use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::lines::{End, Header, Line, SCHEMA};
use crate::ci::report::{LONGEST, LineRead, RunRecord, bounded_line};
use crate::untrusted::{Foreign, open_file};

/// How many lines are read at most.
const MOST: usize = 1_000_000;

/// The file of a shard.
#[derive(Clone, PartialEq, Debug)]
pub struct ShardFile {
    /// Its name.
    pub file: PathBuf,
    /// What it is about.
    pub header: Header,
    /// The cases that were run, in the order in which they ended.
    pub runs: Vec<RunRecord>,
    /// How the shard ended; `None` if it was killed.
    pub end: Option<End>,
}

/// Why the file of a shard cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", Foreign::path(file))]
pub struct ShardFileError {
    /// The file.
    pub file: PathBuf,
    /// Why, with the number of the line.
    pub reason: String,
}

impl ShardFile {
    /// Reads files; of a folder its files `*.ndjson`, at least one.
    pub fn read_all<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Self>, ShardFileError> {
        let mut files = Vec::new();
        for path in paths.iter().map(AsRef::as_ref) {
            let refuse = |reason: String| ShardFileError {
                file: path.to_owned(),
                reason,
            };
            if !path.is_dir() {
                files.push(path.to_owned());
                continue;
            }
            let before = files.len();
            for entry in fs::read_dir(path).map_err(|error| refuse(error.to_string()))? {
                let file = entry.map_err(|error| refuse(error.to_string()))?.path();
                if file.extension().is_some_and(|it| it == "ndjson") {
                    files.push(file);
                }
            }
            if files.len() == before {
                return Err(refuse(
                    "the folder has no report of a shard (*.ndjson)".into(),
                ));
            }
            files[before..].sort_unstable();
        }
        files.iter().map(|file| read_lines(file)).collect()
    }
}

/// Reads one file. A last line that is cut, as a killed process leaves it, is left out.
pub(in crate::ci::suite) fn read_lines(file: &Path) -> Result<ShardFile, ShardFileError> {
    let refuse = |reason: String| ShardFileError {
        file: file.to_owned(),
        reason,
    };
    let opened = open_file(file).map_err(|error| refuse(error.to_string()))?;
    let mut lines = BufReader::new(opened);
    let (mut header, mut runs, mut end) = (None, Vec::new(), None);
    let mut text = Vec::new();
    for number in 1_usize.. {
        let at = |reason: &str| refuse(format!("line {number}: {reason}"));
        let read = bounded_line(&mut lines, &mut text, LONGEST);
        let is_whole = match read.map_err(|error| at(&error.to_string()))? {
            LineRead::End => break,
            LineRead::TooLong => return Err(at("the file is too long")),
            _ if number > MOST => return Err(at("the file is too long")),
            LineRead::Whole => true,
            LineRead::Cut => false,
        };
        match serde_json::from_slice(&text) {
            Ok(_) if end.is_some() => return Err(at("nothing follows the end")),
            Ok(Line::Suite(first)) if number == 1 => {
                header = Some(checked(first).map_err(|why| at(&why))?);
            }
            Ok(Line::Run(run)) if header.is_some() => runs.push(*run),
            Ok(Line::End(last)) if header.is_some() => end = Some(last),
            Ok(_) => {
                return Err(at(
                    "the file of a shard begins with one line about its suite",
                ));
            }
            Err(_) if !is_whole && number > 1 => break,
            Err(error) => {
                return Err(at(
                    &newer(&text).unwrap_or_else(|| format!("this is not of a shard: {error}"))
                ));
            }
        }
    }
    let header = header.ok_or_else(|| refuse("the file is empty".into()))?;
    if end.is_some_and(|end| end.cases != runs.len()) {
        return Err(refuse(
            "the last line gives another number of cases than the file has".into(),
        ));
    }
    Ok(ShardFile {
        file: file.to_owned(),
        header,
        runs,
        end,
    })
}

fn checked(header: Header) -> Result<Header, String> {
    if header.schema != SCHEMA {
        return Err(of_other_version(header.schema));
    }
    let is_shard = (1..=header.shards).contains(&header.shard) && header.attempt > 0;
    let is_sorted = header
        .cases
        .windows(2)
        .all(|pair| pair[0].name < pair[1].name);
    if !is_shard || !is_sorted || header.cases.is_empty() {
        return Err("the line about the suite contradicts itself".into());
    }
    Ok(header)
}

/// Why a line cannot be read, if a later version has written it.
fn newer(text: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(text).ok()?;
    let schema = value.get("suite")?.get("schema")?.as_u64()?;
    let schema = u32::try_from(schema)
        .ok()
        .filter(|schema| *schema != SCHEMA)?;
    Some(of_other_version(schema))
}

fn of_other_version(schema: u32) -> String {
    format!(
        "it has schema {schema}, this program reads schema {SCHEMA}; read it with the version that wrote it"
    )
}
