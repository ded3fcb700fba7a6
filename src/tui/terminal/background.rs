//! [`ask_background`]: asks the terminal for its background.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use terminal_colorsaurus::{Error, QueryOptions, background_color};

use super::job_control::has_usable_terminal;
use super::writer;
use crate::tui::model::theme::palette::Background;

/// How long an answer may take. Terminals that do not know the question answer at once that they do not.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The background of the terminal; `None` if it does not tell. What is typed meanwhile is lost.
pub fn ask_background() -> Option<Background> {
    if !has_usable_terminal() || !takes_output() {
        return None;
    }
    let mut options = QueryOptions::default();
    options.timeout = TIMEOUT;
    let answer = background_color(options);
    if matches!(answer, Ok(_) | Err(Error::UnsupportedTerminal(_))) {
        writer::line().answers();
    }
    let color = answer.ok()?;
    Some(if color.perceived_lightness() > 0.5 {
        Background::Light
    } else {
        Background::Dark
    })
}

/// Whether the terminal takes output now: otherwise the question would wait for as long as it does not.
#[expect(
    clippy::disallowed_methods,
    reason = "it is asked whether it can be written to; nothing is written"
)]
pub(super) fn takes_output() -> bool {
    let stdout = io::stdout();
    let mut ready = [PollFd::new(&stdout, PollFlags::OUT)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut ready, Some(&at_once)).is_ok_and(|count| count > 0)
}
