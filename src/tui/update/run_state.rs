//! [`RunState`]: the state of the run, for the state files and the command line that plays on.

use crate::player::{Pace, PlayedRange};
use crate::time::{Duration, Ros, Time, TimeRange};
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
    /// Whether it is paused, or was before the run ended.
    pub is_paused: bool,
    /// How much later `/clock` is than the recorded time.
    pub clock_shift: Duration,
    /// The recorded names of the topics that are muted; empty if nothing else is played.
    pub muted: Vec<String>,
}

impl Model {
    /// The state of the run; `None` before its status is known, and at the edges of the recording.
    pub fn run_state(&self) -> Option<RunState> {
        let (position, recording) = (self.playhead(), self.facts.recording);
        let is_within = recording.start() < position && position < recording.stop();
        let played = || self.rows.iter().filter(|row| row.left_out.is_none());
        let is_silent = played().all(|row| row.is_muted);
        let muted = played().filter(|row| row.is_muted && !is_silent);
        let muted = muted.filter_map(|row| self.topic(row.id));
        (is_within && self.status.is_some()).then(|| RunState {
            recording,
            played: self.played,
            position,
            pace: self.pace(),
            is_paused: self.was_paused,
            clock_shift: self.facts.clock_shift,
            muted: muted.map(|topic| topic.name.clone()).collect(),
        })
    }
}
