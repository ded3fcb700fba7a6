//! Jumps through holes and damaged parts, in the order of time: those of the selected topic, or of all topics if it has
//! none.

use jiff::Timestamp;

use crate::bag::{DamagedPart, Hole, Silent, TopicId};
use crate::time::{Ros, Time};
use crate::tui::model::Model;
use crate::tui::model::timeline::holes::Holes;
use crate::tui::model::timeline::in_words::DamageDetail;
use crate::untrusted::Foreign;

/// What the keys go to.
#[derive(Clone, Copy)]
enum Gap<'a> {
    Hole(&'a Hole),
    Damage(&'a DamagedPart),
}

impl Gap<'_> {
    fn start(&self) -> Time<Ros> {
        match self {
            Self::Hole(hole) => hole.range.start(),
            Self::Damage(part) => part.range.start(),
        }
    }

    fn concerns(&self, topic: TopicId) -> bool {
        match self {
            Self::Hole(hole) => hole.concerns(topic),
            Self::Damage(part) => part.concerns(topic),
        }
    }
}

impl Model {
    /// Goes to the start of the next hole or damaged part, or of the previous one if `by` is negative.
    pub(crate) fn go_to_gap(&mut self, by: i8, stamp: Timestamp) {
        let gaps = self.gaps();
        let here = self.beyond_playhead(by < 0);
        let starts = gaps.iter().map(Gap::start);
        let found = if by < 0 {
            starts.filter(|start| *start < here).max()
        } else {
            starts.filter(|start| *start > here).min()
        };
        let Some(start) = found else {
            let why = self.why_no_gap(by, gaps.is_empty());
            let mut at_hand = gaps.iter().filter(|gap| gap.start() == self.playhead());
            let first = at_hand.next().map(|gap| self.gap_in_words(*gap));
            let text = match (first, at_hand.count()) {
                (None, _) => why,
                (Some(first), 0) => format!("{why}; at the playhead: {first}"),
                (Some(first), more) => format!("{why}; at the playhead: {first}, and {more} more"),
            };
            return self.log_info(text, stamp);
        };
        let there = gaps.iter().filter(|gap| gap.start() == start);
        let texts: Vec<String> = there.map(|gap| self.gap_in_words(*gap)).collect();
        self.seek(start, stamp);
        for text in texts {
            self.log_info(text, stamp);
        }
    }

    /// Those that are known: of the selected topic, or of all topics if it has none.
    fn gaps(&self) -> Vec<Gap<'_>> {
        let holes = match &self.holes {
            Holes::Known(known) => known.all.as_slice(),
            Holes::Unknown | Holes::NotLookedFor => &[],
        };
        let damaged = self.damaged.all().iter().map(Gap::Damage);
        let mut gaps: Vec<Gap<'_>> = holes.iter().map(Gap::Hole).chain(damaged).collect();
        let selected = self.selected_row().map(|row| row.id);
        let selected = selected.filter(|id| self.topic(*id).is_some_and(|topic| !topic.is_latched));
        let is_of_selected = |gap: &Gap<'_>| selected.is_some_and(|topic| gap.concerns(topic));
        if gaps.iter().any(is_of_selected) {
            gaps.retain(is_of_selected);
        }
        gaps
    }

    fn why_no_gap(&self, by: i8, has_none: bool) -> String {
        let not_looked_for = match &self.holes {
            Holes::Unknown => Some("still reading the index"),
            Holes::NotLookedFor => Some(
                "holes were not searched for: there are too many messages, the indexes do not list them, or messages are not played in the order of their log times",
            ),
            Holes::Known(_) => None,
        };
        let side = if by < 0 { "earlier" } else { "later" };
        match (has_none, not_looked_for) {
            (true, None) if self.damaged_places() > 0 => {
                "no topic has a hole; the times of the known damage are unknown".to_owned()
            }
            (true, None) => "no topic has a hole, and no damage is known".to_owned(),
            (true, Some(why)) => why.to_owned(),
            (false, None) => format!("no {side} hole or damage"),
            (false, Some(why)) => format!("no {side} damage; {why}"),
        }
    }

    fn gap_in_words(&self, gap: Gap<'_>) -> String {
        match gap {
            Gap::Hole(Hole { silent, range }) => {
                let topic = match silent {
                    Silent::Recording => None,
                    Silent::Topic { id, .. } => Some(*id),
                };
                self.hole_in_words(topic, *range)
            }
            Gap::Damage(part) => {
                let detail = Foreign::text(&part.damage.detail);
                format!(
                    "{}: {detail}",
                    self.damage_in_words(part, DamageDetail::FULL)
                )
            }
        }
    }
}
