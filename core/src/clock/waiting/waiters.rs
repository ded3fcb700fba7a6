//! [`Waiters`]: the calls that wait on one clock, ordered by the time each waits for.
//!
//! A timer that no call waits for is not in the queue, so a tick does no work for it; see `timetable.rs`. A tick wakes
//! the calls whose time has come. A step forward is applied to the sleeps that end on steps of that size, any other
//! jump to all waiters. All of this is under the lock of [`Core`](crate::clock::core::Core), and threads wait on the
//! wait queues under the same lock, so no wake-up is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::on_jump::{OnJump, SleepError};
use super::wait_queue::WaitQueue;
use crate::clock::jump::jump_event::{JumpEvent, JumpKind};
use crate::time::{Duration, Ros, Steady, Time};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct WaiterId(u64);

impl WaiterId {
    const LAST: Self = Self(u64::MAX);
}

/// A call that waits.
#[derive(Debug)]
struct Waiter {
    wait_queue: Arc<WaitQueue>,
    target: WaitTarget,
    /// The time under which it is in the queue, if it is.
    queued: Option<Time<Ros>>,
    /// When it checks again by itself; `None` if only a wake-up makes it check.
    checks_at: Option<Time<Steady>>,
    /// Whether it is an async sleep: one thread waits for all of these, and they share one wait queue.
    is_async: bool,
}

/// What a waiter waits for, and how its wait has ended.
#[derive(Debug)]
pub(crate) struct WaitTarget {
    pub(crate) until: Time<Ros>,
    /// A span that begins to count when the clock gets its first time.
    pub(crate) once_started: Option<Duration>,
    /// The length of a cycle, for a rate: if the time is set back to before the start of the cycle, a new cycle begins
    /// there.
    pub(crate) period: Option<Duration>,
    pub(crate) on_jump: OnJump,
    /// Whether the check of the caller alone ends the wait, as for a timer, whose deadline a jump may move. Neither a
    /// time that is shown nor a change of the source ends it.
    pub(crate) is_open_ended: bool,
    /// How it ended; never changes once it is set.
    pub(crate) ended: Option<Result<(), SleepError>>,
}

#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// In the order in which the waits began: the oldest is woken first.
    all: BTreeMap<WaiterId, Waiter>,
    /// The times that the calls wait for. A sleep is in it until it has ended, an open-ended wait until it is woken.
    queue: BTreeSet<(Time<Ros>, WaiterId)>,
    /// The sleeps that a step forward can end, by the size of the smallest step that does.
    by_min_forward: BTreeSet<(Duration, WaiterId)>,
    /// The times that async sleeps wait for, until they have ended. Their thread is in `queue` with the earliest of
    /// these.
    async_queue: BTreeSet<(Time<Ros>, WaiterId)>,
    /// The async sleeps that their thread has to check.
    to_check: BTreeSet<WaiterId>,
    last_id: u64,
}

impl Waiters {
    pub(crate) fn add(&mut self, wait_queue: &Arc<WaitQueue>, target: WaitTarget) -> WaiterId {
        self.last_id += 1;
        let id = WaiterId(self.last_id);
        let waiter = Waiter {
            wait_queue: Arc::clone(wait_queue),
            target,
            queued: None,
            checks_at: None,
            is_async: false,
        };
        self.all.insert(id, waiter);
        self.enqueue(id);
        id
    }

    /// Replaces what it waits for.
    pub(crate) fn set_target(&mut self, id: WaiterId, target: WaitTarget) {
        self.dequeue(id);
        if let Some(waiter) = self.all.get_mut(&id) {
            waiter.target = target;
        }
        self.enqueue(id);
    }

    fn enqueue(&mut self, id: WaiterId) {
        let target = &self.all[&id].target;
        if let OnJump::ErrorOnAny { min_forward } = target.on_jump {
            self.by_min_forward.insert((min_forward, id));
        }
        let at = (!target.is_open_ended).then_some(target.until);
        self.queue_at(id, at);
    }

    fn dequeue(&mut self, id: WaiterId) {
        self.queue_at(id, None);
        if let Some(waiter) = self.all.get(&id)
            && let OnJump::ErrorOnAny { min_forward } = waiter.target.on_jump
        {
            self.by_min_forward.remove(&(min_forward, id));
        }
    }

    fn queue_at(&mut self, id: WaiterId, at: Option<Time<Ros>>) {
        let Some(waiter) = self.all.get_mut(&id) else {
            return;
        };
        let before = std::mem::replace(&mut waiter.queued, at);
        let queue = if waiter.is_async {
            &mut self.async_queue
        } else {
            &mut self.queue
        };
        if before != at {
            before.map(|before| queue.remove(&(before, id)));
            queue.extend(at.map(|at| (at, id)));
        }
    }

    pub(crate) fn remove(&mut self, id: WaiterId) {
        self.dequeue(id);
        self.all.remove(&id);
        self.to_check.remove(&id);
    }

    pub(crate) fn target(&self, id: WaiterId) -> &WaitTarget {
        &self.all[&id].target
    }

    pub(crate) fn wait_queue(&self, id: WaiterId) -> Arc<WaitQueue> {
        Arc::clone(&self.all[&id].wait_queue)
    }

    /// The waiter has checked. It now waits for `at`, and checks again by itself at `checks_at`.
    pub(crate) fn plan_check(
        &mut self,
        id: WaiterId,
        at: Option<Time<Ros>>,
        checks_at: Option<Time<Steady>>,
    ) {
        if let Some(waiter) = self.all.get_mut(&id) {
            waiter.checks_at = checks_at;
            if waiter.target.is_open_ended {
                self.queue_at(id, at);
            }
        }
    }

    /// The waiter no longer waits.
    pub(crate) fn remove_from_queue(&mut self, id: WaiterId) {
        self.queue_at(id, None);
    }

    /// Wakes the waiters that are due. A sleep that is due has ended, whatever the clock shows before its thread runs;
    /// an open-ended wait checks again.
    #[inline]
    pub(crate) fn wake_due(&mut self, now: Time<Ros>) {
        while let Some(id) = self.due(now) {
            self.queue_at(id, None);
            if let Some(waiter) = self.all.get_mut(&id)
                && !waiter.target.is_open_ended
            {
                waiter.target.ended.get_or_insert(Ok(()));
            }
            self.wake(id);
        }
    }

    #[inline]
    fn due(&self, now: Time<Ros>) -> Option<WaiterId> {
        let firsts = [self.queue.first(), self.async_queue.first()];
        let mut due = firsts.into_iter().flatten().filter(|(at, _)| *at <= now);
        due.next().map(|(_, id)| *id)
    }

    /// The first time that a call waits for, async sleeps included.
    #[inline]
    pub(crate) fn first_time(&self) -> Option<Time<Ros>> {
        let firsts = [self.queue.first(), self.async_queue.first()];
        firsts.into_iter().flatten().map(|(at, _)| *at).min()
    }

    /// Wakes it, so that it checks again.
    pub(crate) fn wake(&mut self, id: WaiterId) {
        if let Some(waiter) = self.all.get(&id) {
            if waiter.is_async {
                self.to_check.insert(id);
            }
            waiter.wait_queue.wake();
        }
    }

    /// Wakes the first waiter of the queue if its time comes before it would check by itself. The times of the others
    /// come later; this is called again when the first one has left. `wall_at` gives the instant at which a time comes.
    #[inline]
    pub(crate) fn wake_first(&mut self, wall_at: impl Fn(Time<Ros>) -> Option<Time<Steady>>) {
        if let Some((first, id)) = self.queue.first()
            && let Some(at) = wall_at(*first)
            && let Some(waiter) = self.all.get_mut(id)
            && waiter.checks_at.is_none_or(|until| until > at)
        {
            waiter.checks_at = Some(at);
            waiter.wait_queue.wake();
        }
    }

    /// Wakes the waiters that were to check again by themselves by now, as a time-out does.
    pub(crate) fn wake_timed_out(&self, now: Time<Steady>) {
        let waiters = self.all.values();
        for waiter in waiters.filter(|it| it.checks_at.is_some_and(|until| until <= now)) {
            waiter.wait_queue.wake();
        }
    }

    /// Wakes all waiters, so that they check again.
    pub(crate) fn wake_all(&mut self) {
        for (id, waiter) in &self.all {
            if waiter.is_async {
                self.to_check.insert(*id);
            }
            waiter.wait_queue.wake();
        }
    }

    /// Applies a jump to the waiters, and wakes those whose wait it ends.
    #[inline]
    pub(crate) fn jump(&mut self, event: JumpEvent) {
        let ids = self.concerned(event);
        self.apply_jump(&ids, event);
    }

    /// The waiters to which a jump has to be applied. Every tick is a step forward: it concerns the sleeps that it
    /// ends.
    fn concerned(&self, event: JumpEvent) -> Vec<WaiterId> {
        if event.kind == JumpKind::Forward {
            let all = ..=(event.delta(), WaiterId::LAST);
            self.by_min_forward.range(all).map(|(_, id)| *id).collect()
        } else {
            self.all.keys().copied().collect()
        }
    }

    fn apply_jump(&mut self, ids: &[WaiterId], event: JumpEvent) {
        for id in ids {
            let Some(waiter) = self.all.get_mut(id) else {
                continue;
            };
            let target = &mut waiter.target;
            target.jump(event);
            if target.ended.is_some() {
                self.wake(*id);
                self.queue_at(*id, None);
            } else if !target.is_open_ended {
                let until = target.until;
                self.queue_at(*id, Some(until));
            }
        }
    }
}

#[cfg(feature = "async")]
impl Waiters {
    /// Makes it an async sleep: one thread waits for all of these.
    pub(crate) fn make_async(&mut self, id: WaiterId) {
        self.dequeue(id);
        if let Some(waiter) = self.all.get_mut(&id) {
            waiter.is_async = true;
        }
        self.enqueue(id);
    }

    /// The earliest time that an async sleep waits for, and which sleep that is.
    #[inline]
    pub(crate) fn first_async(&self) -> Option<(Time<Ros>, WaiterId)> {
        self.async_queue.first().copied()
    }

    /// The async sleeps that have ended or were woken since the last call.
    pub(crate) fn take_to_check(&mut self) -> BTreeSet<WaiterId> {
        std::mem::take(&mut self.to_check)
    }
}

impl WaitTarget {
    pub(crate) const fn until(until: Time<Ros>) -> Self {
        Self {
            until,
            once_started: None,
            period: None,
            on_jump: OnJump::Continue,
            is_open_ended: false,
            ended: None,
        }
    }

    #[inline]
    fn jump(&mut self, event: JumpEvent) {
        if self.ended.is_some() {
            return;
        }
        let set_back = event.kind == JumpKind::Backward;
        if event.is_clock_change() {
            self.ended = (!self.is_open_ended).then_some(Err(SleepError::SourceChanged));
        } else if event.kind == JumpKind::Started
            && let Some(span) = self.once_started.take()
        {
            self.until = event.after.saturating_add(span);
        } else if self.on_jump.is_ended_by(event) {
            self.ended = Some(Err(SleepError::TimeJumped(event)));
        } else if let Some(period) = self.period.filter(|_| set_back)
            && event.after < self.until.saturating_sub(period)
        {
            self.until = event.after.saturating_add(period);
        }
    }
}

#[cfg(all(test, not(model)))]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn a_step_forward_concerns_only_the_sleeps_that_it_ends() {
        let queue = WaitQueue::new(&Arc::new(AtomicUsize::new(0)));
        let mut waiters = Waiters::default();
        let mut add = |on_jump| {
            let target = WaitTarget {
                on_jump,
                ..WaitTarget::until(Time::MAX)
            };
            waiters.add(&queue, target)
        };
        for _ in 0..1_000 {
            add(OnJump::Continue);
            add(OnJump::ErrorOnBackward);
        }
        let [short, long] = [1, 3_600].map(|seconds| {
            add(OnJump::ErrorOnAny {
                min_forward: Duration::from_secs(seconds),
            })
        });
        let step = |nanos| JumpEvent {
            kind: JumpKind::Forward,
            before: Time::from_nanos(5),
            after: Time::from_nanos(5 + nanos),
        };
        assert_eq!(waiters.concerned(step(1)), []);
        assert_eq!(waiters.concerned(step(1_000_000_000)), [short]);
        assert_eq!(waiters.concerned(step(i64::MAX / 2)), [short, long]);
        let back = JumpEvent {
            kind: JumpKind::Backward,
            before: Time::from_nanos(5),
            after: Time::from_nanos(4),
        };
        assert_eq!(waiters.concerned(back).len(), 2_002);
    }
}
