//! A program whose launcher has ended before it was looked at: the system has handed it to the process that looks.
//!
//! The process that looks is a program of its own: in this process, other tests have children, too.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::Command;

use bagplay::ci::settle::{Processes, Settler};

use super::programs::{Program, READY, ready, this_program, with_socket};
use crate::support::patience::{PATIENCE, until};

const ROUNDS: u8 = 200;
/// Starts its arguments as a program with the same input, below a shell that ends, and runs on itself until the pipe
/// that it has as its standard error is closed. It never stands in a sleep: one that began to sleep after the first
/// looks would not have settled.
const LAUNCHER: &str = r#"exec 3<&0 4<&2 2>/dev/null; ("$0" "$@" <&3 4<&- &); exec cat <&4"#;

#[test]
fn a_program_whose_launcher_has_ended_is_looked_at() {
    let mut looking = Program::start("adopting");
    looking.send(0);
    assert_eq!(looking.wait_answer(), 0, "messages without an answer");
}

/// Sends messages to a program that a launcher has left, each after the program has settled. Answers on the socket with
/// the number of messages that the program had not answered when it had settled.
pub(super) fn adopting(mut socket: UnixStream) {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let (mut answers, of_child) = UnixStream::pair().unwrap();
    let program = this_program("compute 2");
    let mut launcher = Command::new("sh");
    launcher.args(["-c", LAUNCHER]).arg(program.get_program());
    launcher.args(program.get_args());
    let variables = program.get_envs();
    launcher.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    let (until_closed, _open) = std::io::pipe().unwrap();
    let mut launcher = with_socket(launcher, of_child);
    let mut launcher = launcher.stderr(until_closed).spawn().unwrap();
    ready(&mut answers);
    let line = format!("/proc/{}/cmdline", launcher.id());
    until("the shell between has ended", || {
        std::fs::read(&line).unwrap() == b"cat\0"
    });
    answers.set_nonblocking(true).unwrap();
    let processes = Processes::Started(vec![launcher.id()]);
    let mut settler = Settler::new(processes, &[]).unwrap();
    socket.write_all(&[READY]).unwrap();
    socket.read_exact(&mut [0]).unwrap();
    let mut missing = 0_u8;
    for message in 0..ROUNDS {
        settler.mark().unwrap();
        answers.write_all(&[message]).unwrap();
        settler.settle(PATIENCE).unwrap();
        let mut byte = [0];
        if answers.read(&mut byte).ok() != Some(1) || byte != [message] {
            missing += 1;
        }
    }
    launcher.kill().unwrap();
    launcher.wait().unwrap();
    socket.write_all(&[missing]).unwrap();
}
