//! What the machine reports: its state, and a snapshot for other threads.

use super::Machine;
use crate::player::command::{State, Status};
use crate::player::options::Intent;

impl Machine {
    /// What playback is doing.
    pub fn state(&self) -> State {
        if self.course.is_over() {
            State::Stopped
        } else if self.course.is_ended() {
            State::Ended
        } else if self.intent == Intent::Pause {
            State::Paused
        } else if !self.gates.is_open() {
            State::Gated
        } else if self.is_starved {
            State::Starved
        } else {
            State::Playing
        }
    }

    /// A snapshot for other threads.
    pub fn status(&self) -> Status {
        Status {
            segment: self.segment,
            state: self.state(),
            pace: self.pace,
            gates: self.gates,
            sent: self.report.sent,
            bytes: self.report.bytes,
            late: self.report.late,
            damaged: self.report.damaged,
            laps: self.report.laps,
            seeks: self.seeks,
        }
    }
}
