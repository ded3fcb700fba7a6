//! [`ChildExit`]: how a program ended, as a value and in words.

use std::fmt;
use std::time::Duration;

use rustix::process::{Signal, WaitIdStatus};
use serde::{Deserialize, Serialize};

use crate::ci::child::limits::Reached;
use crate::untrusted::Foreign;

/// How a process ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// The result is unknown, for example because this process was started with SIGCHLD ignored: then the kernel keeps
    /// none.
    Unknown,
    /// The process that had started the program has ended, so it is unknown whether the program still runs.
    Lost,
}

/// A program has ended. Displayed as a sentence without a full stop.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ChildExit {
    /// The name of the program.
    pub name: String,
    /// How it ended.
    pub how: How,
    /// The wall time from its start to its end.
    pub after: Duration,
    /// The limit that it reached; then it was ended by this process.
    pub reached: Option<Reached>,
}

impl ChildExit {
    /// Whether it ended by itself, with exit code 0.
    pub fn is_success(&self) -> bool {
        self.how == How::Code(0) && self.reached.is_none()
    }
}

impl How {
    pub(in crate::ci::child) fn of(status: &WaitIdStatus) -> Option<Self> {
        let code = status.exit_status().map(Self::Code);
        code.or_else(|| status.terminating_signal().map(Self::Signal))
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => {
                write!(f, "exit code {code}")?;
                // A shell reports the signal that ended its last command in this way.
                let signal = code.checked_sub(128).filter(|number| *number > 0);
                match signal.and_then(signal_name) {
                    Some(name) => write!(f, " (128 + {name})"),
                    None => Ok(()),
                }
            }
            Self::Signal(number) => match signal_name(number) {
                Some(name) => write!(f, "signal {number} ({name})"),
                None => write!(f, "signal {number}"),
            },
            Self::Unknown => f.write_str("an unknown result"),
            Self::Lost => f.write_str("an unknown result: the process that held it was lost"),
        }
    }
}

impl fmt::Display for ChildExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Foreign::text(&self.name);
        let seconds = self.after.as_secs_f64();
        match (&self.reached, self.how) {
            (Some(reached), _) => write!(
                f,
                "{name} was ended after {seconds:.1} s, because {reached}"
            ),
            (None, How::Code(_) | How::Unknown) => {
                write!(f, "{name} ended with {} after {seconds:.1} s", self.how)
            }
            (None, How::Lost) => write!(
                f,
                "the process that holds {name} was lost: it was killed, maybe for lack of memory"
            ),
            (None, How::Signal(_)) => {
                write!(f, "{name} was ended by {} after {seconds:.1} s", self.how)
            }
        }
    }
}

/// The name of a signal of this system: `SIGSEGV`; `None` for a number without a name.
pub fn signal_name(number: i32) -> Option<&'static str> {
    const NAMES: [(Signal, &str); 24] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::CHILD, "SIGCHLD"),
        (Signal::CONT, "SIGCONT"),
        (Signal::STOP, "SIGSTOP"),
        (Signal::TSTP, "SIGTSTP"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::VTALARM, "SIGVTALRM"),
        (Signal::PROF, "SIGPROF"),
        (Signal::SYS, "SIGSYS"),
    ];
    let mut names = NAMES.iter();
    names
        .find(|(signal, _)| signal.as_raw() == number)
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(how: How) -> ChildExit {
        ChildExit {
            name: "slam_node".to_owned(),
            how,
            after: Duration::from_millis(12_345),
            reached: None,
        }
    }

    #[test]
    fn an_end_is_a_sentence() {
        for (how, sentence) in [
            (
                How::Code(1),
                "slam_node ended with exit code 1 after 12.3 s",
            ),
            (
                How::Signal(Signal::SEGV.as_raw()),
                "slam_node was ended by signal 11 (SIGSEGV) after 12.3 s",
            ),
            (
                How::Code(139),
                "slam_node ended with exit code 139 (128 + SIGSEGV) after 12.3 s",
            ),
            (
                How::Code(255),
                "slam_node ended with exit code 255 after 12.3 s",
            ),
            (
                How::Code(i32::MIN),
                "slam_node ended with exit code -2147483648 after 12.3 s",
            ),
            (
                How::Unknown,
                "slam_node ended with an unknown result after 12.3 s",
            ),
            (
                How::Lost,
                "the process that holds slam_node was lost: it was killed, maybe for lack of memory",
            ),
            (
                How::Signal(64),
                "slam_node was ended by signal 64 after 12.3 s",
            ),
        ] {
            assert_eq!(exit(how).to_string(), sentence);
        }
        assert!(exit(How::Code(0)).is_success() && !exit(How::Code(2)).is_success());
    }

    #[test]
    fn a_limit_is_the_reason_whatever_the_signal() {
        let reached = Some(Reached::Output {
            file: "stdout.log".to_owned(),
            bytes: 12 << 20,
            limit: 10 << 20,
        });
        let exit = ChildExit {
            reached,
            ..exit(How::Signal(9))
        };
        assert_eq!(
            exit.to_string(),
            "slam_node was ended after 12.3 s, because it wrote 12.0 MiB to stdout.log, more than the limit of 10.0 MiB"
        );
        assert!(
            !ChildExit {
                how: How::Code(0),
                ..exit
            }
            .is_success()
        );
    }
}
