//! [`Model::run_state`]: the state of the run, for the remembered position and the command line that plays on.

use crate::player::RunState;
use crate::tui::model::Model;

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
            clock: self.settings.clock,
            clock_shift: self.facts.clock_shift,
            skip_empty: self.settings.skip_empty,
            muted: muted.map(|topic| topic.name.clone()).collect(),
        })
    }
}
