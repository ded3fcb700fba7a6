//! [`Device`]: a device or a pipe into which a report is written. A reader that takes nothing is waited for until the
//! program is to end.

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bagplay::untrusted::Foreign;

use crate::app::signals::asked;

/// How long a reader may take nothing after the program was asked to end.
const GRACE: Duration = Duration::from_secs(1);
/// How often it is looked whether the program is to end.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// After so long a line of the log says that the reader takes nothing.
const SILENCE: Duration = Duration::from_secs(2);

/// A device or a pipe, open for writing.
#[derive(Debug)]
pub(super) struct Device {
    path: PathBuf,
    file: File,
}

impl Device {
    /// Opens it. A pipe that nobody reads is an error, because a reader may never come.
    pub(super) fn open(path: &Path, about: &Metadata) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: open(path, about)?,
        })
    }

    /// The file to which standard output or standard error goes, if this is one of them. It must not be replaced, and
    /// what is written comes after what is there.
    pub(super) fn of_output(path: &Path, about: &Metadata) -> io::Result<Option<Self>> {
        let file = output_of(about)?;
        Ok(file.map(|file| Self {
            path: path.to_owned(),
            file,
        }))
    }

    /// Writes into it. `until` is the end of the program's time, if that is limited.
    pub(super) fn writer(&self, until: Option<Instant>) -> impl Write {
        Writer {
            device: self,
            until,
            has_said: false,
            has_space: false,
        }
    }
}

/// Waits for the reader.
struct Writer<'a> {
    device: &'a Device,
    until: Option<Instant>,
    /// Whether the log says that the reader is waited for.
    has_said: bool,
    /// Whether the system has said since the last write that the file takes more.
    has_space: bool,
}

impl Writer<'_> {
    /// Waits for a moment. An error ends the wait: the reader has taken nothing from `since` on, and the program is to
    /// end.
    #[expect(
        clippy::disallowed_methods,
        reason = "the rim of the program, and a wait for which there is no event"
    )]
    fn wait(&mut self, since: Instant) -> io::Result<()> {
        let now = Instant::now();
        let is_late = self.until.is_some_and(|until| until <= now);
        let silence = now.saturating_duration_since(since);
        if silence >= GRACE && (is_late || asked().is_some()) {
            let why = "its reader does not read";
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        if silence >= SILENCE && !self.has_said {
            self.has_said = true;
            let path = Foreign::path(&self.device.path);
            tracing::warn!("waiting for the reader of {path}, which does not read");
        }
        if std::mem::take(&mut self.has_space) {
            // It does not: a terminal that was stopped with ctrl-S.
            std::thread::sleep(LOOK_AGAIN);
        } else {
            self.has_space = wait_for_space(&self.device.file)?;
        }
        Ok(())
    }
}

impl Write for Writer<'_> {
    #[expect(clippy::disallowed_methods, reason = "the rim of the program")]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let since = Instant::now();
        self.has_space = false;
        loop {
            match (&self.device.file).write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(since)?,
                // A closed standard output is no failure, but the report is lost.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Err(io::Error::other("its reader has closed it"));
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
fn open(path: &Path, about: &Metadata) -> io::Result<File> {
    use std::os::unix::fs::FileTypeExt as _;

    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;
    // A write that would wait returns, so that a signal can end the program.
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let opened = opened.map_err(|error| {
        if error == Errno::NXIO && about.file_type().is_fifo() {
            io::Error::other("nobody reads this pipe; hint: start its reader first")
        } else {
            error.into()
        }
    })?;
    Ok(opened.into())
}

#[cfg(unix)]
fn output_of(about: &Metadata) -> io::Result<Option<File>> {
    use std::os::fd::{AsFd, BorrowedFd};
    use std::os::unix::fs::MetadataExt as _;
    let is_it = |output: BorrowedFd<'_>| {
        let found = rustix::fs::fstat(output);
        // The number of a device has another type on other systems.
        let is_same = |dev: i128, ino| (dev, ino) == (about.dev().into(), about.ino());
        found.is_ok_and(|found| is_same(found.st_dev.into(), found.st_ino))
    };
    let (out, err) = (rustix::stdio::stdout(), rustix::stdio::stderr());
    let output = [out, err].into_iter().find(|output| is_it(*output));
    let output = output.filter(|_| about.is_file());
    let copy = output.map(|output| output.as_fd().try_clone_to_owned());
    Ok(copy.transpose()?.map(File::from))
}

#[cfg(not(unix))]
fn output_of(_: &Metadata) -> io::Result<Option<File>> {
    Ok(None)
}

#[cfg(not(unix))]
fn open(path: &Path, _: &Metadata) -> io::Result<File> {
    std::fs::OpenOptions::new().write(true).open(path)
}

/// Returns `true` when the file takes more, and `false` after a short while.
#[cfg(unix)]
fn wait_for_space(file: &File) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let look_again = Timespec::try_from(LOOK_AGAIN).map_err(io::Error::other)?;
    let mut files = [PollFd::new(file, PollFlags::OUT)];
    match poll(&mut files, Some(&look_again)) {
        Ok(number) => Ok(number > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn wait_for_space(_: &File) -> io::Result<bool> {
    Ok(true)
}
