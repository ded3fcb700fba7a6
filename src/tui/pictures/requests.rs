//! [`PictureRequests`]: when pictures are requested, and when the terminal has to forget those that it draws itself.

use ratatui::layout::Rect;

use super::found::PictureSlot;
use super::style::PictureStyle;
use crate::bag::TopicId;
use crate::time::{Ros, Steady, Time};
use crate::tui::model::Model;
use crate::tui::pacing::Pacing;

/// Pictures that are to be shown.
#[derive(Clone, PartialEq, Debug)]
pub struct PictureRequest {
    /// The topics, and the room for each.
    pub slots: Vec<PictureSlot>,
    /// The time at or before which their messages were recorded.
    pub at: Time<Ros>,
    /// How they are drawn.
    pub style: PictureStyle,
    /// Whether they are encoded again: the terminal may have forgotten what it was sent.
    pub is_fresh: bool,
}

/// What is to be done for pictures.
#[derive(Debug)]
pub(crate) enum NextPictures {
    /// Nothing: they are known, or on their way.
    Known,
    /// They are to be requested.
    Request(PictureRequest),
    /// They are to be requested at this time.
    At(Time<Steady>),
}

/// The requests for pictures: one after the other, and at most five a second.
#[derive(Debug, Default)]
pub(crate) struct PictureRequests {
    pacing: Pacing<()>,
    /// Where the terminal has pictures that it draws itself.
    drawn: Vec<(TopicId, Rect)>,
    is_forgotten: bool,
}

impl PictureRequests {
    /// What is to be done at `now` for the pictures that the model shows. A request counts as sent.
    pub(crate) fn next(&mut self, model: &Model, now: Time<Steady>) -> NextPictures {
        let wanted = model.wanted_pictures();
        let Some((slots, at)) = wanted.filter(|_| self.pacing.pending().is_none()) else {
            return NextPictures::Known;
        };
        let next = self.pacing.next(model.is_moving()).max(self.pacing.soon());
        if next > now {
            return NextPictures::At(next);
        }
        self.pacing.sent((), now);
        NextPictures::Request(PictureRequest {
            slots,
            at,
            style: model.picture_style().clone(),
            is_fresh: std::mem::take(&mut self.is_forgotten),
        })
    }

    /// The terminal may have forgotten the pictures that it was sent.
    pub(crate) fn forget(&mut self) {
        self.is_forgotten = true;
    }

    /// An answer has come.
    pub(crate) fn answered(&mut self, now: Time<Steady>) {
        self.pacing.answered(&(), now);
    }

    /// Whether a picture that the terminal draws itself is no longer in the same place: its pixels would stay. True
    /// once.
    pub(crate) fn have_moved(&mut self, model: &Model) -> bool {
        let places = match model.picture_style() {
            PictureStyle::Graphics(_) => model.picture_places(),
            PictureStyle::Off | PictureStyle::Characters | PictureStyle::Blocks(_) => Vec::new(),
        };
        let have_moved = places != self.drawn;
        self.drawn = places;
        have_moved
    }
}
