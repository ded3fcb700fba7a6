//! The player: one thread that owns the [`Machine`], and the handles to it.
//!
//! The machine decides what to do; the loop here waits. Only the player thread makes a segment; other threads
//! send [`Command`]s through a [`Transport`] and copy the [`Status`].

mod command;
mod elsewhere;
mod level;
mod machine;
mod options;
mod outcome;
mod played_range;
mod report;
mod source;
mod thread;
mod transport;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender};
use crossbeam_utils::sync::Parker;

pub use command::{ClockMode, Command, Pace, RunState, State, Status, parse_clock_hz};
pub use elsewhere::{Asked, Elsewhere};
pub use level::followed_clock::{FollowOptions, FollowedClock, LeadMotion, LeadState};
pub use level::gates::{Gate, GateHandle, Gates};
pub use level::lead::LeadHandle;
pub use machine::answers::Ticket;
pub use machine::{Machine, Wait};
pub use options::{Before, ClockOptions, Control, Intent, Options, WhenDone};
pub use outcome::{Answer, Outcome, Refusal, Short};
pub use played_range::PlayedRange;
#[doc(hidden)]
pub use report::counts::Count;
pub use report::counts::TopicCounts;
pub use report::digest::Digest;
pub use report::lateness::{LATE, Lateness};
pub use report::run_report::{HeldTimes, Report};
pub use source::Source;
pub use thread::priority::Scheduling;
pub use thread::waiter::{Spin, wake_precisely};
pub use transport::{PendingAnswer, Stopped, Transport};

use crate::bag::Waker;
use crate::output::Output;
use thread::waiter::{Burst, Waiter, Wall};
use transport::{Reply, Request};

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

    /// Opens and closes the gates. An output that has to hold playback takes this handle.
    pub fn gates(&self) -> GateHandle {
        self.transport.gates().clone()
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
        let timing = (options.spin, options.scheduling);
        let machine = Machine::with(options, source, self.gates(), self.transport.lead().clone());
        let report = machine.report();
        self.transport.follow(report.tally());
        self.transport.publish(machine.status());
        let run = move || {
            let _alive: Sender<Infallible> = alive;
            let mut out = out;
            (self.run(machine, timing, &mut out), out)
        };
        let thread = Builder::new().name("player".into()).spawn(run)?;
        Ok(Running { thread, done })
    }

    /// This process does not play: the player runs in another one, and its recording has this many topics. `status` is
    /// what is known of it.
    pub fn elsewhere(self, topics: usize, status: Status) -> Elsewhere {
        Elsewhere::new(self.transport, self.inbox, topics, status)
    }

    // If this function were generic, it would be compiled in the package of the program, without the optimisation of
    // this one.
    fn run(
        self,
        mut machine: Machine,
        (spin, scheduling): (Spin, Scheduling),
        out: &mut dyn Output,
    ) -> Report {
        scheduling.apply();
        wake_precisely();
        let Self {
            transport,
            inbox,
            parker,
            wall,
        } = self;
        let mut waiter = Waiter::new(wall, parker, (spin, scheduling));
        let mut requests = Requests::new(inbox);
        let mut told = None;
        loop {
            requests.pass_on(&mut machine, wall);
            let now = wall.now();
            if machine.make_up(now) {
                // A send may block. Without this, the status would show the lost time as played until it ends.
                let status = machine.status();
                transport.publish(status);
                told = Some(status);
            }
            let mut burst = Burst::begin();
            let wait = transport.while_busy(now, || {
                let wait = machine.advance(now, out);
                if wait == Wait::Now {
                    let may_go_on = || requests.are_none() && burst.may_go_on();
                    machine.send_on(now, out, may_go_on);
                }
                wait
            });
            let status = machine.status();
            if told != Some(status) {
                transport.publish(status);
                told = Some(status);
            }
            requests.answer(&mut machine, status);
            match wait {
                Wait::Now => {}
                Wait::Until(deadline) => waiter.wait_until(deadline),
                Wait::ForCue | Wait::ForGate => waiter.wait(),
                Wait::ForCommand => waiter.rest(),
                Wait::Over => break,
            }
        }
        transport.while_busy(wall.now(), || out.finish());
        requests.pass_on(&mut machine, wall);
        let status = machine.status();
        requests.answer(&mut machine, status);
        machine.into_report(wall.now())
    }
}

/// The commands that arrive, and the senders that wait for answers.
struct Requests {
    inbox: Receiver<Request>,
    waiting: HashMap<u64, Reply>,
    tickets: u64,
}

impl Requests {
    fn new(inbox: Receiver<Request>) -> Self {
        Self {
            inbox,
            waiting: HashMap::new(),
            tickets: 0,
        }
    }

    /// Whether no command has arrived.
    #[inline]
    fn are_none(&self) -> bool {
        self.inbox.is_empty()
    }

    /// Passes on all commands that are there.
    fn pass_on(&mut self, machine: &mut Machine, wall: Wall) {
        while let Ok(Request { command, reply }) = self.inbox.try_recv() {
            match reply {
                Some(reply) => {
                    self.tickets += 1;
                    self.waiting.insert(self.tickets, reply);
                    machine.ask(command, Ticket(self.tickets), wall.now());
                }
                None => machine.apply(command, wall.now()),
            }
        }
    }

    /// Sends the answers that are known.
    fn answer(&mut self, machine: &mut Machine, status: Status) {
        while let Some((Ticket(ticket), outcome)) = machine.answer() {
            if let Some(reply) = self.waiting.remove(&ticket) {
                reply.give(Answer { outcome, status });
            }
        }
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
