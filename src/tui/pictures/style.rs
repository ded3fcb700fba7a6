//! [`PictureStyle`]: how pictures are drawn.

use serde::Deserialize;

use super::found::EncodedPicture;
use crate::bag::TopicId;
use crate::picture::{PixelSize, Pixels};
use crate::tui::model::layout::Size;
use crate::tui::model::theme::color_depth::ColorDepth;

/// What the settings say of pictures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PictureSetting {
    /// With the graphics protocol that the terminal reports, or else in characters.
    #[default]
    Auto,
    /// Two pixels in each character cell.
    Blocks,
    /// By kitty's graphics protocol.
    Kitty,
    /// By sixels.
    Sixel,
    /// By the protocol of iTerm2.
    Iterm2,
    /// Not at all.
    Off,
}

/// How pictures are drawn.
#[derive(Clone, PartialEq, Debug)]
pub enum PictureStyle {
    /// Not at all.
    Off,
    /// Characters stand for brightness: where there are no colours, or too few.
    Characters,
    /// Two pixels in each character cell, in so many colours.
    Blocks(ColorDepth),
    /// By a graphics protocol of the terminal.
    Graphics(Graphics),
}

impl PictureStyle {
    /// The pixels that so many cells have room for.
    pub(crate) fn room(&self, cells: Size) -> PixelSize {
        let (across, down) = match self {
            Self::Off | Self::Characters | Self::Blocks(_) => (1, 2),
            Self::Graphics(graphics) => graphics.cell(),
        };
        PixelSize {
            width: u32::from(cells.width) * u32::from(across),
            height: u32::from(cells.height) * u32::from(down),
        }
    }

    /// The picture as the terminal takes it, if it is drawn by a graphics protocol.
    pub(crate) fn encode(&self, topic: TopicId, pixels: &Pixels) -> Option<EncodedPicture> {
        match self {
            Self::Off | Self::Characters | Self::Blocks(_) => None,
            Self::Graphics(graphics) => graphics.encode(topic, pixels),
        }
    }
}

#[cfg(feature = "pictures")]
pub use with_protocols::Graphics;
#[cfg(not(feature = "pictures"))]
pub use without_protocols::Graphics;

#[cfg(feature = "pictures")]
mod with_protocols {
    use std::sync::Arc;

    use image::{DynamicImage, RgbImage};
    use ratatui::layout;
    use ratatui_image::Resize;
    use ratatui_image::picker::{Picker, ProtocolType};
    use ratatui_image::protocol::Protocol;
    use ratatui_image::protocol::kitty::Kitty;

    use crate::bag::TopicId;
    use crate::picture::Pixels;
    use crate::tui::pictures::found::EncodedPicture;

    /// A graphics protocol of the terminal.
    #[derive(Clone, Debug)]
    pub struct Graphics(Arc<Picker>);

    impl PartialEq for Graphics {
        /// Whether both are the same answer of the terminal.
        fn eq(&self, other: &Self) -> bool {
            Arc::ptr_eq(&self.0, &other.0)
        }
    }

    impl Graphics {
        /// The protocol that `picker` has found.
        pub(crate) fn new(picker: Picker) -> Self {
            Self(Arc::new(picker))
        }

        /// The size of a cell in pixels.
        pub(super) fn cell(&self) -> (u16, u16) {
            let font = self.0.font_size();
            (font.width.max(1), font.height.max(1))
        }

        pub(super) fn encode(&self, topic: TopicId, pixels: &Pixels) -> Option<EncodedPicture> {
            /// Kitty keeps an image under its number until another one has it.
            const FIRST_NUMBER: u32 = 0x42_41_47_00;
            let size = pixels.size();
            let bytes = pixels.clone().into_bytes();
            let image: DynamicImage = RgbImage::from_raw(size.width, size.height, bytes)?.into();
            let (across, down) = self.cell();
            let cells = |pixels: u32, of: u16| u16::try_from(pixels.div_ceil(of.into())).ok();
            let cells = layout::Size {
                width: cells(size.width, across)?,
                height: cells(size.height, down)?,
            };
            let picker = &self.0;
            let encoded = if picker.protocol_type() == ProtocolType::Kitty {
                let number = FIRST_NUMBER.wrapping_add(topic.0);
                let kitty = Kitty::new(image, cells, number, picker.tmux_detected(), false);
                kitty.map(Protocol::Kitty)
            } else {
                picker.new_protocol(image, cells, Resize::Fit(None))
            };
            encoded.ok().map(EncodedPicture::new)
        }
    }
}

#[cfg(not(feature = "pictures"))]
mod without_protocols {
    use crate::bag::TopicId;
    use crate::picture::Pixels;
    use crate::tui::pictures::found::EncodedPicture;

    /// A graphics protocol of the terminal: this build knows none.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub enum Graphics {}

    impl Graphics {
        pub(super) fn cell(&self) -> (u16, u16) {
            match *self {}
        }

        pub(super) fn encode(&self, _: TopicId, _: &Pixels) -> Option<EncodedPicture> {
            match *self {}
        }
    }
}
