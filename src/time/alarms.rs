//! [`Alarms`]: everybody who waits for a time of one clock, by deadline.
//!
//! A tick rings only those whose deadline has come. A jump goes to each alarm once: it ends a sleep that
//! asked for that, and moves a timer's deadline. Kept under the lock of [`Core`](super::core::Core), as
//! the bells' condition variables demand; so no wake-up is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::bell::Bell;
use super::duration::Duration;
use super::jump::{JumpEvent, JumpKind};
use super::point::{Ros, Time};
use super::schedule::Schedule;
use super::sleep::{OnJump, SleepError};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct AlarmId(u64);

#[derive(Debug)]
pub(super) struct Alarm {
    pub(super) bell: Arc<Bell>,
    pub(super) job: Job,
}

#[derive(Debug)]
pub(super) enum Job {
    Sleep(Sleeper),
    Timer(Schedule),
}

#[derive(Debug)]
pub(super) struct Sleeper {
    pub(super) until: Time<Ros>,
    /// A span that starts to count with the first time there is.
    pub(super) once_started: Option<Duration>,
    /// A cycle's length, if it begins anew where the time is set back behind its begin.
    pub(super) period: Option<Duration>,
    pub(super) on_jump: OnJump,
    /// Whether a change of source ends it, which moves a timer's deadline.
    pub(super) minds_sources: bool,
    /// How it ended, once and for all.
    pub(super) ended: Option<Result<(), SleepError>>,
}

#[derive(Debug, Default)]
pub(super) struct Alarms {
    /// By age: who came first is woken first.
    all: BTreeMap<AlarmId, Alarm>,
    /// By their deadlines.
    waiting: BTreeSet<(Time<Ros>, AlarmId)>,
    /// How many sleepers a step forwards may end: without any, a tick looks at the queue's head alone.
    watchful: usize,
    last_id: u64,
}

impl Alarm {
    /// Never for a canceled timer.
    pub(super) fn deadline(&self) -> Option<Time<Ros>> {
        match &self.job {
            Job::Sleep(sleeper) => Some(sleeper.until),
            Job::Timer(schedule) => (!schedule.is_canceled).then_some(schedule.next),
        }
    }

    const fn is_watchful(&self) -> bool {
        matches!(&self.job, Job::Sleep(sleeper) if matches!(sleeper.on_jump, OnJump::ErrorOnAny { .. }))
    }
}

impl Alarms {
    pub(super) fn add(&mut self, alarm: Alarm) -> AlarmId {
        self.last_id += 1;
        let id = AlarmId(self.last_id);
        self.waiting.extend(alarm.deadline().map(|at| (at, id)));
        self.watchful += usize::from(alarm.is_watchful());
        self.all.insert(id, alarm);
        id
    }

    pub(super) fn remove(&mut self, id: AlarmId) {
        let Some(alarm) = self.all.remove(&id) else {
            return;
        };
        self.watchful -= usize::from(alarm.is_watchful());
        if let Some(at) = alarm.deadline() {
            self.waiting.remove(&(at, id));
        }
    }

    pub(super) fn sleeper(&self, id: AlarmId) -> &Sleeper {
        match &self.all[&id].job {
            Job::Sleep(sleeper) => sleeper,
            Job::Timer(_) => unreachable!("the id is of a sleep"),
        }
    }

    pub(super) fn schedule(&self, id: AlarmId) -> Schedule {
        match &self.all[&id].job {
            Job::Timer(schedule) => *schedule,
            Job::Sleep(_) => unreachable!("the id is of a timer"),
        }
    }

    /// The schedule as it is at `now`: the date of a system clock may have been set back since the last look,
    /// which nobody tells.
    pub(super) fn schedule_at(&mut self, id: AlarmId, now: Time<Ros>) -> Schedule {
        let known = self.schedule(id);
        let schedule = known.not_before_last(now);
        if schedule != known {
            self.reschedule(id, schedule);
        }
        schedule
    }

    /// Puts a timer's new schedule in place; whoever waits for it looks again.
    pub(super) fn reschedule(&mut self, id: AlarmId, schedule: Schedule) {
        let Some(alarm) = self.all.get_mut(&id) else {
            return;
        };
        if let Some(at) = alarm.deadline() {
            self.waiting.remove(&(at, id));
        }
        alarm.job = Job::Timer(schedule);
        self.waiting.extend(alarm.deadline().map(|at| (at, id)));
        alarm.bell.ring();
    }

    pub(super) fn bell(&self, id: AlarmId) -> Arc<Bell> {
        Arc::clone(&self.all[&id].bell)
    }

    /// Moves a timer to another bell: that of the set it belongs to now.
    pub(super) fn rehang(&mut self, id: AlarmId, bell: &Arc<Bell>) {
        if let Some(alarm) = self.all.get_mut(&id) {
            alarm.bell = Arc::clone(bell);
        }
    }

    /// What a jump means to each.
    pub(super) fn jump(&mut self, event: JumpEvent) {
        for alarm in self.all.values_mut() {
            match &mut alarm.job {
                Job::Sleep(sleeper) => sleeper.jump(event),
                Job::Timer(schedule) => *schedule = schedule.rebased(event),
            }
        }
        self.waiting = self
            .all
            .iter()
            .filter_map(|(id, alarm)| Some((alarm.deadline()?, *id)))
            .collect();
    }

    /// Wakes who is due. They stay in the queue until they have looked. Sleepers are done whatever is shown
    /// until then; who waits for a timer waits on if time has turned back.
    pub(super) fn ring_due(&mut self, now: Time<Ros>) {
        for (_, id) in self.waiting.iter().take_while(|(at, _)| *at <= now) {
            let Some(alarm) = self.all.get_mut(id) else {
                continue;
            };
            if let Job::Sleep(sleeper) = &mut alarm.job {
                sleeper.ended.get_or_insert(Ok(()));
            }
            alarm.bell.ring();
        }
    }

    /// Wakes those whom a jump has ended.
    pub(super) fn ring_ended(&self) {
        for alarm in self.all.values() {
            if matches!(&alarm.job, Job::Sleep(sleeper) if sleeper.ended.is_some()) {
                alarm.bell.ring();
            }
        }
    }

    /// Wakes everybody, to look again.
    pub(super) fn ring_all(&self) {
        for alarm in self.all.values() {
            alarm.bell.ring();
        }
    }

    /// Whether the jump may concern anybody but those whose deadline it reaches.
    pub(super) fn minds(&self, event: JumpEvent) -> bool {
        event.kind != JumpKind::Forward || self.watchful > 0
    }
}

impl Sleeper {
    pub(super) const fn until(until: Time<Ros>) -> Self {
        Self {
            until,
            once_started: None,
            period: None,
            on_jump: OnJump::Continue,
            minds_sources: true,
            ended: None,
        }
    }

    fn jump(&mut self, event: JumpEvent) {
        if self.ended.is_some() {
            return;
        }
        let set_back = event.kind == JumpKind::Backward;
        if event.is_clock_change() {
            self.ended = self.minds_sources.then_some(Err(SleepError::SourceChanged));
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
