//! Showing and muting a topic.

use jiff::Timestamp;

use crate::bag::TopicId;
use crate::player::Command;
use crate::time::{Ros, Time};
use crate::tui::model::Model;
use crate::tui::model::layers::{Card, Layer, Scroll};
use crate::tui::model::parts::TopicRow;

impl Model {
    pub(in crate::tui::update) fn show_topic(&mut self) {
        let Some(row) = self.selected_row() else {
            return;
        };
        let card = Card {
            topic: row.id,
            message: None,
            has_pictures: self.shows_pictures_of(row.id),
            field: self.watch.selected.get(&row.id).cloned(),
        };
        self.layer = Layer::Topic(card, Scroll::default());
    }

    /// The topic whose message is to be shown, and the time at or before which the message was recorded.
    pub fn wanted_message(&self) -> Option<(TopicId, Time<Ros>)> {
        match self.layer.shown() {
            Layer::Topic(card, _) => {
                let here = self.playhead();
                let is_known = card.message.as_ref().is_some_and(|known| known.at == here);
                (!is_known).then_some((card.topic, here))
            }
            _ => None,
        }
    }

    /// Mutes all topics but the selected one; if they are, none.
    pub(in crate::tui::update) fn solo(&mut self, stamp: Timestamp) {
        let Some(row) = self.shown_or_selected() else {
            return;
        };
        if row.left_out.is_some() {
            let text = format!("{} is not played", row.name);
            return self.log_info(text, stamp);
        }
        let only = row.id;
        let is_solo = |row: &TopicRow| row.is_muted == (row.id != only);
        let mut played = self.rows.iter().filter(|row| row.left_out.is_none());
        let was_solo = played.all(is_solo);
        let mut commands = Vec::new();
        for row in self.rows.iter_mut().filter(|row| row.left_out.is_none()) {
            let is_muted = row.id != only && !was_solo;
            if is_muted != row.is_muted {
                row.is_muted = is_muted;
                commands.push(if is_muted {
                    Command::Mute(row.id)
                } else {
                    Command::Unmute(row.id)
                });
            }
        }
        let name = self.topic(only).map_or("", |topic| &topic.name);
        let text = if was_solo {
            "no topic is muted".to_owned()
        } else {
            format!("all topics but {name} are muted")
        };
        for command in commands {
            self.send_command(command);
        }
        self.log_info(text, stamp);
    }

    pub(in crate::tui::update) fn mute(&mut self, stamp: Timestamp) {
        let topic = self.shown_or_selected().map(|row| row.id);
        let row = self.rows.iter_mut().find(|row| Some(row.id) == topic);
        let Some(row) = row else {
            return;
        };
        if row.left_out.is_some() {
            let text = format!("{} is not played", row.name);
            self.log_info(text, stamp);
            return;
        }
        row.is_muted = !row.is_muted;
        let (text, command) = if row.is_muted {
            (format!("{} is muted", row.name), Command::Mute(row.id))
        } else {
            (
                format!("{} is published again", row.name),
                Command::Unmute(row.id),
            )
        };
        self.send_command(command);
        self.log_info(text, stamp);
    }

    /// The row of the topic that is shown, or the selected one.
    fn shown_or_selected(&self) -> Option<&TopicRow> {
        match &self.layer {
            Layer::Topic(card, _) => self.rows.iter().find(|row| row.id == card.topic),
            _ => self.selected_row(),
        }
    }
}
