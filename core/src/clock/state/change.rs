//! The changes of a clock ([`Change`]), its state ([`TimeState`]), and the effect of a change ([`Effect`]).
//!
//! These are plain values: [`TimeState::effect_of`] decides what a change means, [`TimeState::commit`] makes it.
//! `core.rs` calls both under the clock's lock, and the handlers before and after the commit, without the lock.

use super::clock_motion::ClockMotion;
use super::extrapolate::{ClockPace, ClockState, LateTick, ReceivedState};
use crate::clock::jump::jump_event::{JumpEvent, JumpKind, Notice, Reversal};
use crate::clock::source::time_queue::{HasKind, QueueItem, TimeValue};
use crate::clock::wall_clock::{Wall, WallClock};
use crate::time::{Duration, Ros, Speed, Time};

/// What an active ROS clock shows until its source has fed a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Fallback {
    /// Zero, which means that there is no time.
    #[default]
    Zero,
    /// The system clock, or the steady clock if there is no system clock. The clock still counts as not started. A
    /// sleep that is running when the source starts ends with
    /// [`SleepError::SourceChanged`](crate::clock::waiting::on_jump::SleepError::SourceChanged).
    Machine,
}

/// A change of a clock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Time(Time<Ros>),
    State(ReceivedState),
    Activate,
    Deactivate,
    /// Drops what the source fed.
    Forget,
    Shut,
}

impl Change {
    /// Whether it is not a time.
    #[inline]
    pub(crate) const fn is_request(&self) -> bool {
        !matches!(self, Self::Time(_) | Self::State(_))
    }

    /// The same change, but a state is not extrapolated.
    pub(crate) const fn without_extrapolation(self) -> Self {
        match self {
            Self::State(received) => Self::State(received.without_extrapolation()),
            other => other,
        }
    }
}

impl QueueItem for Change {
    #[inline]
    fn value(&self) -> Option<TimeValue> {
        match self {
            Self::Time(time) => Some(TimeValue::Time(*time)),
            Self::State(received) => Some(TimeValue::State(received.state)),
            _ => None,
        }
    }
}

/// The kinds of changes. Activate and deactivate are two kinds: if both wait, one of each is made, so that every
/// handler and every sleep that a change of the source concerns reacts to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChangeKind {
    /// A time of zero may be ignored, so it cannot replace another time.
    Zero,
    Time,
    Activate,
    Deactivate,
    Forget,
    Shut,
}

impl HasKind for Change {
    type Kind = ChangeKind;

    #[inline]
    fn kind(&self) -> ChangeKind {
        match self {
            Self::Time(Time::ZERO) => ChangeKind::Zero,
            Self::State(received) if received.state.time == Time::ZERO => ChangeKind::Zero,
            Self::Time(_) | Self::State(_) => ChangeKind::Time,
            Self::Activate => ChangeKind::Activate,
            Self::Deactivate => ChangeKind::Deactivate,
            Self::Forget => ChangeKind::Forget,
            Self::Shut => ChangeKind::Shut,
        }
    }
}

/// What the source fed last. It is kept while the source is not active.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastFed {
    motion: Option<ClockMotion>,
    state: Option<ClockState>,
    /// The last factor that was not zero.
    direction: Option<Speed>,
    /// How far extrapolated time may have run ahead of the source. A state that is farther behind than that is a jump,
    /// not late.
    max_run_ahead: Duration,
}

/// What a change does to a clock.
#[derive(Debug)]
pub(crate) struct Effect {
    pub(crate) motion_before: ClockMotion,
    pub(crate) motion: ClockMotion,
    pub(crate) is_active: bool,
    pub(crate) is_shut: bool,
    /// The direction of the time, if it continues from what is shown and must not fall behind that.
    pub(crate) continues: Option<Speed>,
    /// What the source fed, unless it corrects what is shown. It counts as having been shown, even if time runs
    /// backwards from it.
    pub(crate) fed: Option<Time<Ros>>,
    pub(crate) event: Option<JumpEvent>,
    pub(crate) notices: Vec<Notice>,
}

impl Effect {
    fn steps_back(&self) -> bool {
        self.event
            .is_some_and(|event| event.kind == JumpKind::Backward)
    }
}

/// What a clock shows, and what its source fed.
#[derive(Debug)]
pub(crate) struct TimeState {
    pub(crate) motion: ClockMotion,
    pub(crate) is_active: bool,
    wall_clock: WallClock,
    fallback: Fallback,
    last_fed: LastFed,
    /// The first time of the active source, if it was fed while the source was active.
    pub(crate) first: Option<Time<Ros>>,
    pub(crate) is_shut: bool,
}

impl TimeState {
    pub(crate) fn new(wall_clock: WallClock, fallback: Fallback) -> Self {
        Self {
            motion: ClockMotion::Wall(wall_clock),
            is_active: false,
            wall_clock,
            fallback,
            last_fed: LastFed::default(),
            first: None,
            is_shut: false,
        }
    }

    #[inline]
    pub(crate) fn now(&self, wall: &Wall) -> Time<Ros> {
        self.motion.at(wall)
    }

    /// Makes the change with this effect; `shown` is the time that was shown before it.
    #[inline]
    pub(crate) fn commit(&mut self, effect: &Effect, shown: Time<Ros>) {
        self.is_active = effect.is_active;
        self.is_shut |= effect.is_shut;
        self.motion = match effect.continues {
            Some(direction) => effect.motion.not_behind(shown, direction),
            None => effect.motion,
        };
        if let Some(event) = effect.event.filter(|event| !event.is_step()) {
            self.first = (event.kind == JumpKind::Started).then_some(event.after);
        }
    }

    #[inline]
    pub(crate) fn pace(&self) -> ClockPace {
        match self.last_fed {
            _ if !self.is_active => ClockPace::Machine,
            LastFed { motion: None, .. } => ClockPace::NotStarted,
            LastFed { state: None, .. } => ClockPace::Unknown,
            LastFed {
                state: Some(state), ..
            } => state.speed.map_or(ClockPace::Paused, ClockPace::At),
        }
    }

    /// What the change does; `None` if the change affects at most what is kept of the source.
    #[inline]
    pub(crate) fn effect_of(&mut self, change: Change, wall: &Wall) -> Option<Effect> {
        match change {
            Change::Time(time) => self.time_fed(time, ClockMotion::Held(time), None, wall),
            Change::State(received) => self.state_fed(received, wall),
            Change::Activate if !self.is_active => {
                let unset = match self.fallback {
                    Fallback::Zero => ClockMotion::Unset,
                    Fallback::Machine => ClockMotion::Wall(WallClock::System),
                };
                let motion = self.last_fed.motion.unwrap_or(unset);
                Some(self.switched(JumpKind::Activated, motion, wall))
            }
            Change::Deactivate if self.is_active => {
                // The source may pause while the clock is not active, so its last state cannot be extrapolated any
                // more.
                self.last_fed.motion = self.last_fed.motion.map(ClockMotion::without_extrapolation);
                let motion = ClockMotion::Wall(self.wall_clock);
                Some(self.switched(JumpKind::Deactivated, motion, wall))
            }
            Change::Activate | Change::Deactivate => None,
            Change::Forget => {
                self.last_fed = LastFed::default();
                None
            }
            Change::Shut => Some(Effect {
                is_shut: true,
                ..self.unchanged()
            }),
        }
    }

    #[inline]
    fn unchanged(&self) -> Effect {
        Effect {
            motion_before: self.motion,
            motion: self.motion,
            is_active: self.is_active,
            is_shut: false,
            continues: None,
            fed: None,
            event: None,
            notices: Vec::new(),
        }
    }

    fn switched(&self, kind: JumpKind, motion: ClockMotion, wall: &Wall) -> Effect {
        let event = JumpEvent {
            kind,
            before: self.now(wall),
            after: motion.at(wall),
        };
        Effect {
            motion,
            is_active: kind == JumpKind::Activated,
            event: Some(event),
            notices: vec![Notice::Jump(event)],
            ..self.unchanged()
        }
    }

    fn state_fed(&mut self, received: ReceivedState, wall: &Wall) -> Option<Effect> {
        let (before, state) = (self.last_fed, received.state);
        let same_generation =
            before.state.map(|before| before.generation) == Some(state.generation);
        let direction = state.speed.or(before.direction).unwrap_or(Speed::NORMAL);
        let turned = before
            .direction
            .is_some_and(|before| before.is_reverse() != direction.is_reverse());
        let motion = received.motion();
        let (shown, fed_now) = (self.now(wall), motion.at(wall));
        let behind = if direction.is_reverse() {
            fed_now.saturating_since(shown)
        } else {
            shown.saturating_since(fed_now)
        };
        let may_be_late = received.how.late == LateTick::Wait && behind <= before.max_run_ahead;
        let continues = (same_generation && !turned && may_be_late).then_some(direction);
        let mut effect = self.time_fed(state.time, motion, continues, wall);
        self.last_fed.state = Some(state);
        self.last_fed.direction = Some(direction);
        let distance = received.max_distance(direction);
        self.last_fed.max_run_ahead =
            continues.map_or(distance, |_| distance.max(before.max_run_ahead));
        if let Some(effect) = effect.as_mut().filter(|_| turned) {
            let turn = Reversal {
                at: state.time,
                speed: direction,
            };
            effect.notices.insert(0, Notice::Reversal(turn));
            if direction.is_reverse() && !effect.steps_back() {
                // From here on time runs backwards, without a step back. This event ends the sleeps that a step back
                // ends.
                effect.event = Some(JumpEvent {
                    kind: JumpKind::Backward,
                    before: fed_now,
                    after: fed_now,
                });
            }
        }
        effect
    }

    #[inline]
    fn time_fed(
        &mut self,
        time: Time<Ros>,
        motion: ClockMotion,
        continues: Option<Speed>,
        wall: &Wall,
    ) -> Option<Effect> {
        // A first time of zero means no time. After another time it is a simulation that starts again.
        if self.last_fed.motion.is_none() && time == Time::ZERO {
            return None;
        }
        self.last_fed = LastFed {
            motion: Some(motion),
            ..LastFed::default()
        };
        if !self.is_active {
            return None;
        }
        let before = self.now(wall);
        let continues = continues.filter(|_| self.motion.is_set());
        let event = match continues {
            _ if !self.motion.is_set() => Some(JumpEvent {
                kind: JumpKind::Started,
                before,
                after: motion.at(wall),
            }),
            // Time that runs backwards does not jump, and a correction meanwhile is no jump either.
            Some(direction) if direction.is_reverse() => None,
            Some(direction) => {
                JumpEvent::step(before, motion.not_behind(before, direction).at(wall))
            }
            None => JumpEvent::step(before, motion.at(wall)),
        };
        let mut notices = Vec::with_capacity(2);
        notices.extend(event.map(Notice::Jump));
        notices.push(Notice::Tick(time));
        Some(Effect {
            motion,
            continues,
            fed: continues.is_none().then_some(time),
            event,
            notices,
            ..self.unchanged()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::delivery_limit::DeliveryLimit;
    use super::super::extrapolate::Extrapolation;
    use super::*;
    use crate::clock::source::time_queue::{LIMIT, TimeQueue};
    use crate::clock::test_clock::TestClock;

    /// The number of kinds of changes, each of which can be queued once behind the limit.
    const KINDS: usize = 6;

    /// Sequences in which the source is forgotten only while the clock is not active.
    fn changes(wall: &Wall) -> impl Strategy<Value = Vec<Change>> + use<> {
        // With `Wait`, the result would also depend on how far the clock has run.
        let how = Extrapolation {
            late: LateTick::Jump,
            ..Extrapolation::for_at_most(Duration::MAX)
        };
        let wall = wall.clone();
        let time = (0..5_i64).prop_map(Time::from_nanos);
        let speed = prop_oneof![Just(None), Just(Some(Speed::NORMAL))];
        let state = (time.clone(), speed).prop_map(move |(time, speed)| {
            ReceivedState::now(ClockState::new(time, speed), how, &wall)
        });
        prop_oneof![
            4 => time.prop_map(|time| vec![Change::Time(time)]),
            4 => state.prop_map(|received| vec![Change::State(received)]),
            4 => Just(vec![Change::Activate]),
            4 => Just(vec![Change::Deactivate]),
            1 => Just(vec![Change::Deactivate, Change::Forget]),
            1 => Just(vec![Change::Shut]),
        ]
    }

    /// What a clock shows after these changes, before and after it is activated.
    fn shown(test: &TestClock, all: Vec<Change>) -> impl PartialEq + std::fmt::Debug {
        let (clock, writer) = test.another_ros(Fallback::Zero);
        for change in all {
            clock.core.change(change, DeliveryLimit::NONE);
        }
        let is_shut = clock.core.lock().is_shut();
        let before = (clock.is_active(), clock.try_now(), clock.pace());
        writer.activate();
        (before, is_shut, clock.try_now(), clock.pace())
    }

    proptest! {
        #[test]
        fn the_newest_change_of_each_kind_leads_to_the_same_state_as_all_changes(
            all in prop::collection::vec(changes(&TestClock::new(Time::from_nanos(1)).wall()), 0..40)
        ) {
            let test = TestClock::new(Time::from_nanos(1));
            let all = all.concat();
            let mut queue = TimeQueue::default();
            for _ in 0..2 * LIMIT {
                queue.put_by_kind(Change::Activate);
            }
            for change in &all {
                queue.put_by_kind(*change);
            }
            prop_assert!(queue.len() < 2 * LIMIT + KINDS);
            let waiting: Vec<_> = queue.items().drain(..).collect();
            let all = [Change::Activate].into_iter().chain(all).collect();
            prop_assert_eq!(shown(&test, waiting), shown(&test, all));
        }
    }
}
