//! [`ProcessEnd`]: a process under test that has ended during a run, and what that means for the run.

use std::fmt;

use rustix::process::Signal;

use super::exit::How;
use crate::time::{Ros, Time};
use crate::untrusted::Foreign;

/// The signals that end a process which has failed. Others are sent by programs to each other in the ordinary course.
const CRASHES: [Signal; 10] = [
    Signal::ILL,
    Signal::TRAP,
    Signal::ABORT,
    Signal::BUS,
    Signal::FPE,
    Signal::KILL,
    Signal::SEGV,
    Signal::SYS,
    Signal::XCPU,
    Signal::XFSZ,
];

/// A process under test has ended, other than the one that was started. Displayed as a sentence without a full stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessEnd {
    /// Its number (PID).
    pub id: u32,
    /// The name of the program that it executed.
    pub name: String,
    /// How it ended; `None` if its parent had taken the result before this process could read it.
    pub how: Option<How>,
    /// The log time at which playback was then.
    pub at: Time<Ros>,
    /// It ran when the watch began.
    pub was_there: bool,
}

/// What the end of a process means for the run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Meaning {
    /// It failed: a signal has ended it, or its exit code is not 0.
    Failure,
    /// It may have failed: its result is not known.
    Unknown,
    /// It ended with exit code 0 although it was there from the beginning.
    Ended,
    /// It was started during the run, and has not crashed: many programs do that, such as scripts.
    Nothing,
}

impl ProcessEnd {
    /// What it means. Of a process that was started during the run only a crash counts.
    pub fn meaning(&self) -> Meaning {
        let is_crash = |number| CRASHES.iter().any(|signal| signal.as_raw() == number);
        match (self.was_there, self.how) {
            (_, Some(How::Signal(number))) if is_crash(number) => Meaning::Failure,
            (false, _) => Meaning::Nothing,
            (true, None | Some(How::Unknown | How::Lost)) => Meaning::Unknown,
            (true, Some(How::Code(0))) => Meaning::Ended,
            (true, Some(How::Code(_) | How::Signal(_))) => Meaning::Failure,
        }
    }
}

impl fmt::Display for ProcessEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, id, at) = (Foreign::text(&self.name), self.id, self.at);
        write!(f, "process {name} ({id}) ")?;
        match self.how {
            Some(how @ How::Code(_)) => write!(f, "ended with {how}"),
            Some(how @ How::Signal(_)) => write!(f, "was ended by {how}"),
            None | Some(How::Unknown | How::Lost) => f.write_str("ended with an unknown result"),
        }?;
        write!(f, " at {at}, before the end of the run")?;
        if self.how.is_none() {
            f.write_str("; its parent had taken the result")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(how: Option<How>, was_there: bool) -> ProcessEnd {
        ProcessEnd {
            id: 7,
            name: "slam\n".to_owned(),
            how,
            at: Time::from_nanos(1_500_000_000),
            was_there,
        }
    }

    #[test]
    fn what_an_end_means_depends_on_its_result_and_on_when_the_process_began() {
        for (how, at_first, later) in [
            (Some(How::Code(0)), Meaning::Ended, Meaning::Nothing),
            (Some(How::Code(1)), Meaning::Failure, Meaning::Nothing),
            (Some(How::Signal(15)), Meaning::Failure, Meaning::Nothing),
            (Some(How::Signal(11)), Meaning::Failure, Meaning::Failure),
            (Some(How::Signal(9)), Meaning::Failure, Meaning::Failure),
            (None, Meaning::Unknown, Meaning::Nothing),
        ] {
            let found = [true, false].map(|was_there| end(how, was_there).meaning());
            assert_eq!(found, [at_first, later], "{how:?}");
        }
    }

    #[test]
    fn an_end_is_a_sentence_with_name_result_and_log_time() {
        for (how, sentence) in [
            (
                Some(How::Code(3)),
                "process slam\\n (7) ended with exit code 3 at 1.500000000, before the end of the run",
            ),
            (
                Some(How::Signal(11)),
                "process slam\\n (7) was ended by signal 11 (SIGSEGV) at 1.500000000, before the end of the run",
            ),
            (
                None,
                "process slam\\n (7) ended with an unknown result at 1.500000000, before the end of the run; its parent had taken the result",
            ),
        ] {
            assert_eq!(end(how, true).to_string(), sentence);
        }
    }
}
