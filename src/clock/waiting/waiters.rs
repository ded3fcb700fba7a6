//! [`Alarms`]: the calls that wait on one clock, ordered by the time each waits for.
//!
//! A timer that no call waits for is not in the queue, so a tick does no work for it; see `timetable.rs`. A tick wakes
//! the calls whose time has come. A jump visits those that it may concern: a step forward the sleeps that asked for
//! steps of that size, any other jump all of them. All of this is under the lock of [`Core`](crate::clock::core::Core),
//! which the condition variables of the wait queues belong to, so no wake-up is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::on_jump::{OnJump, SleepError};
use super::wait_queue::WaitQueue;
use crate::clock::jump::jump_event::{JumpEvent, JumpKind};
use crate::time::{Duration, Ros, Steady, Time};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct AlarmId(u64);

impl AlarmId {
    const LAST: Self = Self(u64::MAX);
}

/// A call that waits.
#[derive(Debug)]
struct Waiter {
    wait_queue: Arc<WaitQueue>,
    sleeper: Sleeper,
    /// The time under which it is in the queue, if it is.
    queued: Option<Time<Ros>>,
    /// When it checks again by itself; `None` if only a wake-up makes it check.
    dozes_until: Option<Time<Steady>>,
    /// Whether it is an async sleep: one thread waits for all of these, and they share one wait queue.
    is_async: bool,
}

#[derive(Debug)]
pub(crate) struct Sleeper {
    pub(crate) until: Time<Ros>,
    /// A span that begins to count when the clock gets its first time.
    pub(crate) once_started: Option<Duration>,
    /// The length of a cycle, for a rate: a new cycle begins where the time is set back to before the start of this
    /// one.
    pub(crate) period: Option<Duration>,
    pub(crate) on_jump: OnJump,
    /// Whether it waits for a timer. The target is then the timer's deadline, which a jump may move: that the target
    /// was shown does not end the wait, nor does a change of the source.
    pub(crate) follows_timer: bool,
    /// How it ended; never changes once it is set.
    pub(crate) ended: Option<Result<(), SleepError>>,
}

#[derive(Debug, Default)]
pub(crate) struct Alarms {
    /// In the order of their age: the oldest is woken first.
    waiters: BTreeMap<AlarmId, Waiter>,
    /// The times that the calls wait for. A sleep is in it until it has ended, a wait for a timer until it is woken.
    queue: BTreeSet<(Time<Ros>, AlarmId)>,
    /// The sleeps that a step forward can end, by the least step that does so.
    watchful: BTreeSet<(Duration, AlarmId)>,
    /// The times that async sleeps wait for, until they have ended. Their thread is in `queue` with the earliest of
    /// these.
    async_queue: BTreeSet<(Time<Ros>, AlarmId)>,
    /// The async sleeps that their thread has to check.
    to_look_at: BTreeSet<AlarmId>,
    last_id: u64,
}

impl Alarms {
    pub(crate) fn add(&mut self, wait_queue: &Arc<WaitQueue>, sleeper: Sleeper) -> AlarmId {
        self.last_id += 1;
        let id = AlarmId(self.last_id);
        let waiter = Waiter {
            wait_queue: Arc::clone(wait_queue),
            sleeper,
            queued: None,
            dozes_until: None,
            is_async: false,
        };
        self.waiters.insert(id, waiter);
        self.arm(id);
        id
    }

    /// Replaces what it waits for.
    pub(crate) fn replan(&mut self, id: AlarmId, sleeper: Sleeper) {
        self.disarm(id);
        if let Some(waiter) = self.waiters.get_mut(&id) {
            waiter.sleeper = sleeper;
        }
        self.arm(id);
    }

    fn arm(&mut self, id: AlarmId) {
        let sleeper = &self.waiters[&id].sleeper;
        if let OnJump::ErrorOnAny { min_forward } = sleeper.on_jump {
            self.watchful.insert((min_forward, id));
        }
        let target = (!sleeper.follows_timer).then_some(sleeper.until);
        self.queue_at(id, target);
    }

    fn disarm(&mut self, id: AlarmId) {
        self.queue_at(id, None);
        if let Some(waiter) = self.waiters.get(&id)
            && let OnJump::ErrorOnAny { min_forward } = waiter.sleeper.on_jump
        {
            self.watchful.remove(&(min_forward, id));
        }
    }

    fn queue_at(&mut self, id: AlarmId, target: Option<Time<Ros>>) {
        let Some(waiter) = self.waiters.get_mut(&id) else {
            return;
        };
        let before = std::mem::replace(&mut waiter.queued, target);
        let queue = if waiter.is_async {
            &mut self.async_queue
        } else {
            &mut self.queue
        };
        if before != target {
            before.map(|at| queue.remove(&(at, id)));
            queue.extend(target.map(|at| (at, id)));
        }
    }

    pub(crate) fn remove(&mut self, id: AlarmId) {
        self.disarm(id);
        self.waiters.remove(&id);
        self.to_look_at.remove(&id);
    }

    pub(crate) fn sleeper(&self, id: AlarmId) -> &Sleeper {
        &self.waiters[&id].sleeper
    }

    pub(crate) fn waiter_bell(&self, id: AlarmId) -> Arc<WaitQueue> {
        Arc::clone(&self.waiters[&id].wait_queue)
    }

    /// The waiter has checked. It now waits for `target`, and checks again by itself at `dozes_until`.
    pub(crate) fn waits(
        &mut self,
        id: AlarmId,
        target: Option<Time<Ros>>,
        dozes_until: Option<Time<Steady>>,
    ) {
        if let Some(waiter) = self.waiters.get_mut(&id) {
            waiter.dozes_until = dozes_until;
            if waiter.sleeper.follows_timer {
                self.queue_at(id, target);
            }
        }
    }

    /// The waiter no longer waits.
    pub(crate) fn waits_no_more(&mut self, id: AlarmId) {
        self.queue_at(id, None);
    }

    /// Wakes the waiters that are due. A sleep has ended whatever the clock shows before its thread runs; a wait for a
    /// timer checks again.
    pub(crate) fn ring_due(&mut self, now: Time<Ros>) {
        while let Some(id) = self.due(now) {
            self.queue_at(id, None);
            if let Some(waiter) = self.waiters.get_mut(&id)
                && !waiter.sleeper.follows_timer
            {
                waiter.sleeper.ended.get_or_insert(Ok(()));
            }
            self.ring(id);
        }
    }

    fn due(&self, now: Time<Ros>) -> Option<AlarmId> {
        let firsts = [self.queue.first(), self.async_queue.first()];
        let mut due = firsts.into_iter().flatten().filter(|(at, _)| *at <= now);
        due.next().map(|(_, id)| *id)
    }

    /// Wakes it, so that it checks again.
    pub(crate) fn ring(&mut self, id: AlarmId) {
        if let Some(waiter) = self.waiters.get(&id) {
            if waiter.is_async {
                self.to_look_at.insert(id);
            }
            waiter.wait_queue.ring();
        }
    }

    /// Wakes the first waiter of the queue if its time comes before it would check by itself. The times of the others
    /// come later; they are looked after when the first one has left. `comes` says when a time comes.
    pub(crate) fn ring_first(&mut self, comes: impl Fn(Time<Ros>) -> Option<Time<Steady>>) {
        if let Some((target, id)) = self.queue.first()
            && let Some(at) = comes(*target)
            && let Some(waiter) = self.waiters.get_mut(id)
            && waiter.dozes_until.is_none_or(|until| until > at)
        {
            waiter.dozes_until = Some(at);
            waiter.wait_queue.ring();
        }
    }

    /// Wakes the waiters that would have checked again by themselves by now, as a time-out does.
    pub(crate) fn ring_dozers(&self, now: Time<Steady>) {
        let dozers = self.waiters.values();
        for waiter in dozers.filter(|it| it.dozes_until.is_some_and(|until| until <= now)) {
            waiter.wait_queue.ring();
        }
    }

    /// Wakes all waiters, so that they check again.
    pub(crate) fn ring_all(&mut self) {
        for (id, waiter) in &self.waiters {
            if waiter.is_async {
                self.to_look_at.insert(*id);
            }
            waiter.wait_queue.ring();
        }
    }

    /// Applies a jump to the waiters, and wakes those whose wait it ends.
    pub(crate) fn jump(&mut self, event: JumpEvent) {
        if event.kind == JumpKind::Forward {
            let all = ..=(event.delta(), AlarmId::LAST);
            let ids: Vec<_> = self.watchful.range(all).map(|(_, id)| *id).collect();
            self.sleepers_jump(&ids, event);
        } else {
            let ids: Vec<_> = self.waiters.keys().copied().collect();
            self.sleepers_jump(&ids, event);
        }
    }

    fn sleepers_jump(&mut self, ids: &[AlarmId], event: JumpEvent) {
        for id in ids {
            let Some(waiter) = self.waiters.get_mut(id) else {
                continue;
            };
            let sleeper = &mut waiter.sleeper;
            sleeper.jump(event);
            if sleeper.ended.is_some() {
                self.ring(*id);
                self.queue_at(*id, None);
            } else if !sleeper.follows_timer {
                let until = sleeper.until;
                self.queue_at(*id, Some(until));
            }
        }
    }
}

#[cfg(feature = "async")]
impl Alarms {
    /// Makes it an async sleep: one thread waits for all of these.
    pub(crate) fn make_async(&mut self, id: AlarmId) {
        self.disarm(id);
        if let Some(waiter) = self.waiters.get_mut(&id) {
            waiter.is_async = true;
        }
        self.arm(id);
    }

    /// The earliest time that an async sleep waits for, and which sleep that is.
    pub(crate) fn first_async(&self) -> Option<(Time<Ros>, AlarmId)> {
        self.async_queue.first().copied()
    }

    /// The async sleeps that have ended or were woken since the last call.
    pub(crate) fn take_to_look_at(&mut self) -> BTreeSet<AlarmId> {
        std::mem::take(&mut self.to_look_at)
    }
}

impl Sleeper {
    pub(crate) const fn until(until: Time<Ros>) -> Self {
        Self {
            until,
            once_started: None,
            period: None,
            on_jump: OnJump::Continue,
            follows_timer: false,
            ended: None,
        }
    }

    fn jump(&mut self, event: JumpEvent) {
        if self.ended.is_some() {
            return;
        }
        let set_back = event.kind == JumpKind::Backward;
        if event.is_clock_change() {
            self.ended = (!self.follows_timer).then_some(Err(SleepError::SourceChanged));
        } else if event.kind == JumpKind::Started
            && let Some(span) = self.once_started.take()
        {
            self.until = event.after.saturating_add(span);
        } else if self.on_jump.minds(event) {
            self.ended = Some(Err(SleepError::TimeJumped(event)));
        } else if let Some(period) = self.period.filter(|_| set_back)
            && event.after < self.until.saturating_sub(period)
        {
            self.until = event.after.saturating_add(period);
        }
    }
}
