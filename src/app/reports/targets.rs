//! [`ReportTargets`]: where the reports of a run or a suite go.
//!
//! A file that cannot be written is found before anything is played. Each is written beside its place and then renamed,
//! so there is never a part of a report.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use bagplay::ci::report::{Reported, append_markdown, to_html, to_json, to_junit, to_markdown};
use bagplay::cli::{CiArgs, Exit, ReportFiles};
use bagplay::untrusted::Foreign;
use serde::Serialize;

use super::device::Device;
use crate::app::failure::{Failure, OrExit};
use crate::app::signals::asked;

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
    /// Whether the name that was given is a link to `path`.
    is_linked: bool,
    way: Way,
}

/// How a file is written.
#[derive(Debug)]
enum Way {
    /// First beside its place, and then renamed.
    Beside(Place),
    /// In its place, because the folder takes no other file.
    InPlace,
    /// A device or a pipe (`/dev/stdout`). It is opened before the run, because a pipe needs a reader.
    Open(Device),
}

/// Where a new file takes the place of the one of an earlier run.
#[derive(Debug)]
struct Place {
    folder: PathBuf,
    /// Those of the earlier file.
    permissions: Option<Permissions>,
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

    /// Removes the reports of an earlier run: if this one writes none, those must not be taken for its own.
    ///
    /// # Errors
    /// Names the file that cannot be removed.
    pub(crate) fn remove_earlier(&self) -> Result<(), Failure> {
        let all = [&self.junit, &self.json, &self.markdown, &self.html];
        let mut all = all.into_iter().flatten();
        all.try_for_each(Target::remove_earlier)
            .or_exit(Exit::Usage)
    }

    /// Writes all of them; `json` is what the report in JSON has, the others are about `reported`. After `until`, the
    /// reader of a pipe may take nothing for a second at most.
    ///
    /// # Errors
    /// The first one that failed; the others have been written.
    pub(crate) fn write<'a>(
        &self,
        reported: impl Into<Reported<'a>>,
        json: &impl Serialize,
        until: Option<Instant>,
    ) -> Result<(), Failure> {
        let runs = reported.into();
        let junit = || Ok(to_junit(runs)?);
        let json = || Ok(to_json(json)?.into_bytes());
        let markdown = || Ok(to_markdown(runs, MOST_MARKDOWN).into_bytes());
        let html = || Ok(to_html(runs).into_bytes());
        let written = [
            save(self.junit.as_ref(), junit, until),
            save(self.json.as_ref(), json, until),
            save(self.markdown.as_ref(), markdown, until),
            save(self.html.as_ref(), html, until),
        ];
        if let Some(file) = &self.summary {
            // The result is what counts, not where it is shown.
            if let Err(error) = append_markdown(file, runs) {
                tracing::warn!("{STEP_SUMMARY}: {error}");
            }
        }
        let first = written.into_iter().collect::<anyhow::Result<()>>();
        first.map_err(|error| {
            let io = error.downcast_ref::<io::Error>();
            let has_waited = io.is_some_and(|it| it.kind() == io::ErrorKind::TimedOut);
            let asked = asked().filter(|_| has_waited);
            Failure::new(asked.unwrap_or(Exit::Failed), error)
        })
    }
}

fn save(
    target: Option<&Target>,
    text: impl FnOnce() -> anyhow::Result<Vec<u8>>,
    until: Option<Instant>,
) -> anyhow::Result<()> {
    match target {
        Some(target) => target.write(&text()?, until),
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

    /// Removes the file of an earlier run, or empties it if it is reached by a link or its folder may not be changed.
    ///
    /// # Errors
    /// Names the file.
    pub(crate) fn remove_earlier(&self) -> anyhow::Result<()> {
        let removed = match &self.way {
            // Without the file, the link would lead nowhere.
            Way::Beside(_) if self.is_linked => fs::write(&self.path, ""),
            Way::Beside(_) => match fs::remove_file(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
            Way::InPlace => fs::write(&self.path, ""),
            Way::Open(_) => Ok(()),
        };
        removed.with_context(|| format!("{} cannot be replaced", Foreign::path(&self.path)))
    }

    /// Writes the file. After `until`, the reader of a pipe may take nothing for a second at most.
    ///
    /// # Errors
    /// Names the file, which is as it was, unless it was written in its place.
    pub(crate) fn write(&self, bytes: &[u8], until: Option<Instant>) -> anyhow::Result<()> {
        let written = match &self.way {
            Way::Beside(place) => place.write(&self.path, |file| file.write_all(bytes)),
            Way::InPlace => fs::write(&self.path, bytes),
            Way::Open(device) => device.writer(until).write_all(bytes),
        };
        written.with_context(|| unwritable(&self.path))
    }

    /// Copies another file there.
    ///
    /// # Errors
    /// As [`Target::write`], or if the other file cannot be read.
    pub(crate) fn copy(&self, from: &Path, until: Option<Instant>) -> anyhow::Result<()> {
        let read = || format!("{} cannot be read", Foreign::path(from));
        let mut source = File::open(from).with_context(read)?;
        let copied = match &self.way {
            Way::Beside(place) => {
                place.write(&self.path, |file| io::copy(&mut source, file).map(drop))
            }
            Way::InPlace => fs::copy(from, &self.path).map(drop),
            Way::Open(device) => io::copy(&mut source, &mut device.writer(until)).map(drop),
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
        Ok(found) if let Some(device) = Device::of_output(&path, &found)? => Way::Open(device),
        Ok(found) if !found.is_file() => Way::Open(Device::open(&path, &found)?),
        _ => match beside(&folder) {
            Ok(_) => Way::Beside(Place {
                permissions: fs::metadata(&path).ok().map(|it| it.permissions()),
                folder,
            }),
            Err(error) => match OpenOptions::new().write(true).open(&path) {
                Ok(_) => Way::InPlace,
                Err(_) => return Err(error),
            },
        },
    };
    Ok(Target {
        is_linked: fs::symlink_metadata(file).is_ok_and(|it| it.is_symlink()),
        path,
        way,
    })
}

impl Place {
    fn write(
        &self,
        path: &Path,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut file = beside(&self.folder)?;
        write(file.as_file_mut())?;
        if let Some(permissions) = &self.permissions {
            file.as_file().set_permissions(permissions.clone())?;
        }
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// A temporary file. An error of the system does not name it.
fn beside(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".report-");
    // The umask of the user decides who can read the file. By default nobody else could.
    builder.make_in(folder, |path| File::create_new(path))
}
