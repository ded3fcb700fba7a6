//! [`ProcFile`]: a file of a thread in `/proc`, opened once and read again and again.
//!
//! An open file belongs to the thread for which it was opened: when the thread has ended, reading fails, even if its
//! number has been given to another thread.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

use super::error::LookError;
use super::look::ThreadId;

/// The errors of a thread that has ended.
const NO_SUCH_PROCESS: i32 = 3;

/// How many more files may be kept open. Files beyond that are opened for each reading.
#[derive(Debug)]
pub(super) struct Keep {
    left: u64,
}

impl Keep {
    /// Half of what the system allows this process.
    pub(super) fn new() -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        Self {
            left: limit.current.map_or(u64::MAX, |limit| limit / 2),
        }
    }

    /// None is kept.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { left: 0 }
    }
}

/// One file of a thread.
#[derive(Debug)]
pub(super) struct ProcFile {
    thread: ThreadId,
    name: &'static str,
    kept: Option<File>,
}

impl ProcFile {
    /// The file `name` below `/proc/PID/task/TID`. `None` if it is not there.
    pub(super) fn open(
        thread: ThreadId,
        name: &'static str,
        keep: &mut Keep,
    ) -> Result<Option<Self>, LookError> {
        let mut file = Self {
            thread,
            name,
            kept: None,
        };
        let Some(opened) = file.tried(File::open(file.path()))? else {
            return Ok(None);
        };
        if keep.left > 0 {
            keep.left -= 1;
            file.kept = Some(opened);
        }
        Ok(Some(file))
    }

    #[cfg(test)]
    pub(super) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Lets others keep a file open in place of this one.
    pub(super) fn close(self, keep: &mut Keep) {
        keep.left += u64::from(self.kept.is_some());
    }

    /// Reads the beginning of the file, as much as fits. `None` if the thread has ended or the file may not be read.
    pub(super) fn read<'a>(&self, buffer: &'a mut [u8]) -> Result<Option<&'a [u8]>, LookError> {
        let read = match &self.kept {
            Some(file) => read_at(file, buffer, 0),
            None => File::open(self.path()).and_then(|file| read_at(&file, buffer, 0)),
        };
        Ok(self.tried(read)?.map(|length| &buffer[..length]))
    }

    /// Reads the whole file, at most `most` bytes. `None` if the thread has ended or the file may not be read.
    pub(super) fn read_all(
        &self,
        text: &mut Vec<u8>,
        most: usize,
    ) -> Result<Option<()>, LookError> {
        let read = match &self.kept {
            Some(file) => read_whole(file, text, most),
            None => File::open(self.path()).and_then(|file| read_whole(&file, text, most)),
        };
        self.tried(read)
    }

    /// How many links it has, if it is a folder: two more than folders in it.
    pub(super) fn links(&self) -> Result<Option<u64>, LookError> {
        let read = match &self.kept {
            Some(file) => file.metadata(),
            None => fs::metadata(self.path()),
        };
        Ok(self.tried(read)?.map(|facts| facts.nlink()))
    }

    /// What the file says has another form than it should have.
    pub(super) fn malformed(&self) -> LookError {
        LookError::Form { path: self.path() }
    }

    fn path(&self) -> PathBuf {
        let ThreadId { process, thread } = self.thread;
        format!("/proc/{process}/task/{thread}/{}", self.name).into()
    }

    fn tried<T>(&self, read: io::Result<T>) -> Result<Option<T>, LookError> {
        absent_is_none(read).map_err(|error| LookError::Read {
            path: self.path(),
            error,
        })
    }
}

/// `None` if a thread has ended or its file may not be read.
pub(super) fn absent_is_none<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if error.raw_os_error() == Some(NO_SUCH_PROCESS)
                || matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
                ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Reads a file from its beginning, at most `most` bytes, into a buffer that is used again.
pub(super) fn read_whole(file: &File, text: &mut Vec<u8>, most: usize) -> io::Result<()> {
    let mut length = 0;
    loop {
        text.resize(text.capacity().max(length + 256).min(most.max(length)), 0);
        let read = read_at(file, &mut text[length..], length as u64)?;
        length += read;
        if read == 0 {
            text.truncate(length);
            return Ok(());
        }
    }
}

fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_is_read_whole_up_to_the_limit() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[b'1'; 5_000]).unwrap();
        let mut text = Vec::new();
        for (most, length) in [(10_000, 5_000), (5_000, 5_000), (700, 700), (0, 0)] {
            read_whole(&file, &mut text, most).unwrap();
            assert_eq!(text.len(), length);
        }
    }
}
