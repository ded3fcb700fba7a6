//! [`Delivery`]: the clocks of a [`SimTime`](super::sim_time::SimTime), and the queue in which the values of the source
//! wait for them. It does not own the source; `switch.rs` does.
//!
//! One thread at a time delivers, in order, with no lock held, so jump handlers may call back into this type. What
//! arrives meanwhile is queued and delivered right after. A call that feeds delivers until the queue is empty; any
//! other call delivers a bounded number, and a new thread delivers the rest (`delivery_limit.rs`). No thread starts to
//! deliver while the source's own code runs: no handler runs inside that code, nor under the lock that is held for it.
//! Locks are taken in this order: `Switch::control`, `Delivery::state`, the lock of a clock.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError};

use super::complaint::Complaint;
use super::keep_alive::Kept;
use super::time_queue::{QueueItem, TimeQueue, TimeValue};
use super::writer::AttachedClock;
use crate::clock::handle::Clock;
use crate::clock::jump::thread_marks::{DeliveryId, DeliveryMark};
use crate::clock::state::change::Change;
use crate::clock::state::delivery_limit::DeliveryLimit;
use crate::clock::state::extrapolate::ReceivedState;
use crate::clock::sync;
use crate::clock::sync::{Condvar, Mutex, MutexGuard, Ordering};
use crate::clock::wall_clock::Wall;
use crate::time::{Ros, Time};

/// This many stale states in a row raise a complaint: a single one may have been delayed on its way.
const STALE_IN_A_ROW: u32 = 3;

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Delivery {
    id: DeliveryId,
    wall: Wall,
    pub(crate) state: Mutex<DeliveryState>,
    /// Notified when a request (on, off, another source) has been delivered.
    pub(crate) request_delivered: Condvar,
}

/// The queue, and the state of the delivery.
#[derive(Default)]
pub(crate) struct DeliveryState {
    /// Each item with the number of the source that fed it; `None` for requests.
    pub(crate) queue: TimeQueue<(Option<u64>, DeliveryItem)>,
    /// How many requests were made so far: on, off, another source.
    pub(crate) requested: u64,
    /// How many of these have been delivered.
    pub(crate) delivered: u64,
    /// A thread is delivering.
    is_delivering: bool,
    /// The source's own code runs: no thread starts to deliver, and a thread that delivers stops after the current
    /// item.
    pub(crate) is_suspended: bool,
    /// How many items were queued when `is_suspended` was set. They are left alone, because [`DeliveryItem::On`] may
    /// still be inserted right behind them.
    pub(crate) protected: usize,
    /// The number of the source that was requested last; what other sources feed is ignored.
    newest_source: u64,
    clocks: Vec<AttachedClock>,
    /// The number of the source whose items are delivered.
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

/// What is delivered to the clocks: what a source feeds, and requests.
#[derive(Clone, Copy)]
pub(crate) enum DeliveryItem {
    Time(Time<Ros>),
    State(ReceivedState),
    Publishers(usize),
    On,
    Off,
    /// Another source, with this number; everything known of the old one is dropped.
    Source(u64),
}

impl QueueItem for (Option<u64>, DeliveryItem) {
    fn value(&self) -> Option<TimeValue> {
        match &self.1 {
            DeliveryItem::Time(time) => Some(TimeValue::Time(*time)),
            DeliveryItem::State(received) => Some(TimeValue::State(received.state)),
            _ => None,
        }
    }
}

impl Delivery {
    pub(crate) fn new(wall: Wall) -> Arc<Self> {
        Arc::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            wall,
            state: Mutex::new(DeliveryState::default()),
            request_delivered: Condvar::new(),
        })
    }

    /// Whether this thread delivers for this delivery, or may do so.
    pub(crate) fn may_deliver_here(&self) -> bool {
        DeliveryMark::may_be_set(self.id)
    }

    pub(crate) const fn wall(&self) -> &Wall {
        &self.wall
    }

    pub(crate) fn publishers(&self) -> usize {
        self.state().publishers
    }

    pub(crate) fn complaints(&self) -> Vec<Complaint> {
        self.state().complaints.iter().copied().collect()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, DeliveryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues what the source with this number feeds, and delivers.
    pub(crate) fn feed(self: &Arc<Self>, source: u64, item: DeliveryItem) {
        self.state().put(source, item);
        self.deliver(DeliveryLimit::NONE);
    }

    /// Counts a message that could not be read; at once, because this does not change the time.
    pub(crate) fn malformed(&self, source: u64) {
        let mut state = self.state();
        if source == state.source {
            state.malformed += 1;
            let complaints = state.new_complaints();
            drop(state);
            log(&complaints);
        }
    }

    pub(crate) fn malformed_count(&self) -> u64 {
        self.state().malformed
    }

    /// Delivers from the queue, unless another thread is delivering. Ends when the queue is empty or the source's own
    /// code runs; if the limit is reached first, a new thread delivers the rest.
    pub(crate) fn deliver(self: &Arc<Self>, limit: DeliveryLimit) {
        let mut state = self.state();
        if state.is_delivering {
            return;
        }
        state.is_delivering = true;
        self.deliver_alone(state, limit);
    }

    /// As [`Delivery::deliver`], for the thread that has set `is_delivering`.
    fn deliver_alone<'a>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, DeliveryState>,
        mut limit: DeliveryLimit,
    ) {
        let _mark = DeliveryMark::set(self.id);
        while !state.is_suspended && !state.queue.is_empty() {
            if !limit.allows_one(state.queue.len()) {
                drop(state);
                let delivery = Arc::clone(self);
                // `is_delivering` stays set, so no other thread starts before the new one.
                sync::spawn("clock-feed", move || {
                    delivery.deliver_alone(delivery.state(), DeliveryLimit::NONE);
                });
                return;
            }
            let Some((source, item)) = state.queue.take() else {
                break;
            };
            if source.is_some_and(|source| source != state.source) {
                continue;
            }
            state.drop_unused();
            let clocks = state.clocks.clone();
            let complaints = state.apply(item);
            let is_on = state.is_on;
            drop(state);
            log(&complaints);
            let delivered = catch_unwind(AssertUnwindSafe(|| {
                deliver_to(item, &clocks, is_on);
                // If a clock was released meanwhile, this may drop its last handle, and what its handlers own.
                drop(clocks);
            }));
            if delivered.is_err() {
                tracing::error!(
                    "a clock panicked while the time was delivered to it; the others go on"
                );
            }
            state = self.state();
            if source.is_none() {
                state.delivered += 1;
                self.request_delivered.notify_all();
            }
        }
        state.is_delivering = false;
    }

    /// Brings the clock to the state of the other clocks at once, even while another thread delivers to them. Its
    /// handles keep `keeper` alive from now on. Returns what they kept before.
    #[must_use]
    pub(crate) fn attach(&self, clock: &AttachedClock, keeper: Kept) -> Option<Kept> {
        let mut state = self.state();
        state.drop_unused();
        let known = state.last.into_iter();
        let known = known.chain(state.is_on.then_some(Change::Activate));
        let kept = clock.set_delivery(self.id, keeper);
        clock.queue(known.chain(state.shut));
        state.clocks.push(clock.clone());
        drop(state);
        clock.make_queued(DeliveryLimit::BOUNDED);
        kept
    }

    /// Ends all sleeps. Does not use the queue, so it does not wait for a thread that delivers.
    pub(crate) fn shut_down(&self) {
        let mut state = self.state();
        state.shut = Some(Change::Shut);
        let clocks = state.clocks.clone();
        drop(state);
        for clock in &clocks {
            clock.change(Change::Shut, DeliveryLimit::BOUNDED);
        }
    }

    /// Removes the clock; `None` if it is not one of these.
    pub(crate) fn detach(&self, clock: &Clock<Ros>) -> Option<AttachedClock> {
        let mut state = self.state();
        let at = state.clocks.iter().position(|it| it.is_clock(clock))?;
        Some(state.clocks.swap_remove(at))
    }
}

impl DeliveryState {
    /// The clocks.
    pub(crate) fn clocks(&self) -> Vec<AttachedClock> {
        self.clocks.clone()
    }

    /// Queues a request.
    pub(crate) fn request(&mut self, item: DeliveryItem) {
        self.requested += 1;
        if let DeliveryItem::Source(number) = item {
            self.newest_source = number;
        }
        self.queue.put((None, item));
    }

    /// Queues what a source fed. A new number of publishers replaces one that waits behind the last request.
    fn put(&mut self, source: u64, item: DeliveryItem) {
        if source != self.newest_source {
            return;
        }
        let protected = if self.is_suspended { self.protected } else { 0 };
        if let DeliveryItem::Publishers(_) = item {
            let waiting = self.queue.items().iter_mut().skip(protected).rev();
            let since = waiting.take_while(|(source, _)| source.is_some());
            for (_, known) in since {
                if let DeliveryItem::Publishers(_) = known {
                    *known = item;
                    return;
                }
            }
        }
        self.queue.put_behind(protected, (Some(source), item));
    }

    /// Drops the clocks that have no handle left: no [`Clock`], timer, rate or registered handler.
    fn drop_unused(&mut self) {
        self.clocks.retain(AttachedClock::has_handle);
    }

    /// Applies an item to this state. Returns the complaints that are new.
    fn apply(&mut self, item: DeliveryItem) -> Vec<Complaint> {
        match item {
            DeliveryItem::Time(time) if self.is_on => self.last = Some(Change::Time(time)),
            DeliveryItem::State(received) if self.is_on => {
                self.last = Some(Change::State(received));
                self.stale = if received.is_too_old() {
                    self.stale.saturating_add(1)
                } else {
                    0
                };
                return self.new_complaints();
            }
            DeliveryItem::Publishers(count) => {
                self.publishers = count;
                return self.new_complaints();
            }
            DeliveryItem::On => self.is_on = true,
            // The last state is no longer extrapolated. Each clock does the same with its own copy.
            DeliveryItem::Off => {
                (self.is_on, self.last) = (false, self.last.map(Change::without_extrapolation));
            }
            DeliveryItem::Source(number) => {
                self.source = number;
                self.last = None;
                (self.publishers, self.malformed, self.stale) = (0, 0, 0);
                self.complaints.clear();
            }
            DeliveryItem::Time(_) | DeliveryItem::State(_) => {}
        }
        Vec::new()
    }

    /// The complaints that apply now and were not reported before.
    fn new_complaints(&mut self) -> Vec<Complaint> {
        let is_on = |(_, item): &(_, DeliveryItem)| matches!(item, DeliveryItem::On);
        let is_wanted = self.is_on || self.queue.items().iter().any(is_on);
        let several = (self.publishers > 1).then_some(Complaint::SeveralPublishers);
        let ignored = (self.publishers > 0 && !is_wanted).then_some(Complaint::Ignored);
        let malformed = (self.malformed > 0).then_some(Complaint::Malformed);
        let stale = (self.stale >= STALE_IN_A_ROW).then_some(Complaint::Stale);
        let all = [several, ignored, malformed, stale].into_iter().flatten();
        all.filter(|complaint| self.complaints.insert(*complaint))
            .collect()
    }
}

fn log(complaints: &[Complaint]) {
    for complaint in complaints {
        tracing::warn!("{}", complaint.text());
    }
}

fn deliver_to(item: DeliveryItem, clocks: &[AttachedClock], is_on: bool) {
    let change = match item {
        DeliveryItem::Time(_) | DeliveryItem::State(_) if !is_on => return,
        DeliveryItem::Time(time) => Change::Time(time),
        DeliveryItem::State(received) => Change::State(received),
        DeliveryItem::On => Change::Activate,
        DeliveryItem::Off => Change::Deactivate,
        DeliveryItem::Source(_) => Change::Forget,
        DeliveryItem::Publishers(_) => return,
    };
    for clock in clocks {
        clock.change(change, DeliveryLimit::NONE);
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("SimTime")
            .field("is_on", &state.is_on)
            .field("clocks", &state.clocks.len())
            .field("publishers", &state.publishers)
            .finish_non_exhaustive()
    }
}
