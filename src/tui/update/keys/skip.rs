//! Carries out the action of the key that skips gaps.

use jiff::Timestamp;

use crate::player::Command;
use crate::tui::model::Model;

impl Model {
    pub(in crate::tui::update) fn toggle_skipping(&mut self, stamp: Timestamp) {
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
