//! [`Exit`]: the exit codes of `play`, and [`ExitClass`]: whether another try may help.

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
    /// 5: an expectation, the comparison with a golden recording, or a repetition failed; a search found nothing.
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

    /// The exit of a process that ended with this code; [`Exit::Failed`] for codes that are not in the table.
    pub const fn of(code: u8) -> Self {
        match Self::known(code) {
            Some(exit) => exit,
            None => Self::Failed,
        }
    }

    /// The exit with this code, if it is in the table.
    pub const fn known(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Done,
            1 => Self::Failed,
            2 => Self::Usage,
            3 => Self::Recording,
            4 => Self::Timeout,
            5 => Self::Verdict,
            6 => Self::Child,
            130 => Self::Interrupted,
            143 => Self::Terminated,
            _ => return None,
        })
    }

    /// The class of this exit, by which CI decides whether to try again.
    pub const fn class(self) -> ExitClass {
        match self {
            Self::Done => ExitClass::Done,
            Self::Timeout | Self::Verdict | Self::Child => ExitClass::Verdict,
            Self::Failed | Self::Recording | Self::Interrupted | Self::Terminated => {
                ExitClass::Infrastructure
            }
            Self::Usage => ExitClass::Usage,
        }
    }

    /// How bad it is, the mildest first: by its class, and within a class by how much it explains of the others.
    pub const fn severity(self) -> (ExitClass, u8) {
        let within = match self {
            Self::Done | Self::Failed | Self::Usage => 0,
            Self::Verdict => 1,
            Self::Timeout => 2,
            Self::Child => 3,
            Self::Recording => 7,
            Self::Interrupted => 8,
            Self::Terminated => 9,
        };
        (self.class(), within)
    }

    /// Whether a signal asked for the end.
    pub const fn is_signal(self) -> bool {
        matches!(self, Self::Interrupted | Self::Terminated)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The classes of exit codes, the mildest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ExitClass {
    /// 0.
    Done,
    /// 4, 5 and 6: the system under test has failed. Trying again would only hide it.
    Verdict,
    /// 1, 3, 130, 143 and every other code: nothing is known of the system under test. Trying again may help.
    Infrastructure,
    /// 2: no run can succeed.
    Usage,
}

impl ExitClass {
    /// The class of a code.
    pub const fn of(code: u8) -> Self {
        Exit::of(code).class()
    }
}
