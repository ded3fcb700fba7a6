//! [`Exit`]: the exit codes of the process.

use std::process::ExitCode;

/// The exit codes of `play`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Exit {
    /// 0: done.
    Done,
    /// 1: failed while running: the network was lost, or a defect of this program.
    Failed,
    /// 2: a usage error.
    Usage,
    /// 3: a recording is unreadable; with `--strict` also: it is damaged.
    Recording,
    /// 4: no subscriber or no answer in time: of the program under test, of a player.
    Timeout,
    /// 5: an expectation, the comparison with a golden recording, or a repetition failed.
    Verdict,
    /// 6: the program under test failed.
    Child,
    /// 130: interrupted (SIGINT).
    Interrupted,
    /// 143: terminated (SIGTERM, SIGHUP).
    Terminated,
}

impl Exit {
    /// The number for the shell.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Recording => 3,
            Self::Timeout => 4,
            Self::Verdict => 5,
            Self::Child => 6,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// The exit of a process that ended with this code; 1 for codes that are not in the table.
    pub const fn of(code: u8) -> Self {
        match code {
            0 => Self::Done,
            2 => Self::Usage,
            3 => Self::Recording,
            4 => Self::Timeout,
            5 => Self::Verdict,
            6 => Self::Child,
            130 => Self::Interrupted,
            143 => Self::Terminated,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The exit codes as listed in the long help.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed while running: the network was lost, or a defect of this program
  2    invalid command line
  3    a recording is unreadable; with --strict also: it is damaged
  4    no subscriber within --wait-timeout, no answer within --gate-timeout, or not done within --timeout
  5    an expectation, the comparison with --golden, or a repetition failed
  6    the program under test failed
  130  interrupted; 143 if terminated";
