//! [`FoundPictures`]: the pictures that were read for the screen.

use std::sync::Arc;

use crate::bag::TopicId;
use crate::picture::Picture;
use crate::time::{Ros, Time};
use crate::tui::model::layout::Size;

/// Room on the screen for the picture of a topic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PictureSlot {
    /// The topic.
    pub topic: TopicId,
    /// How many cells it has.
    pub cells: Size,
}

/// The picture of a topic at or before a time.
#[derive(Clone, PartialEq, Debug)]
pub enum PictureAt {
    /// There is no message.
    NoMessage,
    /// There is a message, but no picture, and why.
    Problem(String),
    /// The picture.
    Picture {
        /// When its message was received.
        log_time: Time<Ros>,
        /// Its pixels, for the room that was asked for.
        picture: Arc<Picture>,
        /// As the terminal takes it, if it is drawn by a graphics protocol.
        encoded: Option<EncodedPicture>,
    },
}

/// The pictures around a time.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundPictures {
    /// The time at or before which the messages were recorded.
    pub at: Time<Ros>,
    /// Each room for a picture, and what was found for it.
    pub found: Vec<(PictureSlot, PictureAt)>,
}

impl FoundPictures {
    /// What was found for the room, or else for other room with the same topic.
    pub(crate) fn of(&self, slot: PictureSlot) -> Option<&PictureAt> {
        let exact = self.found.iter().find(|(known, _)| *known == slot);
        let found = exact.or_else(|| {
            let mut found = self.found.iter();
            found.find(|(known, _)| known.topic == slot.topic)
        });
        found.map(|(_, found)| found)
    }

    /// Whether it is the answer for this room at this time.
    pub(crate) fn is_for(&self, slots: &[PictureSlot], at: Time<Ros>) -> bool {
        self.at == at && self.found.iter().map(|(slot, _)| slot).eq(slots)
    }
}

#[cfg(feature = "pictures")]
pub use with_protocols::EncodedPicture;
#[cfg(not(feature = "pictures"))]
pub use without_protocols::EncodedPicture;

#[cfg(feature = "pictures")]
mod with_protocols {
    use std::fmt;
    use std::sync::Arc;

    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::widgets::Widget as _;
    use ratatui_image::Image;
    use ratatui_image::protocol::Protocol;

    /// A picture as the terminal takes it.
    #[derive(Clone)]
    pub struct EncodedPicture(Arc<Protocol>);

    impl fmt::Debug for EncodedPicture {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_tuple("EncodedPicture").finish_non_exhaustive()
        }
    }

    impl PartialEq for EncodedPicture {
        /// Whether both are the same encoded picture.
        fn eq(&self, other: &Self) -> bool {
            Arc::ptr_eq(&self.0, &other.0)
        }
    }

    impl EncodedPicture {
        pub(crate) fn new(protocol: Protocol) -> Self {
            Self(Arc::new(protocol))
        }

        /// Draws it in the middle of the columns of `place`, from its top; nothing if it is larger.
        pub(crate) fn draw(&self, place: Rect, out: &mut Buffer) {
            let size = self.0.size();
            if size.width <= place.width && size.height <= place.height {
                let place = Rect {
                    x: place.x + (place.width - size.width) / 2,
                    y: place.y,
                    width: size.width,
                    height: size.height,
                };
                Image::new(&self.0).render(place, out);
            }
        }
    }
}

#[cfg(not(feature = "pictures"))]
mod without_protocols {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    /// A picture as the terminal takes it: this build makes none.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub enum EncodedPicture {}

    impl EncodedPicture {
        pub(crate) fn draw(&self, _: Rect, _: &mut Buffer) {
            match *self {}
        }
    }
}
