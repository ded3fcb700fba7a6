//! [`Failure`]: why the program ends early, and with which exit code.

use std::io::ErrorKind;

use bagplay::ci::child::ChildError;
use bagplay::cli::Exit;

/// An error and the exit code of the process.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
}

impl Failure {
    /// An error with its exit code.
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit,
            error: error.into(),
        }
    }

    /// A program under test cannot be started: the command line is wrong, or this machine is in the way.
    pub(crate) fn of_child(error: ChildError) -> Self {
        let exit = if error.is_usage() {
            Exit::Usage
        } else {
            Exit::Failed
        };
        Self::new(exit, error)
    }

    /// Whether the reader of our output has closed it, as with `play info … | head`.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        let io = self.error.downcast_ref::<std::io::Error>();
        io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    }
}

/// Removes the locations in zenoh's own source that zenoh puts into its errors.
pub(crate) fn plain(text: &str) -> String {
    let place = regex::Regex::new(r" at \S+\.rs:\d+\.?").expect("the expression is valid");
    place.replace_all(text, "").into_owned()
}

/// Gives an error its exit code.
pub(crate) trait OrExit<T> {
    /// The value, or a failure with this exit code.
    fn or_exit(self, exit: Exit) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrExit<T> for Result<T, E> {
    fn or_exit(self, exit: Exit) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(exit, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_cannot_start_a_program_is_no_usage_error() {
        let full = ChildError::Disk {
            folder: ".".into(),
            free: 0,
        };
        let refused = ChildError::Start {
            program: "node".to_owned(),
            source: ErrorKind::OutOfMemory.into(),
        };
        for (error, exit) in [
            (full, Exit::Failed),
            (refused, Exit::Failed),
            (ChildError::Empty, Exit::Usage),
        ] {
            assert_eq!(Failure::of_child(error).exit, exit);
        }
    }

    #[test]
    fn places_in_source_are_left_out() {
        let said = "tcp/1.2.3.4:1: refused at /x/zenoh-link-1/src/tcp.rs:61.: os error 98";
        assert_eq!(plain(said), "tcp/1.2.3.4:1: refused: os error 98");
    }
}
