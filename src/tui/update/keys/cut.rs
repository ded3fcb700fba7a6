//! Writing a part of the recording to a new file.

use std::path::Path;

use jiff::Timestamp;

use crate::bag::{Lost, TopicId};
use crate::time::{Ros, Time, TimeRange};
use crate::tui::model::Model;
use crate::tui::model::layers::{Layer, Prompt, PromptKind};
use crate::tui::model::log::{LogLine, Severity};
use crate::tui::model::parts::{CutRequest, Effect, TopicRow};

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
        self.warn_of_damage(range, stamp);
    }

    /// Logs how much of what would be cut is lost, as far as that is known.
    fn warn_of_damage(&mut self, range: TimeRange, stamp: Timestamp) {
        let topics = self.topics_to_cut();
        let lost = Lost::of(self.damaged.all(), range, |topic| topics.contains(&topic));
        let Some(lost) = lost else {
            return;
        };
        self.log.push(LogLine {
            at: stamp,
            severity: Severity::Warning,
            text: format!("between A and B: {lost}"),
        });
    }

    /// The topics that are not muted, also those that are recorded but not played, as the recorded clock while `/clock`
    /// is served. These cannot be muted, so they are left out when all topics but one are.
    fn topics_to_cut(&self) -> Vec<TopicId> {
        let is_played = |row: &&TopicRow| row.left_out.is_none();
        let played = || self.rows.iter().filter(is_played);
        let is_solo = played().count() > 1 && played().filter(|row| !row.is_muted).count() == 1;
        let is_cut = |row: &&TopicRow| match row.left_out {
            Some(_) => !is_solo,
            None => !row.is_muted,
        };
        let cut = self.rows.iter().filter(is_cut);
        cut.map(|row| row.id).collect()
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
        let topics = self.topics_to_cut();
        self.effects
            .push(Effect::Cut(CutRequest { range, topics, out }));
    }
}
