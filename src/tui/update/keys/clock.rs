//! Carries out the actions of the keys for the clock that is served.

use jiff::Timestamp;

use crate::player::{ClockMode, Command, Refusal, parse_clock_hz};
use crate::time::{Duration, hertz, period_of};
use crate::tui::input::bindings::Action;
use crate::tui::model::Model;
use crate::tui::model::layers::{Layer, Prompt, PromptKind};
use crate::tui::model::parts::TopicRow;

impl Model {
    pub(in crate::tui::update) fn toggle_clock(&mut self, stamp: Timestamp) {
        match (self.clock_refusal(), self.settings.clock) {
            (Some(reason), _) => self.log_info(reason, stamp),
            (None, ClockMode::Off) => self.serve_clock(self.settings.period, stamp),
            (None, _) => self.end_clock(stamp),
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
        stamp: Timestamp,
    ) -> Result<(), String> {
        match text.trim_end_matches("Hz").trim_end() {
            "off" | "0" => self.end_clock(stamp),
            text => self.serve_clock(period_of(parse_clock_hz(text)?), stamp),
        }
        Ok(())
    }

    fn serve_clock(&mut self, period: Duration, stamp: Timestamp) {
        self.settings.clock = ClockMode::Every(period);
        self.settings.period = period;
        self.send_command(Command::ServeClock(period));
        self.log_info(
            format!("/clock is published at {} Hz", hertz(period)),
            stamp,
        );
    }

    fn end_clock(&mut self, stamp: Timestamp) {
        self.settings.clock = ClockMode::Off;
        self.send_command(Command::EndClock);
        self.log_info("/clock is not published any more", stamp);
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
