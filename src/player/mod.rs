//! The player: one thread that owns the [`Machine`], and the handles to it.
//!
//! The machine decides what to do; the loop here waits. Only the player thread makes a segment; other threads
//! send [`Command`]s through a [`Transport`] and copy the [`Status`].

mod command;
mod counts;
mod digest;
mod machine;
mod options;
mod report;
mod source;
mod transport;
mod waiter;

use std::convert::Infallible;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender};
use crossbeam_utils::sync::Parker;

pub use command::{Command, Gate, Gates, LATE, Pace, State, Status};
pub use counts::TopicCounts;
pub use digest::Digest;
pub use machine::{Machine, Wait};
pub use options::{Before, ClockOptions, Intent, Options, WhenDone};
pub use report::{HeldTimes, Report};
pub use source::Source;
pub use transport::{Answer, Stopped, Transport};

use crate::bag::Waker;
use crate::output::Output;
use transport::Request;
use waiter::{Waiter, Wall};

/// A player that has not started; its handles can already be given out.
#[derive(Debug)]
pub struct Player {
    transport: Transport,
    inbox: Receiver<Request>,
    parker: Parker,
    wall: Wall,
}

/// A player that runs.
#[derive(Debug)]
pub struct Running<O> {
    thread: JoinHandle<(Report, O)>,
    done: Receiver<Infallible>,
}

/// The player's thread panicked: a defect of this program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the player thread panicked")]
pub struct Panicked;

impl Default for Player {
    fn default() -> Self {
        Self::new()
    }
}

impl Player {
    /// A player without commands.
    pub fn new() -> Self {
        let (parker, wall) = (Parker::new(), Wall::new());
        let (transport, inbox) = Transport::new(parker.unparker().clone(), wall);
        Self {
            transport,
            inbox,
            parker,
            wall,
        }
    }

    /// A handle to control and observe the player.
    pub fn transport(&self) -> Transport {
        self.transport.clone()
    }

    /// Wakes the player; for the read-ahead, when it has something to take.
    pub fn waker(&self) -> Waker {
        let unparker = self.parker.unparker().clone();
        Arc::new(move || unparker.unpark())
    }

    /// Starts the player's thread. [`Running::join`] returns the output.
    pub fn start<O>(self, options: Options, source: Source, out: O) -> std::io::Result<Running<O>>
    where
        O: Output + Send + 'static,
    {
        let (alive, done) = crossbeam_channel::bounded(0);
        let machine = Machine::new(options, source);
        self.transport.follow(machine.report().tally());
        let run = move || {
            let _alive: Sender<Infallible> = alive;
            self.run(machine, out)
        };
        let thread = thread::Builder::new().name("player".into()).spawn(run)?;
        Ok(Running { thread, done })
    }

    fn run<O: Output>(self, mut machine: Machine, mut out: O) -> (Report, O) {
        waiter::wake_precisely();
        let Self {
            transport,
            inbox,
            parker,
            wall,
        } = self;
        let mut waiter = Waiter::new(wall, parker);
        let mut asked: Vec<Asked> = Vec::new();
        let mut told = None;
        loop {
            take_requests(&inbox, wall, &mut machine, &mut asked);
            let now = wall.now();
            let wait = transport.while_busy(now, || machine.advance(now, &mut out));
            let status = machine.status();
            if told != Some(status) {
                transport.publish(status);
                told = Some(status);
            }
            let has_to_wait = machine.is_stepping() && wait != Wait::Over;
            for asked in asked.extract_if(.., |asked| !(asked.for_steps && has_to_wait)) {
                // The caller may have gone.
                let _ = asked.reply.send(status);
            }
            match wait {
                Wait::Now => {}
                Wait::Until(deadline) => waiter.wait_until(deadline),
                Wait::ForCue | Wait::ForGate | Wait::ForCommand => waiter.wait(),
                Wait::Over => break,
            }
        }
        (machine.into_report(wall.now()), out)
    }
}

/// A caller that waits for an answer.
#[derive(Debug)]
struct Asked {
    reply: Sender<Status>,
    /// The answer is sent when the steps have been made; other callers get theirs at once, however long the
    /// search for a step takes.
    for_steps: bool,
}

/// Takes all commands that wait; callers are answered once their command took effect.
fn take_requests(
    inbox: &Receiver<Request>,
    wall: Wall,
    machine: &mut Machine,
    asked: &mut Vec<Asked>,
) {
    while let Ok(Request { command, reply }) = inbox.try_recv() {
        machine.apply(command, wall.now());
        let for_steps = matches!(command, Command::Step(_) | Command::StepTopic(..));
        asked.extend(reply.map(|reply| Asked { reply, for_steps }));
    }
}

impl<O> Running<O> {
    /// A channel that is disconnected when the run is over; for use in a select.
    pub fn done(&self) -> &Receiver<Infallible> {
        &self.done
    }

    /// Waits for the end of the run.
    pub fn join(self) -> Result<(Report, O), Panicked> {
        self.thread.join().map_err(|_| Panicked)
    }
}
