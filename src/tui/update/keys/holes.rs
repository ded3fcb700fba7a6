//! Jumps from hole to hole: of the selected topic, or of all topics if it has none.

use jiff::Timestamp;

use crate::bag::{Hole, Silent};
use crate::tui::model::Model;
use crate::tui::model::timeline::holes::Holes;

impl Model {
    /// Goes to the start of the next hole, or of the previous one if `by` is negative.
    pub(crate) fn go_to_hole(&mut self, by: i8, stamp: Timestamp) {
        if let Some(text) = self.why_no_holes() {
            return self.log_info(text, stamp);
        }
        let Holes::Known(known) = &self.holes else {
            return;
        };
        let selected = self.selected_row().map(|row| row.id);
        let selected = selected.filter(|id| self.topic(*id).is_some_and(|topic| !topic.is_latched));
        let is_of_selected = |hole: &Hole| selected.is_some_and(|topic| hole.concerns(topic));
        let has_own = known.all.iter().any(is_of_selected);
        let mut holes = known
            .all
            .iter()
            .filter(|hole| !has_own || is_of_selected(hole));
        let here = self.beyond_playhead(by < 0);
        let found = if by < 0 {
            holes.rfind(|hole| hole.range.start() < here)
        } else {
            holes.find(|hole| hole.range.start() > here)
        };
        match found.copied() {
            Some(hole) => {
                let text = self.hole_in_words(&hole);
                self.seek(hole.range.start(), stamp);
                self.log_info(text, stamp);
            }
            None if by < 0 => self.log_info("no earlier hole", stamp),
            None => self.log_info("no later hole", stamp),
        }
    }

    fn why_no_holes(&self) -> Option<&'static str> {
        match &self.holes {
            Holes::Unknown if self.facts.is_elsewhere => {
                Some("holes are shown only where the recording is read")
            }
            Holes::Unknown => Some("still reading the index"),
            Holes::NotLookedFor => Some(
                "holes were not looked for: too many messages, or an index that does not list all messages in this order",
            ),
            Holes::Known(known) if known.all.is_empty() => Some("no topic has a hole"),
            Holes::Known(_) => None,
        }
    }

    /// A hole in words: `/camera: no message for 2.500 s`.
    fn hole_in_words(&self, hole: &Hole) -> String {
        let silent = match hole.silent {
            Silent::Recording => "all topics",
            Silent::Topic { id, .. } => {
                let row = self.rows.iter().find(|row| row.id == id);
                row.map_or("a topic", |row| row.name.as_str())
            }
        };
        let seconds = hole.range.duration().as_secs_f64();
        format!("{silent}: no message for {seconds:.3} s")
    }
}
