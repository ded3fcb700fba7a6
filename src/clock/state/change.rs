//! The changes of a clock ([`Change`]), its state ([`State`]), and the effect of a change ([`Outcome`]).
//!
//! These are plain values: [`State::outcome_of`] decides what a change means, [`State::commit`] makes it. `core.rs`
//! calls both under the clock's lock, and the handlers before and after the commit, without the lock.

use super::clock_motion::Reading;
use super::extrapolate::{ClockPace, ClockState, Heard, LateTick};
use crate::clock::jump::jump_event::{JumpEvent, JumpKind, Notice, Reversal};
use crate::clock::source::time_queue::{Kinds, Letter, Said};
use crate::clock::wall_clock::{Rest, Wall};
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

#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Time(Time<Ros>),
    State(Heard),
    Activate,
    Deactivate,
    /// Drops what was received.
    Forget,
    Shut,
}

impl Change {
    /// The same change, but not extrapolated.
    pub(crate) const fn as_said(self) -> Self {
        match self {
            Self::State(heard) => Self::State(heard.as_said()),
            other => other,
        }
    }
}

impl Letter for Change {
    fn said(&self) -> Option<Said> {
        match self {
            Self::Time(time) => Some(Said::Time(*time)),
            Self::State(heard) => Some(Said::State(heard.state)),
            _ => None,
        }
    }
}

/// Activate and deactivate are two kinds. If both wait, one of each is made, so that every handler and sleep that has
/// to react to a change of the source does.
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

impl Kinds for Change {
    type Kind = ChangeKind;

    fn kind(&self) -> ChangeKind {
        match self {
            Self::Time(Time::ZERO) => ChangeKind::Zero,
            Self::State(heard) if heard.state.time == Time::ZERO => ChangeKind::Zero,
            Self::Time(_) | Self::State(_) => ChangeKind::Time,
            Self::Activate => ChangeKind::Activate,
            Self::Deactivate => ChangeKind::Deactivate,
            Self::Forget => ChangeKind::Forget,
            Self::Shut => ChangeKind::Shut,
        }
    }
}

/// What the source fed last; kept while it is not active.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    reading: Option<Reading>,
    state: Option<ClockState>,
    /// The last factor that was not zero.
    heading: Option<Speed>,
    /// How far time may have run ahead of the source. A state farther behind than that is a jump, not late.
    reach: Duration,
}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) was: Reading,
    pub(crate) reading: Reading,
    pub(crate) is_active: bool,
    pub(crate) is_shut: bool,
    /// The direction of the time, if it continues from what is shown and must not fall behind that.
    pub(crate) continues: Option<Speed>,
    /// What the source fed, unless it corrects what is shown. It counts as having been shown, even if time runs
    /// backwards from it.
    pub(crate) said: Option<Time<Ros>>,
    pub(crate) event: Option<JumpEvent>,
    pub(crate) notices: Vec<Notice>,
}

impl Outcome {
    fn steps_back(&self) -> bool {
        self.event
            .is_some_and(|event| event.kind == JumpKind::Backward)
    }
}

/// What a clock shows, and what its source fed.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) reading: Reading,
    pub(crate) is_active: bool,
    rest: Rest,
    fallback: Fallback,
    received: Received,
    /// The first time of the active source, if it was fed while the source was active.
    pub(crate) first: Option<Time<Ros>>,
    pub(crate) is_shut: bool,
}

impl State {
    pub(crate) fn new(rest: Rest, fallback: Fallback) -> Self {
        Self {
            reading: Reading::Rest(rest),
            is_active: false,
            rest,
            fallback,
            received: Received::default(),
            first: None,
            is_shut: false,
        }
    }

    pub(crate) fn now(&self, wall: &Wall) -> Time<Ros> {
        self.reading.at(wall)
    }

    /// Makes the change with this outcome; `shown` is the time that was shown before it.
    pub(crate) fn commit(&mut self, outcome: &Outcome, shown: Time<Ros>) {
        self.is_active = outcome.is_active;
        self.is_shut |= outcome.is_shut;
        self.reading = match outcome.continues {
            Some(heading) => outcome.reading.not_behind(shown, heading),
            None => outcome.reading,
        };
        if let Some(event) = outcome.event.filter(|event| !event.is_step()) {
            self.first = (event.kind == JumpKind::Started).then_some(event.after);
        }
    }

    pub(crate) fn pace(&self) -> ClockPace {
        match self.received {
            _ if !self.is_active => ClockPace::Machine,
            Received { reading: None, .. } => ClockPace::NotStarted,
            Received { state: None, .. } => ClockPace::Unknown,
            Received {
                state: Some(state), ..
            } => state.speed.map_or(ClockPace::Paused, ClockPace::At),
        }
    }

    /// What the change does; `None` if it changes nothing but what was received.
    pub(crate) fn outcome_of(&mut self, change: Change, wall: &Wall) -> Option<Outcome> {
        match change {
            Change::Time(time) => self.received(time, Reading::Held(time), None, wall),
            Change::State(heard) => self.state_received(heard, wall),
            Change::Activate if !self.is_active => {
                let unset = match self.fallback {
                    Fallback::Zero => Reading::Unset,
                    Fallback::Machine => Reading::Rest(Rest::System),
                };
                let reading = self.received.reading.unwrap_or(unset);
                Some(self.switched(JumpKind::Activated, reading, wall))
            }
            Change::Deactivate if self.is_active => {
                // The source may pause while the clock is not active, so its last state cannot be extrapolated any
                // more.
                self.received.reading = self.received.reading.map(Reading::as_said);
                let reading = Reading::Rest(self.rest);
                Some(self.switched(JumpKind::Deactivated, reading, wall))
            }
            Change::Activate | Change::Deactivate => None,
            Change::Forget => {
                self.received = Received::default();
                None
            }
            Change::Shut => Some(Outcome {
                is_shut: true,
                ..self.unchanged()
            }),
        }
    }

    fn unchanged(&self) -> Outcome {
        Outcome {
            was: self.reading,
            reading: self.reading,
            is_active: self.is_active,
            is_shut: false,
            continues: None,
            said: None,
            event: None,
            notices: Vec::new(),
        }
    }

    fn switched(&self, kind: JumpKind, reading: Reading, wall: &Wall) -> Outcome {
        let event = JumpEvent {
            kind,
            before: self.now(wall),
            after: reading.at(wall),
        };
        Outcome {
            reading,
            is_active: kind == JumpKind::Activated,
            event: Some(event),
            notices: vec![Notice::Jump(event)],
            ..self.unchanged()
        }
    }

    fn state_received(&mut self, heard: Heard, wall: &Wall) -> Option<Outcome> {
        let (before, state) = (self.received, heard.state);
        let same_generation =
            before.state.map(|before| before.generation) == Some(state.generation);
        let heading = state.speed.or(before.heading).unwrap_or(Speed::NORMAL);
        let turned = before
            .heading
            .is_some_and(|before| before.is_reverse() != heading.is_reverse());
        let reading = heard.reading();
        let (shown, heard_at) = (self.now(wall), reading.at(wall));
        let behind = if heading.is_reverse() {
            heard_at.saturating_since(shown)
        } else {
            shown.saturating_since(heard_at)
        };
        let may_be_late = heard.how.late == LateTick::Wait && behind <= before.reach;
        let continues = (same_generation && !turned && may_be_late).then_some(heading);
        let mut outcome = self.received(state.time, reading, continues, wall);
        self.received.state = Some(state);
        self.received.heading = Some(heading);
        let reach = heard.reach(heading);
        self.received.reach = continues.map_or(reach, |_| reach.max(before.reach));
        if let Some(outcome) = outcome.as_mut().filter(|_| turned) {
            let turn = Reversal {
                at: state.time,
                speed: heading,
            };
            outcome.notices.insert(0, Notice::Reversal(turn));
            if heading.is_reverse() && !outcome.steps_back() {
                // From here on the time runs back, but without a step: this event ends the sleeps that end on a step
                // back.
                outcome.event = Some(JumpEvent {
                    kind: JumpKind::Backward,
                    before: heard_at,
                    after: heard_at,
                });
            }
        }
        outcome
    }

    fn received(
        &mut self,
        time: Time<Ros>,
        reading: Reading,
        continues: Option<Speed>,
        wall: &Wall,
    ) -> Option<Outcome> {
        // A first time of zero means no time. After another time it is a simulation that starts again.
        if self.received.reading.is_none() && time == Time::ZERO {
            return None;
        }
        self.received = Received {
            reading: Some(reading),
            ..Received::default()
        };
        if !self.is_active {
            return None;
        }
        let before = self.now(wall);
        let continues = continues.filter(|_| self.reading.is_set());
        let event = match continues {
            _ if !self.reading.is_set() => Some(JumpEvent {
                kind: JumpKind::Started,
                before,
                after: reading.at(wall),
            }),
            // Running backwards is no jump, and neither is a correction on the way.
            Some(heading) if heading.is_reverse() => None,
            Some(heading) => JumpEvent::step(before, reading.not_behind(before, heading).at(wall)),
            None => JumpEvent::step(before, reading.at(wall)),
        };
        let notices = event.map(Notice::Jump).into_iter();
        Some(Outcome {
            reading,
            continues,
            said: continues.is_none().then_some(time),
            event,
            notices: notices.chain([Notice::Tick(time)]).collect(),
            ..self.unchanged()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::delivery_limit::Share;
    use super::super::extrapolate::Extrapolation;
    use super::*;
    use crate::clock::source::time_queue::{MOST, Mailbox};
    use crate::clock::test_clock::TestClock;

    /// How many kinds of letters can be queued behind the limit.
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
        let state = (time.clone(), speed)
            .prop_map(move |(time, speed)| Heard::now(ClockState::new(time, speed), how, &wall));
        prop_oneof![
            4 => time.prop_map(|time| vec![Change::Time(time)]),
            4 => state.prop_map(|heard| vec![Change::State(heard)]),
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
            clock.core.change(change, Share::ALL);
        }
        let is_shut = clock.core.lock().is_shut();
        let before = (clock.is_active(), clock.try_now(), clock.pace());
        writer.activate();
        (before, is_shut, clock.try_now(), clock.pace())
    }

    proptest! {
        #[test]
        fn a_clock_comes_to_the_same_state_if_the_newest_of_each_kind_counts(
            all in prop::collection::vec(changes(&TestClock::new(Time::from_nanos(1)).wall()), 0..40)
        ) {
            let test = TestClock::new(Time::from_nanos(1));
            let all = all.concat();
            let mut mailbox = Mailbox::default();
            for _ in 0..2 * MOST {
                mailbox.put_in_order(Change::Activate);
            }
            for change in &all {
                mailbox.put_in_order(*change);
            }
            prop_assert!(mailbox.len() < 2 * MOST + KINDS);
            let waiting: Vec<_> = mailbox.letters().drain(..).collect();
            let every = [Change::Activate].into_iter().chain(all).collect();
            prop_assert_eq!(shown(&test, waiting), shown(&test, every));
        }
    }
}
