//! [`Timetable`]: the timers of one clock, and the order of their deadlines within each set of timers.
//!
//! It is under the clock's lock, so a jump moves the deadlines together with the time. A tick does not read it: the
//! calls that wait for a timer are in the queue of `waiters.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::schedule::Schedule;
use crate::clock::jump::jump_event::{JumpEvent, JumpKind};
use crate::clock::waiting::wait_queue::WaitQueue;
use crate::time::{Ros, Time};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TimerId(u64);

impl TimerId {
    const FIRST: Self = Self(0);
    const LAST: Self = Self(u64::MAX);
}

/// Identifies a set of timers, which are kept in the order of their deadlines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct SetId(u64);

#[derive(Debug)]
struct TimerEntry {
    wait_queue: Arc<WaitQueue>,
    schedule: Schedule,
    set: Option<SetId>,
}

#[derive(Debug)]
pub(crate) struct Timetable {
    timers: BTreeMap<TimerId, TimerEntry>,
    /// The timers of the sets that are not canceled, by set and deadline.
    order: BTreeSet<(SetId, Time<Ros>, TimerId)>,
    /// At least as late as the last call, reset or start of every timer that is not canceled.
    newest_call: Time<Ros>,
    last_id: u64,
}

impl Default for Timetable {
    fn default() -> Self {
        Self {
            timers: BTreeMap::new(),
            order: BTreeSet::new(),
            newest_call: Time::MIN,
            last_id: 0,
        }
    }
}

impl Timetable {
    pub(crate) fn add(&mut self, wait_queue: Arc<WaitQueue>, schedule: Schedule) -> TimerId {
        let id = TimerId(self.next_id());
        self.newest_call = self.newest_call.max(schedule.newest_call());
        let set = None;
        let timer = TimerEntry {
            wait_queue,
            schedule,
            set,
        };
        self.timers.insert(id, timer);
        id
    }

    pub(crate) fn remove(&mut self, id: TimerId) {
        if let Some(timer) = self.timers.remove(&id) {
            timer
                .order_key(id)
                .map(|order_key| self.order.remove(&order_key));
        }
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn new_set(&mut self) -> SetId {
        SetId(self.next_id())
    }

    /// Adds the timer to a set. From now on it wakes the set's wait queue.
    pub(crate) fn join(&mut self, id: TimerId, set: SetId, wait_queue: &Arc<WaitQueue>) {
        if let Some(timer) = self.timers.get_mut(&id) {
            timer
                .order_key(id)
                .map(|order_key| self.order.remove(&order_key));
            timer.wait_queue = Arc::clone(wait_queue);
            timer.set = Some(set);
            self.order.extend(timer.order_key(id));
        }
    }

    /// Takes the timer out of its set.
    pub(crate) fn leave(&mut self, id: TimerId) {
        if let Some(timer) = self.timers.get_mut(&id) {
            timer
                .order_key(id)
                .map(|order_key| self.order.remove(&order_key));
            timer.set = None;
        }
    }

    pub(crate) fn wait_queue(&self, id: TimerId) -> Arc<WaitQueue> {
        Arc::clone(&self.timers[&id].wait_queue)
    }

    #[inline]
    pub(crate) fn schedule(&self, id: TimerId) -> Schedule {
        self.timers[&id].schedule
    }

    /// The schedule as of `now`: the date of a system clock may have been set back since the schedule was read last,
    /// and no jump reports that.
    #[inline]
    pub(crate) fn schedule_at(&mut self, id: TimerId, now: Time<Ros>) -> Schedule {
        let known = self.schedule(id);
        let schedule = known.not_before_last(now);
        if schedule != known {
            self.reschedule(id, schedule);
        }
        schedule
    }

    /// Sets a timer's schedule; calls that wait for it check again.
    #[inline]
    pub(crate) fn reschedule(&mut self, id: TimerId, schedule: Schedule) {
        let Some(timer) = self.timers.get_mut(&id) else {
            return;
        };
        let before = timer.order_key(id);
        timer.schedule = schedule;
        let order_key = timer.order_key(id);
        if before != order_key {
            before.map(|order_key| self.order.remove(&order_key));
            self.order.extend(order_key);
        }
        self.newest_call = self.newest_call.max(schedule.newest_call());
        timer.wait_queue.wake();
    }

    /// The timers of a set that are not canceled, with their deadlines as of `now`, the earliest first.
    pub(crate) fn deadlines(
        &mut self,
        set: SetId,
        now: Time<Ros>,
    ) -> impl Iterator<Item = (Time<Ros>, TimerId)> {
        self.refresh(now);
        self.set(set).map(|(_, at, id)| (*at, *id))
    }

    /// The earliest deadline of a set, without timers that are due now and still due after they were served.
    #[inline]
    pub(crate) fn next_not_always_due(&mut self, set: SetId, now: Time<Ros>) -> Option<Time<Ros>> {
        self.refresh(now);
        let mut all = self.set(set);
        let is_wanted = |at, id| at > now || !self.timers[&id].schedule.is_always_due();
        all.find_map(|(_, at, id)| is_wanted(*at, *id).then_some(*at))
    }

    #[inline]
    fn set(&self, set: SetId) -> impl Iterator<Item = &(SetId, Time<Ros>, TimerId)> {
        let all = (set, Time::MIN, TimerId::FIRST)..=(set, Time::MAX, TimerId::LAST);
        self.order.range(all)
    }

    /// Does for all timers what [`Timetable::schedule_at`] does for one.
    #[inline]
    fn refresh(&mut self, now: Time<Ros>) {
        if now < self.newest_call {
            self.rebase(|schedule| schedule.not_before_last(now));
        }
    }

    /// Applies a jump to all timers. A step forward leaves the deadlines where they are.
    #[inline]
    pub(crate) fn jump(&mut self, event: JumpEvent) {
        if event.kind != JumpKind::Forward {
            self.rebase(|schedule| schedule.rebased(event));
        }
    }

    /// Changes each timer's schedule; calls that wait for a timer that changes check again.
    fn rebase(&mut self, change: impl Fn(Schedule) -> Schedule) {
        self.newest_call = Time::MIN;
        for timer in self.timers.values_mut() {
            let schedule = change(timer.schedule);
            if schedule != timer.schedule {
                timer.schedule = schedule;
                timer.wait_queue.wake();
            }
            self.newest_call = self.newest_call.max(schedule.newest_call());
        }
        let timers = self.timers.iter();
        self.order = timers
            .filter_map(|(id, timer)| timer.order_key(*id))
            .collect();
    }
}

impl TimerEntry {
    /// Its position in the order of its set; `None` if it is in no set or canceled.
    #[inline]
    fn order_key(&self, id: TimerId) -> Option<(SetId, Time<Ros>, TimerId)> {
        let set = self.set.filter(|_| !self.schedule.is_canceled)?;
        Some((set, self.schedule.next, id))
    }
}
