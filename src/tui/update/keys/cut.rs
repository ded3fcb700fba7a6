//! Writing a part of the recording to a new file.

use std::path::Path;

use jiff::Timestamp;

use crate::bag::{DamagedPart, TopicId};
use crate::time::{Ros, Time, TimeRange};
use crate::tui::model::Model;
use crate::tui::model::layers::{Layer, Prompt, PromptKind};
use crate::tui::model::log::{LogLine, Severity};
use crate::tui::model::parts::{CutRequest, Effect};
use crate::tui::model::timeline::in_words::up_to_messages;

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
        let parts = self.damaged.touching(range, None);
        let parts: Vec<&DamagedPart> = parts
            .filter(|part| topics.iter().any(|topic| part.concerns(*topic)))
            .collect();
        if parts.is_empty() {
            return;
        }
        let places = parts.len();
        let s = if places == 1 { "" } else { "s" };
        let messages: Option<u64> = parts.iter().map(|part| part.messages).sum();
        let lost = match messages {
            Some(messages @ 1) => format!("{} is lost", up_to_messages(messages)),
            Some(messages) => format!("{} are lost", up_to_messages(messages)),
            None => "messages are lost".to_owned(),
        };
        self.log.push(LogLine {
            at: stamp,
            severity: Severity::Warning,
            text: format!("damage between A and B, {places} part{s}: {lost}"),
        });
    }

    /// The topics that are played.
    fn topics_to_cut(&self) -> Vec<TopicId> {
        let rows = self.rows.iter();
        let played = rows.filter(|row| !row.is_muted && row.left_out.is_none());
        played.map(|row| row.id).collect()
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
