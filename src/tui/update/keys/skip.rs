//! Carries out the action of the key that skips gaps.

use jiff::Timestamp;

use crate::player::Command;
use crate::tui::model::Model;

impl Model {
    pub(in crate::tui::update) fn toggle_skipping(&mut self, stamp: Timestamp) {
        if self.facts.is_elsewhere {
            let reason = "the skipping of gaps by a player elsewhere cannot be changed from here";
            return self.log_info(reason, stamp);
        }
        let longest = self.settings.longest_gap;
        let skipped = self.settings.skip_empty.is_none().then_some(longest);
        self.settings.skip_empty = skipped;
        self.send_command(Command::SkipEmpty(skipped));
        let text = match skipped {
            Some(longest) => format!("gaps longer than {longest} are skipped"),
            None => "gaps are played".to_owned(),
        };
        self.log_info(text, stamp);
    }
}
