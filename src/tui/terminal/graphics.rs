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
    use std::io::{self, IsTerminal as _, Write as _};
    use std::time::Duration;

    use ratatui_image::FontSize;
    use ratatui_image::picker::cap_parser::{Parser, QueryStdioOptions, Response};
    use ratatui_image::picker::{Picker, ProtocolType};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::stdio::stdin;
    use rustix::termios::{
        LocalModes, OptionalActions, Winsize, tcgetattr, tcgetwinsize, tcsetattr,
    };

    use crate::tui::pacing::wall_now;
    use crate::tui::pictures::style::{Graphics, PictureSetting, PictureStyle};
    use crate::tui::terminal::background::takes_output;
    use crate::tui::terminal::job_control::has_usable_terminal;
    use crate::tui::terminal::writer;

    /// The longest wait for an answer. Terminals that do not know a question answer the last one at once.
    const TIMEOUT: Duration = Duration::from_secs(1);

    /// `None` if pictures are drawn in character cells.
    pub(super) fn ask(setting: PictureSetting) -> Option<PictureStyle> {
        let wanted = match setting {
            PictureSetting::Kitty => Some(ProtocolType::Kitty),
            PictureSetting::Sixel => Some(ProtocolType::Sixel),
            PictureSetting::Iterm2 => Some(ProtocolType::Iterm2),
            _ => None,
        };
        if wanted.is_none() && is_hidden() {
            return None;
        }
        if !has_usable_terminal() || !io::stdin().is_terminal() || !takes_output() {
            return None;
        }
        let answers = answers().ok()?;
        let reported = answers.iter().find_map(|answer| match answer {
            Response::CellSize(size) => *size,
            _ => None,
        });
        let (width, height) = reported.or_else(cell_of_window)?;
        #[expect(
            deprecated,
            reason = "the other way to make one leaves a thread that reads the keys"
        )]
        let mut picker = Picker::from_fontsize(FontSize::new(width, height));
        if let Some(known) = wanted.or_else(|| known_protocol(&answers)) {
            picker.set_protocol_type(known);
        }
        let has_protocol = picker.protocol_type() != ProtocolType::Halfblocks;
        has_protocol.then(|| PictureStyle::Graphics(Graphics::new(picker)))
    }

    /// Whether a multiplexer hides the terminal, perhaps on another host. To let a protocol through, its settings would
    /// have to be changed.
    fn is_hidden() -> bool {
        let has = |name: &str| std::env::var_os(name).is_some();
        let begins = |name: &str, start: &str| {
            let value = std::env::var(name);
            value.is_ok_and(|value| value.starts_with(start))
        };
        let is_multiplexer = begins("TERM", "tmux") || begins("TERM", "screen");
        has("TMUX") || has("STY") || is_multiplexer || begins("TERM_PROGRAM", "tmux")
    }

    /// The protocol that the terminal has reported. Two terminals report protocols that they draw wrongly.
    fn known_protocol(answers: &[Response]) -> Option<ProtocolType> {
        let is_wrong = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if is_wrong("WEZTERM_EXECUTABLE") || is_wrong("KONSOLE_VERSION") {
            return None;
        }
        let reports = |what: &Response| answers.contains(what);
        if reports(&Response::Kitty) {
            Some(ProtocolType::Kitty)
        } else {
            reports(&Response::Sixel).then_some(ProtocolType::Sixel)
        }
    }

    /// The size of a cell by that of the window, if the system knows it in pixels.
    fn cell_of_window() -> Option<(u16, u16)> {
        let Winsize {
            ws_col,
            ws_row,
            ws_xpixel,
            ws_ypixel,
        } = tcgetwinsize(stdin()).ok()?;
        let cell = (
            ws_xpixel.checked_div(ws_col)?,
            ws_ypixel.checked_div(ws_row)?,
        );
        (cell.0 > 0 && cell.1 > 0).then_some(cell)
    }

    /// Asks all questions and reads the answers up to that of the last one, or until the time is up. The terminal has
    /// the modes from before when this returns, and nothing reads from it any more.
    fn answers() -> io::Result<Vec<Response>> {
        let before = tcgetattr(stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(stdin(), OptionalActions::Now, &quiet)?;
        let answers = exchange();
        tcsetattr(stdin(), OptionalActions::Now, &before)?;
        answers
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the terminal is asked before the bar is drawn"
    )]
    fn exchange() -> io::Result<Vec<Response>> {
        let mut out = io::stdout();
        out.write_all(Parser::query(false, QueryStdioOptions::default()).as_bytes())?;
        out.flush()?;
        let input = stdin();
        let deadline = wall_now() + TIMEOUT;
        let mut parser = Parser::new();
        let mut answers = Vec::new();
        let mut buffer = [0; 256];
        loop {
            let left = deadline.saturating_duration_since(wall_now());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut ready = [PollFd::new(&input, PollFlags::IN)];
            if poll(&mut ready, Some(&left))? == 0 {
                writer::line().is_owed_an_answer();
                return Ok(answers);
            }
            let read = rustix::io::read(input, &mut buffer)?;
            if read == 0 {
                return Ok(answers);
            }
            for byte in &buffer[..read] {
                for answer in parser.push(char::from(*byte)) {
                    if answer == Response::Status {
                        return Ok(answers);
                    }
                    answers.push(answer);
                }
            }
        }
    }
}
