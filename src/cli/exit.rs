//! The exit codes of the process, and their text for the help.

pub use crate::ci::report::Exit;

/// The exit codes as listed in the long help.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed while running: the network was lost, or a defect of this program
  2    invalid command line
  3    a recording is unreadable; with --strict also: it is damaged
  4    no subscriber within --wait-timeout, no answer within --gate-timeout, or not done within --timeout
  5    an expectation, the comparison with --golden, or a repetition failed; nothing was found
  6    the program under test failed
  130  interrupted; 143 if terminated";
