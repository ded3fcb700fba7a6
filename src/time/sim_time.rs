//! [`SimTime`]: one time source, the clocks it drives, and whether it does (`use_sim_time`).
//!
//! What a source feeds is handed to the clocks by one thread at a time, in order, with no lock held: jump
//! handlers may come back here. What arrives meanwhile waits in line and is handed on right after.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock, PoisonError};

use super::change::{Change, Fallback};
use super::clock::Clock;
use super::extrapolate::Heard;
use super::point::{Ros, Time};
use super::source::{Feed, NoSource, SourceError, TimeSource};
use super::sync::{Mutex, MutexGuard};
use super::test_clock::TestClock;
use super::wall::Wall;
use super::writer::{Attached, ClockWriter};

/// A time source and its clocks (requirement T25). Clones are one and the same. Off at first, as the
/// parameter `use_sim_time` is: the clocks show system time (T16, T18).
#[derive(Clone, Debug)]
pub struct SimTime {
    hub: Arc<Hub>,
}

/// What is wrong with how the time is published; logged once each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Complaint {
    /// More than one publishes the time (requirement T27).
    SeveralPublishers,
    /// Somebody publishes the time, and it is not wanted (requirement T22).
    Ignored,
}

pub(super) struct Hub {
    wall: Wall,
    /// Held while the source's own code runs, not while handlers do.
    control: Mutex<Control>,
    line: Mutex<Line>,
}

struct Control {
    source: Box<dyn TimeSource>,
    is_on: bool,
    number: u64,
}

/// What is to be handed on.
#[derive(Default)]
struct Line {
    actions: VecDeque<(Option<u64>, Action)>,
    /// A thread hands on, or the source is being started: what it feeds then waits.
    is_busy: bool,
    clocks: Vec<Attached>,
    source: u64,
    is_on: bool,
    /// What the source said last.
    last: Option<Change>,
    publishers: usize,
    complaints: BTreeSet<Complaint>,
}

pub(super) enum Action {
    Time(Time<Ros>),
    State(Heard),
    Publishers(usize),
    On,
    Off,
    /// Another source, of this number; nothing of the old one counts.
    Source(u64),
    Attach(Attached),
}

/// What came of the start of a source; a panic in it goes on where no lock is held.
type Started = std::thread::Result<Result<(), SourceError>>;

impl SimTime {
    /// `source` is told to start by [`SimTime::enable`].
    pub fn new(source: impl TimeSource + 'static) -> Self {
        Self::on(Wall::Machine, Box::new(source))
    }

    /// On the machine of a test clock.
    pub fn on_test_clock(test: &TestClock, source: impl TimeSource + 'static) -> Self {
        Self::on(test.wall(), Box::new(source))
    }

    /// The one of this process (requirement T40), for code that is not handed one. Its source says nothing
    /// until [`SimTime::replace_source`].
    pub fn process() -> Self {
        static PROCESS: OnceLock<SimTime> = OnceLock::new();
        PROCESS.get_or_init(|| Self::new(NoSource)).clone()
    }

    fn on(wall: Wall, source: Box<dyn TimeSource>) -> Self {
        let control = Control {
            source,
            is_on: false,
            number: 0,
        };
        let hub = Arc::new(Hub {
            wall,
            control: Mutex::new(control),
            line: Mutex::new(Line::default()),
        });
        let feed = Feed::new(&hub, 0);
        hub.control().source.attached(&feed);
        Self { hub }
    }

    /// A new clock that the source drives.
    pub fn clock(&self) -> Clock<Ros> {
        self.clock_with(Fallback::Zero)
    }

    /// A new clock with another fallback.
    pub fn clock_with(&self, fallback: Fallback) -> Clock<Ros> {
        let (clock, writer) = Clock::ros_on(self.hub.wall.clone(), fallback);
        self.attach(writer);
        clock
    }

    /// The source drives this clock, too, from what it said last on; what it showed before is forgotten.
    /// (Clocks of other kinds have no writer.)
    pub fn attach(&self, writer: ClockWriter) {
        self.hub.act(None, Action::Attach(Attached::new(writer)));
    }

    /// The clock is left to the system's time; nothing if it is not of these.
    pub fn release(&self, clock: &Clock<Ros>) {
        drop(self.hub.take(clock).map(Attached::changes_hands));
    }

    /// Another source drives this clock from now on (requirement T40); nothing if it is not of these.
    pub fn hand_over(&self, clock: &Clock<Ros>, to: &Self) {
        if let Some(clock) = self.hub.take(clock) {
            to.hub.act(None, Action::Attach(clock.changes_hands()));
        }
    }

    /// Sim time is on: the source starts and drives the clocks. Nothing if it is on.
    ///
    /// # Errors
    /// If the source cannot start; sim time then is off.
    pub fn enable(&self) -> Result<(), SourceError> {
        let hub = &self.hub;
        let mut control = hub.control();
        if control.is_on {
            return Ok(());
        }
        let started = hub.start(&mut control);
        drop(control);
        hub.hand_on();
        started.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Sim time is off: the clocks show system time. Nothing if it is off.
    pub fn disable(&self) {
        let mut control = self.hub.control();
        if control.is_on {
            control.is_on = false;
            control.source.stop();
            // In line before anybody else can switch it on again.
            self.hub.line().actions.push_back((None, Action::Off));
            drop(control);
            self.hub.hand_on();
        }
    }

    /// Whether sim time is on.
    pub fn is_enabled(&self) -> bool {
        self.hub.control().is_on
    }

    /// Another source for all these clocks (requirements T40, T41). If sim time is on, they see one source
    /// go and another come.
    ///
    /// # Errors
    /// If the new source cannot start; sim time then is off.
    pub fn replace_source(&self, source: impl TimeSource + 'static) -> Result<(), SourceError> {
        let hub = &self.hub;
        let mut control = hub.control();
        let was_on = std::mem::take(&mut control.is_on);
        if was_on {
            control.source.stop();
        }
        control.source = Box::new(source);
        control.number += 1;
        let actions = [Action::Off, Action::Source(control.number)];
        hub.line()
            .actions
            .extend(actions.map(|action| (None, action)));
        let feed = Feed::new(hub, control.number);
        control.source.attached(&feed);
        let started = if was_on {
            hub.start(&mut control)
        } else {
            Ok(Ok(()))
        };
        drop(control);
        hub.hand_on();
        started.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// How many publish the time, as far as the source says.
    pub fn publishers(&self) -> usize {
        self.hub.line().publishers
    }

    /// What was complained of so far.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.hub.line().complaints.iter().copied().collect()
    }
}

impl Hub {
    pub(super) const fn wall(&self) -> &Wall {
        &self.wall
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the source. The clocks hear that it is on before what it feeds meanwhile.
    fn start(self: &Arc<Self>, control: &mut Control) -> Started {
        let mut line = self.line();
        let place = line.actions.len();
        let others_hand_on = std::mem::replace(&mut line.is_busy, true);
        if others_hand_on {
            line.actions.push_back((None, Action::On));
        }
        drop(line);
        let feed = Feed::new(self, control.number);
        let started = catch_unwind(AssertUnwindSafe(|| control.source.start(&feed)));
        control.is_on = matches!(started, Ok(Ok(())));
        let mut line = self.line();
        match (control.is_on, others_hand_on) {
            (true, true) => {}
            (true, false) => line.actions.insert(place, (None, Action::On)),
            (false, true) => line.actions.push_back((None, Action::Off)),
            (false, false) => {
                // What it fed counts for nothing; what others asked meanwhile stays.
                let mut at = 0;
                line.actions.retain(|(source, _)| {
                    at += 1;
                    at <= place || *source != Some(control.number)
                });
            }
        }
        if !others_hand_on {
            line.is_busy = false;
        }
        started
    }

    pub(super) fn act(&self, source: Option<u64>, action: Action) {
        self.line().actions.push_back((source, action));
        self.hand_on();
    }

    /// Hands on what is in line, unless somebody does.
    fn hand_on(&self) {
        let mut line = self.line();
        if line.is_busy {
            return;
        }
        line.is_busy = true;
        while let Some((source, action)) = line.actions.pop_front() {
            if source.is_some_and(|source| source != line.source) {
                continue;
            }
            let clocks = line.clocks.clone();
            if let Action::Attach(clock) = &action {
                // Before it is told, so that its handlers may release it and hand it over.
                line.clocks.push(clock.clone());
            }
            line.note(&action);
            let (is_on, last) = (line.is_on, line.last);
            drop(line);
            hand(&action, &clocks, is_on, last);
            // The last handle of a clock that was released meanwhile may own whatever its handlers own.
            drop((clocks, action));
            line = self.line();
        }
        line.is_busy = false;
    }

    fn take(&self, clock: &Clock<Ros>) -> Option<Attached> {
        let mut line = self.line();
        if let Some(at) = line.clocks.iter().position(|it| it.is_of(clock)) {
            return Some(line.clocks.swap_remove(at));
        }
        // One that was made in a handler still waits in line.
        let waits =
            |(_, action): &(_, Action)| matches!(action, Action::Attach(it) if it.is_of(clock));
        let at = line.actions.iter().position(waits)?;
        match line.actions.remove(at)? {
            (_, Action::Attach(clock)) => Some(clock),
            _ => None,
        }
    }
}

impl Line {
    fn note(&mut self, action: &Action) {
        match *action {
            Action::Time(time) if self.is_on => self.last = Some(Change::Time(time)),
            Action::State(heard) if self.is_on => self.last = Some(Change::State(heard)),
            Action::Publishers(count) => self.publishers = count,
            Action::On => self.is_on = true,
            Action::Off => self.is_on = false,
            Action::Source(number) => {
                self.source = number;
                self.last = None;
                self.publishers = 0;
            }
            Action::Time(_) | Action::State(..) | Action::Attach(_) => {}
        }
        if self.publishers > 1 {
            self.complain(
                Complaint::SeveralPublishers,
                "several publish the time; their clocks will jump to and fro",
            );
        }
        if self.publishers > 0 && !self.is_on && !matches!(action, Action::On) {
            self.complain(
                Complaint::Ignored,
                "somebody publishes the time, but use_sim_time is off: system time is shown",
            );
        }
    }

    fn complain(&mut self, complaint: Complaint, text: &str) {
        if self.complaints.insert(complaint) {
            tracing::warn!("{text}");
        }
    }
}

fn hand(action: &Action, clocks: &[Attached], is_on: bool, last: Option<Change>) {
    let change = match action {
        Action::Time(_) | Action::State(..) if !is_on => return,
        Action::Time(time) => Change::Time(*time),
        Action::State(heard) => Change::State(*heard),
        Action::On => Change::Activate,
        Action::Off => Change::Deactivate,
        Action::Source(_) => Change::Forget,
        Action::Publishers(_) => return,
        Action::Attach(clock) => {
            for change in last.into_iter().chain(is_on.then_some(Change::Activate)) {
                clock.change(change);
            }
            return;
        }
    };
    for clock in clocks {
        clock.change(change);
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line();
        f.debug_struct("SimTime")
            .field("is_on", &line.is_on)
            .field("clocks", &line.clocks.len())
            .field("publishers", &line.publishers)
            .finish_non_exhaustive()
    }
}
