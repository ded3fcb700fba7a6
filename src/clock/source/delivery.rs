//! [`Delivery`]: the clocks of a [`SimTime`](super::sim_time::SimTime), and the queue in which the values of the source
//! wait for them. It does not own the source; `switch.rs` does.
//!
//! One thread at a time delivers, in order, with no lock held, so jump handlers may call back into this type. What
//! arrives meanwhile is queued and delivered right after. A call that feeds delivers until the queue is empty; any
//! other call delivers a bounded number, and a new thread delivers the rest (`delivery_limit.rs`). No thread starts to deliver
//! while the source's own code runs: no handler runs inside that code, nor under the lock that is held for it. Locks
//! are taken in this order: control, line, clock.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError};

use super::complaint::Complaint;
use super::keep_alive::Kept;
use super::time_queue::{Letter, Mailbox, Said};
use super::writer::Attached;
use crate::clock::handle::Clock;
use crate::clock::jump::thread_marks::{DeliveryId, Serving};
use crate::clock::state::change::Change;
use crate::clock::state::delivery_limit::Share;
use crate::clock::state::extrapolate::Heard;
use crate::clock::sync;
use crate::clock::sync::{Condvar, Mutex, MutexGuard, Ordering};
use crate::clock::wall_clock::Wall;
use crate::time::{Ros, Time};

/// This many stale states in a row raise a complaint: a single one may have been delayed on its way.
const STALE_IN_A_ROW: u32 = 3;

static MADE: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Delivery {
    id: DeliveryId,
    wall: Wall,
    pub(crate) line: Mutex<Line>,
    /// Notified when a request (on, off, another source) has been delivered.
    pub(crate) handed: Condvar,
}

/// The queue, and the state of the delivery.
#[derive(Default)]
pub(crate) struct Line {
    /// Each with the number of the source that fed it; `None` for requests.
    pub(crate) actions: Mailbox<(Option<u64>, Action)>,
    /// How many requests were made so far: on, off, another source.
    pub(crate) asked: u64,
    /// How many of these have been delivered.
    pub(crate) done: u64,
    /// A thread is delivering.
    is_busy: bool,
    /// The source's own code runs: no thread starts to deliver, and a thread that delivers stops after the current
    /// action.
    pub(crate) is_held: bool,
    /// How many actions were queued when `is_held` was set. [`Action::On`] may still be inserted right behind them.
    pub(crate) kept: usize,
    /// The number of the source that was requested last; what other sources feed is ignored.
    newest: u64,
    clocks: Vec<Attached>,
    source: u64,
    is_on: bool,
    /// [`Change::Shut`] once the clocks have been shut down.
    shut: Option<Change>,
    /// The last time or state of the source.
    last: Option<Change>,
    publishers: usize,
    complaints: BTreeSet<Complaint>,
    /// How many messages could not be read.
    malformed: u64,
    /// How many states in a row were too old.
    stale: u32,
}

#[derive(Clone, Copy)]
pub(crate) enum Action {
    Time(Time<Ros>),
    State(Heard),
    Publishers(usize),
    On,
    Off,
    /// Another source, with this number; everything known of the old one is dropped.
    Source(u64),
}

impl Letter for (Option<u64>, Action) {
    fn said(&self) -> Option<Said> {
        match &self.1 {
            Action::Time(time) => Some(Said::Time(*time)),
            Action::State(heard) => Some(Said::State(heard.state)),
            _ => None,
        }
    }
}

impl Delivery {
    pub(crate) fn new(wall: Wall) -> Arc<Self> {
        Arc::new(Self {
            id: MADE.fetch_add(1, Ordering::Relaxed),
            wall,
            line: Mutex::new(Line::default()),
            handed: Condvar::new(),
        })
    }

    /// Whether this thread delivers for this delivery, or may do so.
    pub(crate) fn may_be_served_here(&self) -> bool {
        Serving::may_be_here(self.id)
    }

    pub(crate) const fn wall(&self) -> &Wall {
        &self.wall
    }

    pub(crate) fn publishers(&self) -> usize {
        self.line().publishers
    }

    pub(crate) fn complaints(&self) -> Vec<Complaint> {
        self.line().complaints.iter().copied().collect()
    }

    pub(crate) fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn act(self: &Arc<Self>, source: u64, action: Action) {
        self.line().put(source, action);
        self.hand_on(Share::ALL);
    }

    /// Counted at once, not queued: it does not change the time.
    pub(crate) fn malformed(&self, source: u64) {
        let mut line = self.line();
        if source == line.source {
            line.malformed += 1;
            let complaints = line.complain();
            drop(line);
            tell(&complaints);
        }
    }

    pub(crate) fn malformed_count(&self) -> u64 {
        self.line().malformed
    }

    /// Delivers this share of the queue, unless another thread is delivering. That thread stops when the queue is empty
    /// or the source's own code runs; if the share ends first, a new thread goes on.
    pub(crate) fn hand_on(self: &Arc<Self>, share: Share) {
        let mut line = self.line();
        if line.is_busy {
            return;
        }
        line.is_busy = true;
        self.hand_on_alone(line, share);
    }

    /// As [`Delivery::hand_on`], for the thread that has set `is_busy`.
    fn hand_on_alone<'a>(self: &'a Arc<Self>, mut line: MutexGuard<'a, Line>, mut share: Share) {
        let _serving = Serving::of(self.id);
        while !line.is_held && !line.actions.is_empty() {
            if !share.takes_one(line.actions.len()) {
                drop(line);
                let delivery = Arc::clone(self);
                // The queue stays busy, so no other thread starts before the new one.
                sync::spawn("clock-feed", move || {
                    delivery.hand_on_alone(delivery.line(), Share::ALL);
                });
                return;
            }
            let Some((source, action)) = line.actions.take() else {
                break;
            };
            if source.is_some_and(|source| source != line.source) {
                continue;
            }
            line.forget_unused();
            let clocks = line.clocks.clone();
            let complaints = line.note(action);
            let is_on = line.is_on;
            drop(line);
            tell(&complaints);
            let handed = catch_unwind(AssertUnwindSafe(|| {
                hand(action, &clocks, is_on);
                // If a clock was released meanwhile, this may drop its last handle, and what its handlers own.
                drop(clocks);
            }));
            if handed.is_err() {
                tracing::error!("a clock panicked as it was told the time; the others go on");
            }
            line = self.line();
            if source.is_none() {
                line.done += 1;
                self.handed.notify_all();
            }
        }
        line.is_busy = false;
    }

    /// Brings the clock to the state of the other clocks at once, even while another thread delivers to them. Its
    /// handles keep `keeper` alive from now on. Returns what they kept before.
    #[must_use]
    pub(crate) fn attach(&self, clock: &Attached, keeper: Kept) -> Option<Kept> {
        let mut line = self.line();
        line.forget_unused();
        let known = line.last.into_iter();
        let known = known.chain(line.is_on.then_some(Change::Activate));
        let kept = clock.joins(self.id, keeper);
        clock.queue(known.chain(line.shut));
        line.clocks.push(clock.clone());
        drop(line);
        clock.catch_up(Share::BOUNDED);
        kept
    }

    /// Does not use the queue, so it does not wait for a thread that delivers.
    pub(crate) fn shut_down(&self) {
        let mut line = self.line();
        line.shut = Some(Change::Shut);
        let clocks = line.clocks.clone();
        drop(line);
        for clock in &clocks {
            clock.change(Change::Shut, Share::BOUNDED);
        }
    }

    pub(crate) fn take(&self, clock: &Clock<Ros>) -> Option<Attached> {
        let mut line = self.line();
        let at = line.clocks.iter().position(|it| it.is_of(clock))?;
        Some(line.clocks.swap_remove(at))
    }
}

impl Line {
    pub(crate) fn ask(&mut self, action: Action) {
        self.asked += 1;
        if let Action::Source(number) = action {
            self.newest = number;
        }
        self.actions.put((None, action));
    }

    fn put(&mut self, source: u64, action: Action) {
        if source != self.newest {
            return;
        }
        let kept = if self.is_held { self.kept } else { 0 };
        if let Action::Publishers(_) = action {
            let waiting = self.actions.letters().iter_mut().skip(kept).rev();
            let since = waiting.take_while(|(source, _)| source.is_some());
            for (_, known) in since {
                if let Action::Publishers(_) = known {
                    *known = action;
                    return;
                }
            }
        }
        self.actions.put_behind(kept, (Some(source), action));
    }

    /// Drops the clocks that have no handle left: no [`Clock`], timer, rate or registered handler.
    fn forget_unused(&mut self) {
        self.clocks.retain(Attached::is_used);
    }

    /// Applies an action to this state. Returns the complaints that are new.
    fn note(&mut self, action: Action) -> Vec<Complaint> {
        match action {
            Action::Time(time) if self.is_on => self.last = Some(Change::Time(time)),
            Action::State(heard) if self.is_on => {
                self.last = Some(Change::State(heard));
                self.stale = if heard.is_too_old() {
                    self.stale.saturating_add(1)
                } else {
                    0
                };
                return self.complain();
            }
            Action::Publishers(count) => {
                self.publishers = count;
                return self.complain();
            }
            Action::On => self.is_on = true,
            // The last state is no longer extrapolated. Each clock does the same with its own copy.
            Action::Off => (self.is_on, self.last) = (false, self.last.map(Change::as_said)),
            Action::Source(number) => {
                self.source = number;
                self.last = None;
                (self.publishers, self.malformed, self.stale) = (0, 0, 0);
                self.complaints.clear();
            }
            Action::Time(_) | Action::State(_) => {}
        }
        Vec::new()
    }

    fn complain(&mut self) -> Vec<Complaint> {
        let is_on = |(_, action): &(_, Action)| matches!(action, Action::On);
        let is_wanted = self.is_on || self.actions.letters().iter().any(is_on);
        let several = (self.publishers > 1).then_some(Complaint::SeveralPublishers);
        let ignored = (self.publishers > 0 && !is_wanted).then_some(Complaint::Ignored);
        let malformed = (self.malformed > 0).then_some(Complaint::Malformed);
        let stale = (self.stale >= STALE_IN_A_ROW).then_some(Complaint::Stale);
        let all = [several, ignored, malformed, stale].into_iter().flatten();
        all.filter(|complaint| self.complaints.insert(*complaint))
            .collect()
    }
}

fn tell(complaints: &[Complaint]) {
    for complaint in complaints {
        tracing::warn!("{}", complaint.text());
    }
}

fn hand(action: Action, clocks: &[Attached], is_on: bool) {
    let change = match action {
        Action::Time(_) | Action::State(_) if !is_on => return,
        Action::Time(time) => Change::Time(time),
        Action::State(heard) => Change::State(heard),
        Action::On => Change::Activate,
        Action::Off => Change::Deactivate,
        Action::Source(_) => Change::Forget,
        Action::Publishers(_) => return,
    };
    for clock in clocks {
        clock.change(change, Share::ALL);
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line();
        f.debug_struct("SimTime")
            .field("is_on", &line.is_on)
            .field("clocks", &line.clocks.len())
            .field("publishers", &line.publishers)
            .finish_non_exhaustive()
    }
}
