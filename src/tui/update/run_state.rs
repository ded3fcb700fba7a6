//! The state of the run, for those who save it or say it as a command line.

use crate::player::{PlayedRange, State};
use crate::time::{Duration, TimeRange};
use crate::tui::model::Model;

impl Model {
    /// The range of the recording.
    pub fn recording(&self) -> TimeRange {
        self.facts.recording
    }

    /// How far playback is from the start of the recording; `None` at its start and at its end.
    pub fn since_start(&self) -> Option<Duration> {
        let (here, all) = (self.playhead(), self.facts.recording);
        let is_within = all.start() < here && here < all.stop() && self.status.is_some();
        is_within.then(|| here.saturating_since(all.start()))
    }

    /// What is played, with the changes that were requested.
    pub fn played(&self) -> PlayedRange {
        self.played
    }

    /// Whether playback is paused.
    pub fn is_paused(&self) -> bool {
        self.state() == State::Paused
    }

    /// The recorded names of the topics that are muted.
    pub fn muted_topics(&self) -> Vec<String> {
        let muted = self.rows.iter().filter(|row| row.is_muted);
        let topics = muted.filter_map(|row| self.topic(row.id));
        topics.map(|topic| topic.name.clone()).collect()
    }
}
