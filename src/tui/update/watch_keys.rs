//! Watching fields: which are watched, and what has to be read for them.

use jiff::Timestamp;

use crate::time::TimeRange;
use crate::tui::model::Model;
use crate::tui::model::layers::Layer;
use crate::tui::model::parts::TopicRow;
use crate::tui::model::watch::WatchedValues;
use crate::tui::watch::pin::{Pin, SavedPin};
use crate::tui::watch::view_range;

/// The most fields that are watched.
const MOST_PINS: usize = 8;

impl Model {
    /// Watches the saved fields whose topics this recording has.
    #[must_use]
    pub fn watching(mut self, saved: &[SavedPin]) -> Self {
        for saved in saved {
            let is_it = |row: &&TopicRow| {
                let topic = self.topic(row.id);
                topic.is_some_and(|it| it.name == saved.topic && it.type_name() == saved.type_name)
            };
            let row = self.rows.iter().find(is_it);
            if let Some((row, field)) = row.zip(saved.field())
                && self.watch.pins.len() < MOST_PINS
            {
                let pin = Pin {
                    topic: row.id,
                    field,
                };
                if !self.watch.pins.contains(&pin) {
                    self.watch.pins.push(pin);
                }
            }
        }
        self
    }

    /// The fields that are watched, as they are saved.
    pub fn pins_to_save(&self) -> Vec<SavedPin> {
        let saved = |pin: &Pin| {
            let topic = self.topic(pin.topic)?;
            Some(SavedPin::new(&topic.name, topic.type_name(), &pin.field))
        };
        self.watch.pins.iter().filter_map(saved).collect()
    }

    /// Whether the recording has a topic to which a saved field belongs.
    pub fn has_topic_of(&self, saved: &SavedPin) -> bool {
        let mut topics = self.facts.topics.iter();
        topics.any(|it| it.name == saved.topic && it.type_name() == saved.type_name)
    }

    /// The range whose watched values are shown.
    pub(in crate::tui) fn watched_range(&self) -> TimeRange {
        view_range::shown(self.playhead(), self.played.ab_loop)
    }

    /// The watched fields and the range to read for them, if something that is shown is not known.
    pub fn wanted_values(&self) -> Option<(Vec<Pin>, TimeRange)> {
        let pins = &self.watch.pins;
        if pins.is_empty() || self.facts.is_elsewhere {
            return None;
        }
        let known = self.watch.values.as_ref();
        let known = known.filter(|known| known.pins == *pins);
        let known = known.map(|known| known.range);
        let range = view_range::wanted(self.watched_range(), known, self.facts.recording)?;
        Some((pins.clone(), range))
    }

    /// Keeps values that were read, unless others are watched by now.
    pub(super) fn take_watched(&mut self, values: WatchedValues) {
        if values.pins == self.watch.pins {
            self.watch.values = Some(values);
        }
    }

    /// Watches the selected field of a card, or no longer.
    pub(super) fn toggle_watch(&mut self, stamp: Timestamp) {
        if self.facts.is_elsewhere {
            return self.log_info("fields cannot be watched in a player elsewhere", stamp);
        }
        let Layer::Topic(card, _) = &self.layer else {
            return self.log_info("to watch a field, show its topic and select it", stamp);
        };
        let Some(selected) = card.selected_field() else {
            return self.log_info("this message has no field that can be watched", stamp);
        };
        let pin = Pin {
            topic: card.topic,
            field: selected.field,
        };
        let name = self.name_of(&pin);
        if let Some(at) = self.watch.pins.iter().position(|known| *known == pin) {
            self.watch.pins.remove(at);
            self.log_info(format!("{name} is no longer watched"), stamp);
        } else if self.watch.pins.len() == MOST_PINS {
            let text = format!("{MOST_PINS} fields are watched; remove one first");
            return self.log_info(text, stamp);
        } else {
            self.watch.pins.push(pin);
            self.log_info(format!("{name} is watched"), stamp);
        }
        self.scroll_to_selection();
    }

    /// Watches nothing.
    pub(super) fn unwatch_all(&mut self, stamp: Timestamp) {
        if self.watch.pins.is_empty() {
            return self.log_info("no field is watched", stamp);
        }
        self.watch.pins.clear();
        self.log_info("no field is watched any more", stamp);
        self.scroll_to_selection();
    }

    /// Selects another field of a card; `false` if there is none in this direction.
    pub(super) fn move_field(&mut self, by: isize) -> bool {
        let Layer::Topic(card, _) = &mut self.layer else {
            return false;
        };
        let Some(last) = card.fields().len().checked_sub(1) else {
            return false;
        };
        let field = card.field.min(last).saturating_add_signed(by).min(last);
        std::mem::replace(&mut card.field, field) != field
    }

    fn name_of(&self, pin: &Pin) -> String {
        let topic = self.rows.iter().find(|row| row.id == pin.topic);
        format!("{} {}", topic.map_or("", |row| &row.name), pin.field)
    }
}
