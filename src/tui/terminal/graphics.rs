//! [`ask_graphics`]: how pictures are drawn on the terminal, which is asked for its graphics protocols.

use crate::tui::model::theme::color_depth::ColorDepth;
use crate::tui::pictures::style::{PictureSetting, PictureStyle};

/// How pictures are drawn on this terminal. With [`PictureSetting::Auto`] it is asked for its graphics protocols and
/// the size of its characters; what is typed meanwhile is lost. A terminal that does not answer within a second has
/// none. `depth` is `None` if there are no colours, or too few for a picture.
pub fn ask_graphics(setting: PictureSetting, depth: Option<ColorDepth>) -> PictureStyle {
    let cells = depth.map_or(PictureStyle::Characters, PictureStyle::Blocks);
    match setting {
        PictureSetting::Off => PictureStyle::Off,
        PictureSetting::Blocks => cells,
        PictureSetting::Auto
        | PictureSetting::Kitty
        | PictureSetting::Sixel
        | PictureSetting::Iterm2 => ask(setting).unwrap_or(cells),
    }
}

#[cfg(feature = "pictures")]
use with_protocols::ask;

#[cfg(not(feature = "pictures"))]
fn ask(_: PictureSetting) -> Option<PictureStyle> {
    None
}

#[cfg(feature = "pictures")]
mod with_protocols {
    use std::io::{IsTerminal as _, stdin};
    use std::time::Duration;

    use ratatui_image::picker::cap_parser::QueryStdioOptions;
    use ratatui_image::picker::{Picker, ProtocolType};

    use crate::tui::pictures::style::{Graphics, PictureSetting, PictureStyle};
    use crate::tui::terminal::background::takes_output;
    use crate::tui::terminal::job_control::has_usable_terminal;

    /// The longest wait for an answer. Terminals that do not know a question answer the last one at once.
    const TIMEOUT: Duration = Duration::from_secs(1);

    /// `None` if pictures are drawn in character cells.
    pub(super) fn ask(setting: PictureSetting) -> Option<PictureStyle> {
        let asked = match setting {
            PictureSetting::Kitty => Some(ProtocolType::Kitty),
            PictureSetting::Sixel => Some(ProtocolType::Sixel),
            PictureSetting::Iterm2 => Some(ProtocolType::Iterm2),
            _ => None,
        };
        // A multiplexer hides the terminal, and to let a protocol through its settings would have to be changed.
        let is_hidden = std::env::var_os("TMUX").is_some() || std::env::var_os("STY").is_some();
        if asked.is_none() && is_hidden {
            return None;
        }
        if !has_usable_terminal() || !stdin().is_terminal() || !takes_output() {
            return None;
        }
        let options = QueryStdioOptions {
            timeout: TIMEOUT,
            ..QueryStdioOptions::default()
        };
        let mut picker = Picker::from_query_stdio_with_options(options).ok()?;
        if let Some(asked) = asked {
            picker.set_protocol_type(asked);
        }
        let has_protocol = picker.protocol_type() != ProtocolType::Halfblocks;
        has_protocol.then(|| PictureStyle::Graphics(Graphics::new(picker)))
    }
}
