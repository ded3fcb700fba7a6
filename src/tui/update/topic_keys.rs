//! Showing and muting a topic.

use jiff::Timestamp;

use crate::bag::TopicId;
use crate::player::Command;
use crate::time::{Ros, Time};
use crate::tui::model::Model;
use crate::tui::model::layers::{Card, Layer, Scroll};

impl Model {
    pub(super) fn show_topic(&mut self) {
        let Some(row) = self.selected_row() else {
            return;
        };
        let card = Card {
            topic: row.id,
            message: None,
            field: None,
        };
        self.layer = Layer::Topic(card, Scroll::default());
    }

    /// The topic whose message is to be shown, and the time at or before which the message was recorded.
    pub fn wanted_message(&self) -> Option<(TopicId, Time<Ros>)> {
        match &self.layer {
            Layer::Topic(card, _) => {
                let here = self.playhead();
                let is_known = card.message.as_ref().is_some_and(|known| known.at == here);
                (!is_known).then_some((card.topic, here))
            }
            _ => None,
        }
    }

    pub(super) fn mute(&mut self, stamp: Timestamp) {
        let topic = match &self.layer {
            Layer::Topic(card, _) => Some(card.topic),
            _ => self.selected_row().map(|row| row.id),
        };
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
}
