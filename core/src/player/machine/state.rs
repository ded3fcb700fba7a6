//! [`Conditions`]: what playing depends on, and the state that follows from it. [`Course`]: how far a run has come.

use super::Machine;
use crate::player::command::{State, Status};
use crate::player::level::gates::{Gate, GateHandle, Gates, Level};
use crate::player::options::Intent;

/// The conditions of playing: the intent, the gates, the read-ahead, and how far the run has come.
#[derive(Debug)]
pub(super) struct Conditions {
    intent: Intent,
    gates: GateHandle,
    /// The gates when they were last read: what is decided together is decided by the same gates.
    read: Level,
    /// A clock is followed and it is not known.
    lacks_lead: bool,
    is_starved: bool,
    course: Course,
}

impl Conditions {
    pub(super) fn new(intent: Intent, gates: GateHandle) -> Self {
        Self {
            intent,
            read: gates.level(),
            lacks_lead: false,
            gates,
            is_starved: true,
            course: Course::default(),
        }
    }

    /// The intent is now to play.
    pub(super) fn play(&mut self) {
        self.intent = Intent::Play;
    }

    /// The intent is now to pause.
    pub(super) fn pause(&mut self) {
        self.intent = Intent::Pause;
    }

    /// Whether the intent is to pause.
    pub(super) fn is_to_pause(&self) -> bool {
        self.intent == Intent::Pause
    }

    /// Whether the intent is to play, from where playback is.
    pub(super) fn is_to_play(&self) -> bool {
        self.intent == Intent::Play && self.course.is_underway()
    }

    /// Whether the intent is to play, also at the exit edge, from where a jump leads back.
    pub(super) fn wants_to_play(&self) -> bool {
        self.intent == Intent::Play && !self.course.is_over()
    }

    /// Whether playback may run, apart from the read-ahead.
    pub(super) fn may_play(&self) -> bool {
        self.is_to_play() && self.gates().is_open()
    }

    /// Whether it is known what comes next.
    pub(super) fn has_read(&mut self, is_ready: bool) {
        self.is_starved = !is_ready;
    }

    /// Reads the gates; whether the path has come back since they were last read.
    pub(super) fn read_gates(&mut self) -> bool {
        let before = std::mem::replace(&mut self.read, self.gates.level());
        self.read.path_returns() != before.path_returns()
    }

    /// Whether the gates are as they were when they were last read.
    #[inline]
    pub(super) fn gates_are_as_read(&self) -> bool {
        self.read == self.gates.level()
    }

    /// Whether a clock is followed and it is not known.
    pub(super) fn lacks_lead(&mut self, is_unknown: bool) {
        self.lacks_lead = is_unknown;
    }

    /// The gates that were closed when they were last read.
    pub(super) fn gates(&self) -> Gates {
        if self.lacks_lead {
            self.read.gates().close(Gate::Lead)
        } else {
            self.read.gates()
        }
    }

    /// The handle of the gates.
    pub(super) fn gate_handle(&self) -> &GateHandle {
        &self.gates
    }

    /// The delay is over.
    pub(super) fn end_delay(&mut self) {
        self.gates.open(Gate::Delay);
        self.read_gates();
    }

    /// How far the run has come.
    pub(super) fn course(&self) -> Course {
        self.course
    }

    /// The same, to be changed.
    pub(super) fn course_mut(&mut self) -> &mut Course {
        &mut self.course
    }

    /// What playback is doing.
    pub(super) fn state(&self) -> State {
        if self.course.is_over() {
            State::Stopped
        } else if self.course.is_ended() {
            State::Ended
        } else if self.intent == Intent::Pause {
            State::Paused
        } else if !self.gates().is_open() {
            State::Gated
        } else if self.is_starved {
            State::Starved
        } else {
            State::Playing
        }
    }
}

/// Under way, at the exit edge, or over. Only [`Course::stop`] ends the run, and nothing restarts it after that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Course(Stage);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Underway,
    Ended,
    Over,
}

impl Course {
    /// Whether the run is under way, playing or not.
    pub(super) fn is_underway(self) -> bool {
        self.0 == Stage::Underway
    }

    /// Whether playback is at the exit edge, from where a jump can restart it.
    pub(super) fn is_ended(self) -> bool {
        self.0 == Stage::Ended
    }

    /// Whether the run is over, for good.
    pub(super) fn is_over(self) -> bool {
        self.0 == Stage::Over
    }

    /// Playback has reached the exit edge.
    pub(super) fn arrive(&mut self) {
        self.change(Stage::Ended);
    }

    /// A jump, also away from the exit edge.
    pub(super) fn jump(&mut self) {
        self.change(Stage::Underway);
    }

    /// The run is over.
    pub(super) fn stop(&mut self) {
        self.change(Stage::Over);
    }

    fn change(&mut self, to: Stage) {
        if self.0 != Stage::Over {
            self.0 = to;
        }
    }
}

impl Machine {
    /// What playback is doing.
    pub fn state(&self) -> State {
        self.conditions.state()
    }

    /// A snapshot for other threads.
    pub fn status(&self) -> Status {
        Status {
            segment: self.segment(),
            played: self.position.played(),
            state: self.state(),
            pace: self.pace,
            gates: self.conditions.gates(),
            sent: self.report.sent,
            bytes: self.report.bytes,
            late: self.report.lateness.late(),
            damaged: self.report.damaged(),
            laps: self.report.laps,
            seeks: self.seeks,
            clock: self.clock.mode(),
            skip_empty: self.options.skip_empty,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_the_end() {
        let mut course = Course::default();
        course.arrive();
        assert!(course.is_ended());
        course.jump();
        assert!(course.is_underway());
        course.stop();
        course.jump();
        course.arrive();
        assert!(course.is_over() && !course.is_underway() && !course.is_ended());
    }
}
