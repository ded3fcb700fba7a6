//! Programs that are looked at: this test program itself, started once more with the name of one of them.
//!
//! Each reads messages of one byte from a socket (its standard input) and answers each with the same byte.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::patience::PATIENCE;

const PROGRAM: &str = "BAGPLAY_SETTLE_PROGRAM";
const ENTRY: &str = "ci::programs::a_program_answers_what_it_is_sent";
/// Sent by a program when it is ready for messages.
pub(super) const READY: u8 = 0xff;

/// A program that runs. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    socket: UnixStream,
}

impl Program {
    /// Starts a program, in a process group of its own, and waits until it is ready.
    pub(crate) fn start(name: &str) -> Self {
        Self::start_as(name, |command| command)
    }

    /// The same, started by another command that is made of the usual one.
    pub(crate) fn start_as(name: &str, change: impl FnOnce(Command) -> Command) -> Self {
        let (socket, of_child) = UnixStream::pair().unwrap();
        let mut command = with_socket(change(this_program(name)), of_child);
        let child = command.process_group(0).spawn().unwrap();
        let mut program = Self { child, socket };
        program.socket.set_read_timeout(Some(PATIENCE)).unwrap();
        ready(&mut program.socket);
        program.socket.set_nonblocking(true).unwrap();
        program
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn socket(&self) -> UnixStream {
        self.socket.try_clone().unwrap()
    }

    pub(crate) fn send(&mut self, message: u8) {
        self.socket.write_all(&[message]).unwrap();
    }

    /// The answer, when it comes.
    pub(crate) fn wait_answer(&mut self) -> u8 {
        self.socket.set_nonblocking(false).unwrap();
        let mut byte = [0];
        self.socket.read_exact(&mut byte).unwrap();
        byte[0]
    }

    /// The answer, if it is there.
    pub(crate) fn answer(&mut self) -> Option<u8> {
        let mut byte = [0];
        match self.socket.read(&mut byte) {
            Ok(1) => Some(byte[0]),
            Ok(_) => panic!("the program has ended"),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Waits until the program at the other end is ready.
pub(super) fn ready(socket: &mut UnixStream) {
    let mut byte = [0];
    socket.read_exact(&mut byte).unwrap();
    assert_eq!(byte, [READY]);
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn command(name: &str, socket: UnixStream) -> Command {
    with_socket(this_program(name), socket)
}

pub(super) fn this_program(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([ENTRY, "--exact", "--nocapture"])
        .env(PROGRAM, name);
    command
}

pub(super) fn with_socket(mut command: Command, socket: UnixStream) -> Command {
    command
        .stdin(OwnedFd::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// The entry of all programs.
#[test]
fn a_program_answers_what_it_is_sent() {
    if let Ok(name) = std::env::var(PROGRAM) {
        run(&name);
        std::process::exit(0);
    }
    let mut program = Program::start("echo");
    for message in 0..10 {
        program.send(message);
        assert_eq!(program.wait_answer(), message);
    }
}

fn run(name: &str) {
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let (name, value) = name.split_once(' ').unwrap_or((name, "0"));
    let value = value.parse().unwrap();
    let millis = Duration::from_millis(value);
    match name {
        "echo" => answer_each(socket, |_| {}),
        "chain" => chain(socket, value),
        "compute" => answer_each(socket, |_| compute(millis)),
        "sleep" => answer_each(socket, |_| sleep(millis)),
        "loop" => {
            named("a-loop", move || {
                loop {
                    sleep(millis);
                }
            });
            answer_each(socket, |_| compute(Duration::from_micros(100)));
        }
        "busy" => {
            named("busy", || {
                loop {
                    std::hint::spin_loop();
                }
            });
            answer_each(socket, |_| {});
        }
        "restless" => {
            // Two threads that wake each other: each sleeps, but never both.
            let (to_second, second) = sync_channel(1);
            let (to_first, first) = sync_channel(1);
            named("restless", move || pass_on(&first, &to_second));
            named("restless", move || {
                to_first.send(()).unwrap();
                pass_on(&second, &to_first);
            });
            answer_each(socket, |_| {});
        }
        "threads" => threads(socket, value),
        "die" => answer_each(socket, |_| {
            compute(Duration::from_millis(1));
            std::process::exit(0);
        }),
        "fork" => fork(&socket),
        "adopting" => super::adopted::adopting(socket),
        "recording" => super::recorder::recording(socket),
        "filling" => super::recorder::filling(socket),
        "reply" => {
            compute(millis);
            (&socket).write_all(&[7]).unwrap();
        }
        #[cfg(feature = "wire")]
        "publisher" => super::over_zenoh::publisher(socket, value),
        #[cfg(feature = "wire")]
        "subscriber" => super::over_zenoh::subscriber(socket, value),
        _ => panic!("no program {name}"),
    }
}

fn answer_each(mut socket: UnixStream, work: impl Fn(u8)) {
    socket.write_all(&[READY]).unwrap();
    let mut byte = [0];
    while socket.read_exact(&mut byte).is_ok() {
        work(byte[0]);
        socket.write_all(&byte).unwrap();
    }
}

/// A message goes from thread to thread (a channel, a pipe), to the next process of `more`, and its answer back.
fn chain(mut socket: UnixStream, more: u64) {
    let (to_second, second) = sync_channel(16);
    let (mut third, mut to_third) = std::io::pipe().unwrap();
    let mut answers = socket.try_clone().unwrap();
    let mut next = None;
    if more > 0 {
        let (socket, of_child) = UnixStream::pair().unwrap();
        let name = format!("chain {}", more - 1);
        let mut child = command(&name, of_child).spawn().unwrap();
        (&socket).read_exact(&mut [0]).unwrap();
        next = Some(socket.try_clone().unwrap());
        let mut answers = answers.try_clone().unwrap();
        named("answers", move || {
            let mut byte = [0];
            while (&socket).read_exact(&mut byte).is_ok() {
                answers.write_all(&byte).unwrap();
            }
            child.wait().unwrap();
        });
    }
    named("second", move || {
        for message in second {
            compute(Duration::from_micros(u64::from(message) % 50));
            to_third.write_all(&[message]).unwrap();
        }
    });
    named("third", move || {
        let mut byte = [0];
        while third.read_exact(&mut byte).is_ok() {
            let to = next.as_mut().unwrap_or(&mut answers);
            to.write_all(&byte).unwrap();
        }
    });
    socket.write_all(&[READY]).unwrap();
    let mut byte = [0];
    while socket.read_exact(&mut byte).is_ok() {
        to_second.send(byte[0]).unwrap();
    }
}

/// A message is handed from one new thread to the next; the last one answers.
fn threads(mut socket: UnixStream, count: u64) {
    fn hand_on(mut answers: UnixStream, message: u8, left: u64) {
        compute(Duration::from_micros(50));
        if left == 0 {
            answers.write_all(&[message]).unwrap();
        } else {
            named("passing", move || hand_on(answers, message, left - 1));
        }
    }
    socket.write_all(&[READY]).unwrap();
    let mut byte = [0];
    while socket.read_exact(&mut byte).is_ok() {
        hand_on(socket.try_clone().unwrap(), byte[0], count);
    }
}

/// A message starts a process, which answers; its end is not waited for.
fn fork(mut socket: &UnixStream) {
    socket.write_all(&[READY]).unwrap();
    let mut children = Vec::new();
    while socket.read_exact(&mut [0]).is_ok() {
        let of_child = socket.try_clone().unwrap();
        children.push(command("reply 5", of_child).spawn().unwrap());
    }
    for mut child in children {
        child.wait().unwrap();
    }
}

fn named(name: &str, work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(work).unwrap();
}

fn pass_on(from: &Receiver<()>, to: &SyncSender<()>) {
    for () in from {
        to.send(()).unwrap();
    }
}

/// Uses a processor for this long.
#[expect(clippy::disallowed_methods, reason = "a program that takes this long")]
pub(crate) fn compute(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program that sleeps in its work"
)]
fn sleep(time: Duration) {
    thread::sleep(time);
}
