//! [`Program`]: what is started, with which environment, and where its output goes.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::ChildError;
use super::limits::Limits;
use crate::ci::isolation::RunFolder;

/// Which processes count as started by a program when they are children of this process, have left the group of the
/// program and were not seen in it before: daemons.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Claims {
    /// Those that have the environment of the program: the variable by which it is marked.
    #[default]
    Marked,
    /// Also those without it. For a process whose only children are programs under test, one at a time.
    AllChildren,
}

/// A program under test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The program and its arguments. A name without `/` is looked for in `PATH`; a relative path is relative to
    /// `directory`.
    pub command: Vec<OsString>,
    /// Variables beside those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory; `None`: that of this process.
    pub directory: Option<PathBuf>,
    /// The file for its standard output. What was in it is removed.
    pub stdout: PathBuf,
    /// The file for its standard error. What was in it is removed.
    pub stderr: PathBuf,
    /// When it is ended because it writes too much.
    pub limits: Limits,
    /// Which daemons are its.
    pub claims: Claims,
}

impl Program {
    /// A command whose output goes into the folder of the run.
    pub fn new<W: Into<OsString>>(
        command: impl IntoIterator<Item = W>,
        folder: &RunFolder,
    ) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            directory: None,
            stdout: folder.stdout(),
            stderr: folder.stderr(),
            limits: Limits::default(),
            claims: Claims::default(),
        }
    }

    /// The name by which it is shown: the last part of its path. Of `ros2 run PACKAGE NAME`, `ros2 launch PACKAGE FILE`
    /// and `python3 FILE` what they start. `env` and its assignments are left out.
    pub fn name(&self) -> String {
        shown_name(&self.command)
    }

    /// The words of its command line.
    pub fn words(&self) -> Vec<String> {
        let words = self.command.iter();
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    /// The command for the system: a process group of its own, no standard input, output to its files.
    pub(super) fn to_command(&self) -> Result<Command, ChildError> {
        let [program, arguments @ ..] = self.command.as_slice() else {
            return Err(ChildError::Empty);
        };
        if program.is_empty() {
            return Err(ChildError::Empty);
        }
        if let Some(path) = self.directory.as_ref().filter(|path| !path.is_dir()) {
            return Err(ChildError::Directory { path: path.clone() });
        }
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log_file(&self.stdout)?)
            .stderr(log_file(&self.stderr)?)
            .process_group(0);
        if std::env::var_os("PYTHONUNBUFFERED").is_none() {
            // Otherwise a Python program that crashes takes its last lines with it: its output is no terminal.
            command.env("PYTHONUNBUFFERED", "1");
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        Ok(command)
    }

    /// Why the system did not start it.
    pub(super) fn refused(&self, source: io::Error) -> ChildError {
        let given = self
            .command
            .first()
            .map_or(OsStr::new(""), OsString::as_os_str);
        let program = given.to_string_lossy().into_owned();
        let is_path = given.as_encoded_bytes().contains(&b'/');
        let place = self.directory.clone().unwrap_or_default().join(given);
        match source.kind() {
            io::ErrorKind::NotFound if is_path && place.exists() => ChildError::NotExecutable {
                program,
                reason: "the interpreter that its first line names is not found",
            },
            io::ErrorKind::NotFound => ChildError::NotFound {
                program,
                reason: if is_path { "" } else { " in PATH" },
            },
            io::ErrorKind::PermissionDenied if is_path && place.is_dir() => {
                ChildError::NotExecutable {
                    program,
                    reason: "it is a directory",
                }
            }
            io::ErrorKind::PermissionDenied => ChildError::NotExecutable {
                program,
                reason: "permission denied; hint: chmod +x",
            },
            _ if source.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
                ChildError::NotExecutable {
                    program,
                    reason: "it is no program of this system; hint: a script begins with #! and its interpreter",
                }
            }
            _ => ChildError::Start { program, source },
        }
    }
}

/// The name by which the program of a command line is shown.
pub(super) fn shown_name(command: &[OsString]) -> String {
    let skipped = words_of_env(command);
    let word = |at: usize| {
        let word = command.get(skipped + at)?;
        let last = Path::new(word).file_name().unwrap_or(word);
        Some(last.to_string_lossy().into_owned())
    };
    let first = word(0).unwrap_or_default();
    let started = match (first.as_str(), word(1).as_deref()) {
        ("ros2", Some("run" | "launch")) => word(3),
        (python, Some(file)) if python.starts_with("python") && !file.starts_with('-') => word(1),
        _ => None,
    };
    started
        .filter(|name| !name.starts_with('-'))
        .unwrap_or(first)
}

/// How many words of a command line belong to an `env` before the program.
fn words_of_env(command: &[OsString]) -> usize {
    if command.first().is_none_or(|first| first != "env") {
        return 0;
    }
    let rest = command[1..].iter();
    let assignments = rest.take_while(|word| word.to_string_lossy().contains('='));
    let words = 1 + assignments.count();
    // `env` without a program is a program itself.
    if words < command.len() { words } else { 0 }
}

/// A new file, to which every writer appends. The program writes into it by itself, so that nothing of this process can
/// hold it up.
fn log_file(path: &Path) -> Result<File, ChildError> {
    let made = File::create(path).and_then(|_| OpenOptions::new().append(true).open(path));
    made.map_err(|source| ChildError::Log {
        path: path.to_path_buf(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::isolation::Earlier;

    fn program(words: &[&str]) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let folder = RunFolder::make(folder.path(), Earlier::Refuse).unwrap();
        Program::new(words, &folder)
    }

    #[test]
    fn a_program_is_named_after_what_it_starts() {
        for (words, name) in [
            (&["/opt/bin/node", "x"][..], "node"),
            (
                &["ros2", "run", "my_slam", "slam_node", "--ros-args"],
                "slam_node",
            ),
            (
                &["ros2", "launch", "my_slam", "all.launch.py"],
                "all.launch.py",
            ),
            (&["ros2", "run", "my_slam", "--help"], "ros2"),
            (&["ros2", "topic"], "ros2"),
            (&["python3", "/x/node.py", "1"], "node.py"),
            (&["python3", "-m", "node"], "python3"),
            (&["env", "A=1", "B=2", "python3", "/x/node.py"], "node.py"),
            (&["env"], "env"),
            (&["env", "A=1"], "env"),
            (&[], ""),
        ] {
            assert_eq!(program(words).name(), name, "{words:?}");
        }
    }

    #[test]
    fn what_cannot_be_started_is_a_usage_error() {
        let error = program(&[]).to_command().unwrap_err();
        assert!(error.is_usage() && matches!(error, ChildError::Empty));
        let mut nowhere = program(&["true"]);
        nowhere.directory = Some("/nowhere/\n".into());
        let error = nowhere.to_command().unwrap_err();
        assert!(error.is_usage());
        assert!(error.to_string().contains("/nowhere/\\n"), "{error}");
    }
}
