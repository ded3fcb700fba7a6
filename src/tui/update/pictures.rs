//! Pictures: what has to be read for them.

use ratatui::layout::Rect;

use crate::bag::TopicId;
use crate::picture::PictureReader;
use crate::time::{Ros, Time};
use crate::tui::model::Model;
use crate::tui::model::layout::{Detail, Size};
use crate::tui::pictures::found::{FoundPictures, PictureSlot};
use crate::tui::pictures::style::PictureStyle;
use crate::tui::view;

impl Model {
    /// The room for pictures on the screen, and the time at or before which their messages were recorded, if something
    /// that is shown is not known.
    pub fn wanted_pictures(&self) -> Option<(Vec<PictureSlot>, Time<Ros>)> {
        if self.detail == Detail::Reduced {
            return None;
        }
        let places = self.picture_places().into_iter();
        let slots: Vec<PictureSlot> = places
            .map(|(topic, place)| PictureSlot {
                topic,
                cells: Size {
                    width: place.width,
                    height: place.height,
                },
            })
            .collect();
        let here = self.playhead();
        let known = self.pictures.as_ref();
        let is_known = known.is_some_and(|known| known.is_for(&slots, here));
        (!slots.is_empty() && !is_known).then_some((slots, here))
    }

    /// The topics of which a picture is shown, and where.
    pub(in crate::tui) fn picture_places(&self) -> Vec<(TopicId, Rect)> {
        view::picture_places(self)
    }

    /// Keeps pictures that were read.
    pub(in crate::tui::update) fn take_pictures(&mut self, found: FoundPictures) {
        self.pictures = Some(found);
    }

    /// How pictures are drawn.
    pub(in crate::tui) fn picture_style(&self) -> &PictureStyle {
        &self.appearance.pictures
    }

    /// Forgets all pictures: the terminal may have forgotten what it was sent.
    pub(in crate::tui) fn forget_pictures(&mut self) {
        self.pictures = None;
    }

    /// Whether the messages of a topic have pictures that are shown.
    pub(in crate::tui) fn shows_pictures_of(&self, topic: TopicId) -> bool {
        let is_shown = self.appearance.pictures != PictureStyle::Off && !self.facts.is_elsewhere;
        is_shown && self.topic(topic).is_some_and(PictureReader::is_for)
    }
}
