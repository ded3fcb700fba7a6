//! Writing a part of the recording to a new file.

use std::path::Path;

use jiff::Timestamp;

use crate::time::{Ros, Time, TimeRange};
use crate::tui::model::Model;
use crate::tui::model::layers::{Layer, Prompt, PromptKind};
use crate::tui::model::parts::{CutRequest, Effect};

impl Model {
    /// Asks for the name of the file, with a proposal.
    pub(in crate::tui::update) fn ask_for_cut(&mut self, stamp: Timestamp) {
        let Some(range) = self.played.ab_loop else {
            return self.log_info("to write a part, set A and B first", stamp);
        };
        let name = Path::new(&self.facts.name);
        let stem = name
            .file_stem()
            .map_or("part".into(), |stem| stem.to_string_lossy());
        let start = self.facts.recording.start();
        let since = |time: Time<Ros>| {
            let millis = time.saturating_since(start).as_millis();
            format!("{}.{}", millis / 1000, millis % 1000 / 100)
        };
        let proposal = format!(
            "{stem}_{}-{}s.mcap",
            since(range.start()),
            since(range.stop())
        );
        self.layer = Layer::Prompt(Prompt::new(PromptKind::Cut(range), &proposal));
    }

    /// Shows the input line again with the name that was typed, unless something else was pressed meanwhile.
    pub(in crate::tui::update) fn ask_for_cut_again(&mut self, reason: String) {
        if let Some(prompt) = self.sent_cut.take()
            && matches!(self.layer, Layer::None)
        {
            self.layer = Layer::Prompt(Prompt {
                error: Some(reason),
                ..prompt
            });
        }
    }

    pub(in crate::tui::update) fn cut(&mut self, range: TimeRange, out: String) {
        if out.is_empty() {
            return;
        }
        let played = self
            .rows
            .iter()
            .filter(|row| !row.is_muted && row.left_out.is_none());
        let topics = played.map(|row| row.id).collect();
        self.effects
            .push(Effect::Cut(CutRequest { range, topics, out }));
    }
}
