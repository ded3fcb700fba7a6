//! Watching fields: which are watched, and what has to be read for them.

use jiff::Timestamp;

use crate::time::{Ros, Time, TimeRange};
use crate::tui::input::bindings::Action;
use crate::tui::model::Model;
use crate::tui::model::layers::Layer;
use crate::tui::model::parts::TopicRow;
use crate::tui::model::watch::WatchedValues;
use crate::tui::view;
use crate::tui::watch::pin::{Pin, SavedPin, WatchedField};
use crate::tui::watch::view_range::ViewRange;

/// The most fields that are watched.
pub(super) const MOST_PINS: usize = 8;

impl Model {
    /// Watches the saved fields whose topics are in the table.
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
                self.watch.taken.push(saved.clone());
            }
        }
        self
    }

    /// What is saved after this run: what is saved now, perhaps by another bar, with the changes of this run. The
    /// present pins come last. One that was taken over and that is not saved any more was removed by another bar.
    pub fn pins_to_save(&self, now: &[SavedPin]) -> Vec<SavedPin> {
        let taken = &self.watch.taken;
        let others = now.iter().filter(|saved| !taken.contains(saved));
        let mut all: Vec<SavedPin> = others.cloned().collect();
        for pin in &self.watch.pins {
            let Some(topic) = self.topic(pin.topic) else {
                continue;
            };
            let saved = SavedPin::new(&topic.name, topic.type_name(), &pin.field);
            let is_removed = taken.contains(&saved) && !now.contains(&saved);
            if !is_removed && !all.contains(&saved) {
                all.push(saved);
            }
        }
        all
    }

    /// The part whose watched values are shown.
    pub(in crate::tui) fn view_range(&self) -> ViewRange {
        let around = ViewRange::Around(self.playhead());
        self.played.ab_loop.map_or(around, ViewRange::Loop)
    }

    /// The pins and the range to read for them, if something that is shown is not known.
    pub fn wanted_values(&self) -> Option<(Vec<Pin>, TimeRange)> {
        let pins = &self.watch.pins;
        let has_room = self.layout().watch.height > 0;
        if pins.is_empty() || !has_room || self.facts.is_elsewhere {
            return None;
        }
        let (view, recording) = (self.view_range(), self.facts.recording);
        let known = self.watch.values.as_ref();
        let known = known.filter(|known| known.pins == *pins);
        let is_known = known.is_some_and(|known| view.is_in(known.range, recording));
        let range = view.to_read(recording).filter(|_| !is_known)?;
        Some((pins.clone(), range))
    }

    /// Whether values around this time were read.
    pub(in crate::tui) fn is_watched_known(&self, time: Time<Ros>) -> bool {
        let values = self.watch.values.as_ref();
        let known = values.filter(|known| known.pins == self.watch.pins);
        known.is_some_and(|known| known.range.contains(time))
    }

    /// Keeps values that were read, unless others are watched by now.
    pub(in crate::tui::update) fn take_watched(&mut self, values: WatchedValues) {
        if values.pins == self.watch.pins {
            self.watch.values = Some(values);
        }
    }

    /// Watches the selected field of a card, or no longer.
    pub(in crate::tui::update) fn toggle_watch(&mut self, stamp: Timestamp) {
        let Layer::Topic(card, _) = &self.layer else {
            return self.log_info("to watch a field, show its topic and select it", stamp);
        };
        let Some(field) = card.selected_field() else {
            let why = if card.is_unreadable() {
                "this message cannot be read, so none of its fields can be watched"
            } else {
                "this message has no field that can be watched"
            };
            return self.log_info(why, stamp);
        };
        let pin = Pin {
            topic: card.topic,
            field,
        };
        if matches!(&pin.field, WatchedField::Value(path) if path.has_wildcard()) {
            return self.ask_for_elements(&pin);
        }
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
    pub(in crate::tui::update) fn unwatch_all(&mut self, stamp: Timestamp) {
        if self.watch.pins.is_empty() {
            return self.log_info("no field is watched", stamp);
        }
        self.watch.pins.clear();
        self.log_info("no field is watched any more", stamp);
        self.scroll_to_selection();
    }

    /// Scrolls the plots, if not all fit.
    pub(in crate::tui::update) fn scroll_plots(&mut self, by: isize, stamp: Timestamp) {
        if self.watch.pins.is_empty() {
            return self.log_info("no field is watched", stamp);
        }
        let hidden = view::hidden_plots(self);
        if hidden == 0 {
            return self.log_info("all watched fields are shown", stamp);
        }
        let first = self.watch.first.min(hidden);
        self.watch.first = first.saturating_add_signed(by).min(hidden);
    }

    /// Says how many watched fields are not shown, whenever there are more of them than before.
    pub(in crate::tui::update) fn tell_unshown_fields(&mut self, stamp: Timestamp) {
        // Before there is a status, the size of the screen is not known.
        if self.status.is_none() || self.facts.is_elsewhere {
            return;
        }
        let unshown = view::unshown_fields(self);
        let told = std::mem::replace(&mut self.watch.told_unshown, unshown);
        if unshown <= told {
            return;
        }
        let all = self.watch.pins.len();
        let text = match (unshown, all) {
            (1, 1) => "no room for the watched field: too few rows".to_owned(),
            _ if unshown == all => format!("no room for the {all} watched fields: too few rows"),
            _ => {
                let keys = [Action::ScrollPlots(-1), Action::ScrollPlots(1)];
                let keys = keys.map(|action| self.appearance.bindings.keys(action).first());
                let scroll = match keys {
                    [Some(up), Some(down)] => format!("; {up} and {down} scroll"),
                    _ => String::new(),
                };
                format!("no room for {unshown} of {all} watched fields: too few rows{scroll}")
            }
        };
        self.log_info(text, stamp);
    }

    /// Selects another field of a card; `false` if there is none in this direction.
    pub(in crate::tui::update) fn move_field(&mut self, by: isize) -> bool {
        if self.facts.is_elsewhere {
            return false;
        }
        let Layer::Topic(card, _) = &mut self.layer else {
            return false;
        };
        let mut fields = card.fields();
        let Some(now) = card.selected_index(&fields) else {
            return false;
        };
        let next = now.saturating_add_signed(by).min(fields.len() - 1);
        let field = fields.swap_remove(next).field;
        self.watch.selected.insert(card.topic, field.clone());
        card.field = Some(field);
        next != now
    }

    /// The name of a pin: its topic and its field.
    pub(in crate::tui) fn name_of(&self, pin: &Pin) -> String {
        let topic = self.rows.iter().find(|row| row.id == pin.topic);
        format!("{} {}", topic.map_or("", |row| &row.name), pin.field)
    }
}
