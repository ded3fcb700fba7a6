//! [`RunState`]: the state of the run, for the state files and the command line that plays on.

use crate::player::{Pace, PlayedRange, State};
use crate::time::{Ros, Time, TimeRange};
use crate::tui::model::Model;

/// The state of a run that is under way.
#[derive(Clone, PartialEq, Debug)]
pub struct RunState {
    /// The range of the recording.
    pub recording: TimeRange,
    /// What is played, with the changes that were requested.
    pub played: PlayedRange,
    /// The position.
    pub position: Time<Ros>,
    /// How fast it plays.
    pub pace: Pace,
    /// Whether it is paused.
    pub is_paused: bool,
    /// The recorded names of the topics that are muted.
    pub muted: Vec<String>,
}

impl Model {
    /// The state of the run; `None` before its status is known, and at the edges of the recording.
    pub fn run_state(&self) -> Option<RunState> {
        let (position, recording) = (self.playhead(), self.facts.recording);
        let is_within = recording.start() < position && position < recording.stop();
        let muted = self.rows.iter().filter(|row| row.is_muted);
        let muted = muted.filter_map(|row| self.topic(row.id));
        (is_within && self.status.is_some()).then(|| RunState {
            recording,
            played: self.played,
            position,
            pace: self.pace(),
            is_paused: self.state() == State::Paused,
            muted: muted.map(|topic| topic.name.clone()).collect(),
        })
    }
}
