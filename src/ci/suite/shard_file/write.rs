//! [`ShardWriter`]: writes the file of a shard, line by line. No file is ever overwritten.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::lines::{End, Header, Line, Why};
use crate::ci::report::RunRecord;

/// The file of one shard.
#[derive(Debug)]
pub struct ShardWriter {
    file: File,
    path: PathBuf,
    attempt: u32,
    cases: usize,
}

impl ShardWriter {
    /// Makes `SHARD-ATTEMPT.ndjson` in the folder, which is made if it is not there, and writes the header. If that
    /// file is there already, the number of the attempt goes up until there is none.
    pub fn create(folder: &Path, mut header: Header) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        header.attempt = header.attempt.max(1);
        let (file, path) = loop {
            let path = folder.join(format!("{}-{}.ndjson", header.shard, header.attempt));
            match OpenOptions::new().append(true).create_new(true).open(&path) {
                Ok(file) => break (file, path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    header.attempt = header.attempt.checked_add(1).ok_or(error)?;
                }
                Err(error) => return Err(error),
            }
        };
        let mut writer = Self {
            file,
            path,
            attempt: header.attempt,
            cases: 0,
        };
        writer.write(&Line::Suite(header))?;
        Ok(writer)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How often this shard was tried, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// A case has ended.
    pub fn add(&mut self, run: &RunRecord) -> io::Result<()> {
        self.cases += 1;
        self.write(&Line::Run(Box::new(run.clone())))
    }

    /// The shard has ended.
    pub fn finish(mut self, why: Why) -> io::Result<()> {
        let cases = self.cases;
        self.write(&Line::End(End { why, cases }))?;
        self.file.sync_all()
    }

    /// With one call for the whole line: what a killed process leaves has at most one line that is cut.
    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.file.write_all(&text)
    }
}
