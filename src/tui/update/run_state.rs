//! [`Model::run_state`]: the state of the run, for the command line that plays on and for the remembered position.

use crate::player::{ClockMode, RunState};
use crate::ros::is_same_topic;
use crate::time::{AtEnd, Ros, Time};
use crate::tui::model::Model;

/// The topic of the clock.
const CLOCK: &str = "/clock";

impl Model {
    /// The state of the run; `None` before the status of the player is known. At the edges of the recording, and at the
    /// end of what is played, it has no position: a run in this state plays all of it.
    pub fn run_state(&self) -> Option<RunState> {
        self.status?;
        let played = || self.rows.iter().filter(|row| row.left_out.is_none());
        let is_silent = played().all(|row| row.is_muted);
        let muted = played().filter(|row| row.is_muted && !is_silent);
        // Otherwise a recorded clock that was left out for the one that was served would be played.
        let is_silenced = self.settings.clock == ClockMode::Off
            && self
                .begun
                .as_ref()
                .is_some_and(|it| it.clock != ClockMode::Off);
        let left_out = self.rows.iter().filter(|row| row.left_out.is_some());
        let clock = left_out.filter(|row| is_silenced && is_same_topic(&row.name, CLOCK));
        let muted = muted.chain(clock).filter_map(|row| self.topic(row.id));
        Some(RunState {
            recording: self.facts.recording,
            played: self.played,
            position: self.position_within().filter(|at| !self.is_end(*at)),
            pace: self.pace(),
            is_paused: self.was_paused,
            clock: self.settings.clock,
            clock_shift: self.facts.clock_shift,
            skip_empty: self.settings.skip_empty,
            muted: muted.map(|topic| topic.name.clone()).collect(),
        })
    }

    /// The state of the run, if it is worth a command line when the bar has been left: playback is somewhere within the
    /// recording, or something is not as it was when the run began.
    pub fn state_to_resume(&self) -> Option<RunState> {
        let state = self.run_state()?;
        let begun = self.begun.as_ref();
        let is_changed = begun.is_some_and(|begun| {
            let same_motion = RunState {
                position: state.position,
                is_paused: state.is_paused,
                ..begun.clone()
            };
            same_motion != state
        });
        (state.position.is_some() || is_changed).then_some(state)
    }

    /// The position of playback; `None` before it is known, and at the edges of the recording.
    pub fn position_within(&self) -> Option<Time<Ros>> {
        let (position, recording) = (self.playhead(), self.facts.recording);
        let is_within = recording.start() < position && position < recording.stop();
        (is_within && self.status.is_some()).then_some(position)
    }

    /// Whether a run that begins at a time of what is played would end there.
    fn is_end(&self, time: Time<Ros>) -> bool {
        let (range, at_end) = self.played.current();
        let exit = if self.is_reverse() {
            range.start()
        } else {
            range.stop()
        };
        at_end == AtEnd::Hold && time == exit
    }
}
