//! [`Theme`]: colours by meaning. No state is shown by colour alone.

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

/// Which colours are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThemeName {
    /// By the background that the terminal reports; dark if it reports none.
    #[default]
    Auto,
    /// For a dark background.
    Dark,
    /// For a light background.
    Light,
    /// No colours: bold, dim and reversed only.
    None,
}

/// Styles by meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Theme {
    /// Playing; messages are sent.
    pub playing: Style,
    /// Paused by a user.
    pub paused: Style,
    /// Held, or otherwise not playing as it should.
    pub held: Style,
    /// An error.
    pub error: Style,
    /// The playhead, the selection's edge, keys.
    pub accent: Style,
    /// The read-ahead.
    pub read_ahead: Style,
    /// The A–B loop.
    pub ab_loop: Style,
    /// Marks.
    pub mark: Style,
    /// The lane.
    pub lane: Style,
    /// A hole.
    pub hole: Style,
    /// Less important text.
    pub dim: Style,
    /// Titles.
    pub title: Style,
    /// What is selected.
    pub selected: Style,
}

impl ThemeName {
    /// The styles of a theme; `background` is the terminal's own value of `COLORFGBG`.
    pub fn theme(self, background: Option<&str>) -> Theme {
        match self {
            Self::Dark => Theme::DARK,
            Self::Light => Theme::LIGHT,
            Self::None => Theme::PLAIN,
            Self::Auto => {
                let colour =
                    background.and_then(|value| value.rsplit(';').next()?.parse::<u8>().ok());
                match colour {
                    Some(7 | 9..=15) => Theme::LIGHT,
                    _ => Theme::DARK,
                }
            }
        }
    }
}

const fn fg(color: Color) -> Style {
    Style::new().fg(color)
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);

impl Theme {
    /// Bold, dim and reversed only.
    pub const PLAIN: Self = Self {
        playing: BOLD,
        paused: BOLD,
        held: BOLD,
        error: BOLD,
        accent: BOLD,
        read_ahead: Style::new(),
        ab_loop: BOLD,
        mark: BOLD,
        lane: Style::new(),
        hole: BOLD,
        dim: DIM,
        title: DIM,
        selected: REVERSED,
    };

    const DARK: Self = Self {
        playing: fg(Color::LightGreen).add_modifier(Modifier::BOLD),
        paused: fg(Color::LightYellow).add_modifier(Modifier::BOLD),
        held: fg(Color::LightMagenta).add_modifier(Modifier::BOLD),
        error: fg(Color::LightRed).add_modifier(Modifier::BOLD),
        accent: fg(Color::LightCyan).add_modifier(Modifier::BOLD),
        read_ahead: fg(Color::LightBlue),
        ab_loop: fg(Color::LightYellow).add_modifier(Modifier::BOLD),
        mark: fg(Color::LightMagenta),
        lane: fg(Color::Cyan),
        hole: fg(Color::Yellow),
        ..Self::PLAIN
    };

    const LIGHT: Self = Self {
        playing: fg(Color::Green).add_modifier(Modifier::BOLD),
        paused: fg(Color::Blue).add_modifier(Modifier::BOLD),
        held: fg(Color::Magenta).add_modifier(Modifier::BOLD),
        error: fg(Color::Red).add_modifier(Modifier::BOLD),
        accent: fg(Color::Blue).add_modifier(Modifier::BOLD),
        read_ahead: fg(Color::Blue),
        ab_loop: fg(Color::Magenta).add_modifier(Modifier::BOLD),
        mark: fg(Color::Magenta),
        lane: fg(Color::Blue),
        hole: fg(Color::Red),
        ..Self::PLAIN
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_theme_follows_colorfgbg() {
        let auto = |value| ThemeName::Auto.theme(value);
        assert_eq!(auto(None), Theme::DARK);
        assert_eq!(auto(Some("15;0")), Theme::DARK);
        assert_eq!(auto(Some("0;15")), Theme::LIGHT);
        assert_eq!(auto(Some("0;default;7")), Theme::LIGHT);
        assert_eq!(auto(Some("nonsense")), Theme::DARK);
    }
}
