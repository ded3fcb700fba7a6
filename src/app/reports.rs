//! [`ReportTargets`]: the files into which a run or a suite writes its reports.
//!
//! A file that cannot be written is found before anything is played. Each is written beside its place and then renamed, so there
//! is never a part of a report.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bagplay::ci::report::{Reported, append_markdown, to_html, to_json, to_junit, to_markdown};
use bagplay::cli::{CiArgs, Exit, ReportFiles};
use bagplay::untrusted::Foreign;
use serde::Serialize;

use super::failure::{Failure, OrExit};

/// The longest summary in Markdown, in bytes: what GitHub takes.
const MOST_MARKDOWN: usize = 1 << 20;
/// The file to which a step of a GitHub workflow appends its summary.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The files into which reports are written.
#[derive(Debug, Default)]
pub(crate) struct ReportTargets {
    junit: Option<Target>,
    json: Option<Target>,
    markdown: Option<Target>,
    html: Option<Target>,
    summary: Option<PathBuf>,
}

/// A file that is written as a whole.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    way: Way,
}

/// How a file is written.
#[derive(Debug)]
enum Way {
    /// First beside its place, in this folder, and then renamed.
    Beside(PathBuf),
    /// In its place, because the folder takes no other file.
    InPlace,
    /// A device or a pipe (`/dev/stdout`). It is opened before the run, because a pipe needs a reader.
    Open(File),
}

impl ReportTargets {
    /// Those of a run; makes their folders.
    ///
    /// # Errors
    /// A usage error, if one cannot be written.
    pub(crate) fn of_run(args: &CiArgs) -> Result<Self, Failure> {
        Self::of(&ReportFiles {
            junit: args.junit.clone(),
            report: args.report.clone(),
            markdown: args.markdown.clone(),
            html: args.html.clone(),
        })
    }

    /// Those of a suite; makes their folders.
    ///
    /// # Errors
    /// A usage error, if one cannot be written.
    pub(crate) fn of(files: &ReportFiles) -> Result<Self, Failure> {
        let target = |flag, file: &Option<PathBuf>| {
            let target = file.as_ref().map(|file| Target::new(flag, file));
            target.transpose()
        };
        let summary = std::env::var_os(STEP_SUMMARY).map(PathBuf::from);
        Ok(Self {
            junit: target("--junit", &files.junit)?,
            json: target("--report", &files.report)?,
            markdown: target("--markdown", &files.markdown)?,
            html: target("--html", &files.html)?,
            summary: summary.filter(|file| !file.as_os_str().is_empty()),
        })
    }

    /// Writes all of them; `json` is what the report in JSON has, the others are about `reported`.
    ///
    /// # Errors
    /// The first one that failed; the others have been written.
    pub(crate) fn write<'a>(
        &self,
        reported: impl Into<Reported<'a>>,
        json: &impl Serialize,
    ) -> Result<(), Failure> {
        let runs = reported.into();
        let junit = || Ok(to_junit(runs)?);
        let json = || Ok(to_json(json)?.into_bytes());
        let markdown = || Ok(to_markdown(runs, MOST_MARKDOWN).into_bytes());
        let html = || Ok(to_html(runs).into_bytes());
        let written = [
            save(self.junit.as_ref(), junit),
            save(self.json.as_ref(), json),
            save(self.markdown.as_ref(), markdown),
            save(self.html.as_ref(), html),
        ];
        if let Some(file) = &self.summary {
            // The result is what counts, not where it is shown.
            if let Err(error) = append_markdown(file, runs) {
                tracing::warn!("{STEP_SUMMARY}: {}: {error}", Foreign::path(file));
            }
        }
        let first = written.into_iter().collect::<anyhow::Result<()>>();
        first.or_exit(Exit::Failed)
    }
}

fn save(
    target: Option<&Target>,
    text: impl FnOnce() -> anyhow::Result<Vec<u8>>,
) -> anyhow::Result<()> {
    match target {
        Some(target) => target.write(&text()?),
        None => Ok(()),
    }
}

impl Target {
    /// A file that a flag names; makes its folder.
    ///
    /// # Errors
    /// A usage error, if it cannot be written.
    pub(crate) fn new(flag: &str, file: &Path) -> Result<Self, Failure> {
        let target = find(file).with_context(|| format!("{flag}: {}", unwritable(file)));
        target.or_exit(Exit::Usage)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Names the file, which is as it was, unless it was written in its place.
    pub(crate) fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        let written = match &self.way {
            Way::Beside(folder) => replace(folder, &self.path, |file| file.write_all(bytes)),
            Way::InPlace => fs::write(&self.path, bytes),
            Way::Open(file) => (&*file).write_all(bytes),
        };
        written.with_context(|| unwritable(&self.path))
    }

    /// Copies another file there.
    ///
    /// # Errors
    /// As [`Target::write`], or if the other file cannot be read.
    pub(crate) fn copy(&self, from: &Path) -> anyhow::Result<()> {
        let read = || format!("{} cannot be read", Foreign::path(from));
        let mut source = File::open(from).with_context(read)?;
        let copied = match &self.way {
            Way::Beside(folder) => replace(folder, &self.path, |file| {
                io::copy(&mut source, file).map(drop)
            }),
            Way::InPlace => fs::copy(from, &self.path).map(drop),
            Way::Open(file) => io::copy(&mut source, &mut &*file).map(drop),
        };
        copied.with_context(|| unwritable(&self.path))
    }
}

fn unwritable(file: &Path) -> String {
    format!("{} cannot be written", Foreign::path(file))
}

fn find(file: &Path) -> io::Result<Target> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder)?;
    // A link stays a link.
    let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = path.parent().unwrap_or(folder).to_owned();
    let folder = if folder.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        folder
    };
    let way = match fs::metadata(&path) {
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => Way::Open(open_device(&path, &found)?),
        _ => match beside(&folder) {
            Ok(_) => Way::Beside(folder),
            Err(error) => match OpenOptions::new().write(true).open(&path) {
                Ok(_) => Way::InPlace,
                Err(_) => return Err(error),
            },
        },
    };
    Ok(Target { path, way })
}

/// Opens a device or a pipe for writing. A pipe that nobody reads is an error, because a reader may never come.
fn open_device(path: &Path, about: &fs::Metadata) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;

        use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = open(path, flags | OFlags::NONBLOCK, Mode::empty());
        let opened = opened.map_err(|error| {
            if error == rustix::io::Errno::NXIO && about.file_type().is_fifo() {
                io::Error::other("nobody reads this pipe; hint: start its reader first")
            } else {
                error.into()
            }
        })?;
        // From here on, a write waits for a slow reader.
        fcntl_setfl(&opened, OFlags::empty())?;
        Ok(opened.into())
    }
    #[cfg(not(unix))]
    {
        let _ = about;
        OpenOptions::new().write(true).open(path)
    }
}

/// A temporary file. An error of the system does not name it.
fn beside(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".report-");
    // The umask of the user decides who can read the file. By default nobody else could.
    builder.make_in(folder, |path| File::create_new(path))
}

fn replace(
    folder: &Path,
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = beside(folder)?;
    write(file.as_file_mut())?;
    if let Ok(former) = fs::metadata(path) {
        file.as_file().set_permissions(former.permissions())?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
