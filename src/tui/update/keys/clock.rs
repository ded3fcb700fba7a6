//! Carries out the actions of the keys for the clock that is served.

use jiff::Timestamp;

use crate::player::{ClockMode, Command, Refusal, Status, parse_clock_hz};
use crate::time::{Duration, hertz, period_of};
use crate::tui::input::bindings::Action;
use crate::tui::model::Model;
use crate::tui::model::layers::{Layer, Prompt, PromptKind};
use crate::tui::model::parts::TopicRow;

impl Model {
    pub(in crate::tui::update) fn toggle_clock(&mut self, stamp: Timestamp) {
        match (self.clock_refusal(), self.settings.clock) {
            (Some(reason), _) => self.log_info(reason, stamp),
            (None, ClockMode::Off) => self.serve_clock(self.settings.period),
            (None, _) => self.end_clock(),
        }
    }

    pub(in crate::tui::update) fn ask_for_clock_rate(&mut self, stamp: Timestamp) {
        match self.clock_refusal() {
            Some(reason) => self.log_info(reason, stamp),
            None => self.layer = Layer::Prompt(Prompt::new(PromptKind::ClockRate, "")),
        }
    }

    /// Serves the clock at a rate that was typed: `40`, `0.5 Hz` or `off`.
    pub(in crate::tui::update) fn set_typed_clock_rate(
        &mut self,
        text: &str,
    ) -> Result<(), String> {
        match text.trim_end_matches("Hz").trim_end() {
            "off" | "0" => self.end_clock(),
            text => self.serve_clock(period_of(parse_clock_hz(text)?)),
        }
        Ok(())
    }

    fn serve_clock(&mut self, period: Duration) {
        self.settings.ask_for_clock(ClockMode::Every(period));
        self.settings.period = period;
        self.send_command(Command::ServeClock(period));
    }

    fn end_clock(&mut self) {
        self.settings.ask_for_clock(ClockMode::Off);
        self.send_command(Command::EndClock);
    }

    /// Takes over what the player was told, which another client may have changed, and logs the clock, if a change of
    /// it was asked for. To be called when all commands of this screen have taken effect.
    pub fn adopt_settings(&mut self, status: &Status, stamp: Timestamp) {
        let Some(asked) = self.settings.adopt(status.clock, status.skip_empty) else {
            return;
        };
        let text = match status.clock {
            ClockMode::Every(period) => format!("/clock is published at {} Hz", hertz(period)),
            ClockMode::Off if asked == ClockMode::Off => "/clock is not published any more".into(),
            // Why is a warning of its own.
            ClockMode::Off => "/clock is not published".into(),
            // Only the flags begin and end it.
            ClockMode::WithMessages(_) => return,
        };
        self.log_info(text, stamp);
    }

    /// Why the clock cannot be turned on or off; `None` if it can.
    pub(in crate::tui) fn clock_refusal(&self) -> Option<String> {
        let followed = self.followed.as_ref().filter(|_| self.is_following());
        if let Some(reason) = self.refused_in_attach(Action::Clock) {
            Some(reason.to_owned())
        } else if let Some(followed) = followed {
            Some(format!(
                "playback follows {}: no other clock is published",
                followed.topic
            ))
        } else if matches!(self.settings.clock, ClockMode::WithMessages(_)) {
            Some(Refusal::ClockWithMessages.to_string())
        } else if self.has_recorded_clock() {
            Some(
                "the recorded /clock is a topic of this run, and a second one would contradict it; \
                 hint: --clock publishes one instead of it"
                    .to_owned(),
            )
        } else {
            None
        }
    }

    /// Whether a clock of the recording is published, muted or not, or another topic under the name of the clock.
    fn has_recorded_clock(&self) -> bool {
        let is_clock = |name: &str| name.trim_start_matches('/') == "clock";
        let is_one = |row: &&TopicRow| {
            let recorded = self.topic(row.id).map(|topic| topic.name.as_str());
            is_clock(&row.name) || recorded.is_some_and(is_clock)
        };
        let played = self.rows.iter().filter(|row| row.left_out.is_none());
        played.filter(is_one).count() > 0
    }
}
