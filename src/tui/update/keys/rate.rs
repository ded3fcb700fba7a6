//! Carries out the actions of the keys for the rate.

use jiff::Timestamp;

use crate::player::{Command, Pace};
use crate::time::{InvalidSpeed, Speed};
use crate::tui::input::bindings::Action;
use crate::tui::model::Model;

/// The range of rates, in millionths.
const MIN_RATE: i32 = 1_000;
const MAX_RATE: i32 = 1_000_000_000;

impl Model {
    /// The pace that was asked for last, or the player's pace.
    pub(crate) fn pace(&self) -> Pace {
        let known = self.status.map(|status| status.pace);
        let asked = self.requested_pace.map(|(asked, _)| asked);
        asked.or(known).unwrap_or(Pace::At(Speed::NORMAL))
    }

    fn set_pace(&mut self, pace: Pace) {
        // The next key may come before the player has processed this command.
        self.requested_pace = Some((pace, self.now));
        self.send_command(Command::SetPace(pace));
    }

    pub(crate) fn change_rate(&mut self, percent: u16, stamp: Timestamp) {
        let Pace::At(speed) = self.pace() else {
            let key = self.appearance.bindings.keys(Action::NormalRate).first();
            let hint = key.map_or_else(String::new, |key| format!("; {key} sets it to 1×"));
            self.log_info(format!("the rate is max{hint}"), stamp);
            return;
        };
        let now = speed.millionths().abs();
        let asked = i64::from(now) * i64::from(percent) / 100;
        let asked = i32::try_from(asked)
            .unwrap_or(MAX_RATE)
            .clamp(MIN_RATE, MAX_RATE);
        let normal = Speed::NORMAL.millionths();
        // Steps up and down do not cancel exactly; a rate near 1 becomes 1.
        let is_near = (asked - normal).abs() < 15_000;
        let asked = if is_near { normal } else { asked };
        if asked == now {
            let limit = if percent > 100 { "highest" } else { "lowest" };
            self.log_info(format!("this is the {limit} rate"), stamp);
            return;
        }
        if let Ok(asked) = Speed::from_millionths(asked * speed.millionths().signum()) {
            self.set_pace(Pace::At(asked));
        }
    }

    /// Sets a rate that was typed: `0.5`, `-2` or `max`.
    pub(in crate::tui::update) fn set_typed_rate(&mut self, text: &str) -> Result<(), String> {
        let text = text.strip_prefix(['×', 'x']).unwrap_or(text);
        let pace = match text {
            "max" => Pace::Max,
            _ => Pace::At(
                text.parse()
                    .map_err(|error: InvalidSpeed| error.to_string())?,
            ),
        };
        self.set_pace(pace);
        Ok(())
    }

    pub(crate) fn set_normal_rate(&mut self) {
        let is_reverse = matches!(self.pace(), Pace::At(speed) if speed.is_reverse());
        let normal = Speed::NORMAL;
        self.set_pace(Pace::At(if is_reverse {
            normal.reversed()
        } else {
            normal
        }));
    }

    pub(crate) fn reverse_direction(&mut self, stamp: Timestamp) {
        match self.pace() {
            Pace::At(speed) => self.set_pace(Pace::At(speed.reversed())),
            Pace::Max => self.log_info("a rate of max plays forwards only", stamp),
            // Refused before.
            Pace::Follow => {}
        }
    }
}
