//! [`Theme`]: styles by meaning. No state is shown by colour alone.

use ratatui::style::{Modifier, Style};

use super::color_depth::{ColorDepth, Shade};
use super::palette::{Background, Family, Palette};
use crate::tui::model::timeline::lane::Density;

/// Which colours are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ThemeName {
    /// Blue, by the background of the terminal.
    #[default]
    Auto,
    /// Blue, for a dark background.
    Dark,
    /// Blue, for a light background.
    Light,
    /// Colours that most people who are colour-blind can tell apart, by the background of the terminal.
    Safe,
    /// Amber, by the background of the terminal.
    Amber,
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
    /// A warning: held, muted, or otherwise not playing as it should.
    pub warning: Style,
    /// An error: something is lost.
    pub error: Style,
    /// The playhead, the selection's edge, keys.
    pub accent: Style,
    /// The read-ahead.
    pub read_ahead: Style,
    /// The A–B loop.
    pub ab_loop: Style,
    /// Marks.
    pub mark: Style,
    /// Less than the usual density of a topic.
    pub low_density: Style,
    /// About the usual density.
    pub usual_density: Style,
    /// More than the usual density.
    pub high_density: Style,
    /// A hole.
    pub hole: Style,
    /// Damage.
    pub damage: Style,
    /// Less important text.
    pub dim: Style,
    /// Titles.
    pub title: Style,
    /// What is selected.
    pub selected: Style,
}

impl ThemeName {
    /// All themes with their names in the configuration file.
    pub(crate) const ALL: [(&'static str, Self); 6] = [
        ("auto", Self::Auto),
        ("dark", Self::Dark),
        ("light", Self::Light),
        ("safe", Self::Safe),
        ("amber", Self::Amber),
        ("none", Self::None),
    ];

    /// Whether the background of the terminal has to be known.
    pub fn needs_background(self) -> bool {
        match self {
            Self::Auto | Self::Safe | Self::Amber => true,
            Self::Dark | Self::Light | Self::None => false,
        }
    }

    /// The styles on a terminal with this background and so many colours.
    pub fn theme(self, background: Background, depth: ColorDepth) -> Theme {
        let (family, background) = match self {
            Self::None => return Theme::PLAIN,
            Self::Auto => (Family::Blue, background),
            Self::Dark => (Family::Blue, Background::Dark),
            Self::Light => (Family::Blue, Background::Light),
            Self::Safe => (Family::Safe, background),
            Self::Amber => (Family::Amber, background),
        };
        Theme::of(&Palette::new(family, background), depth)
    }
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);

impl Theme {
    /// Bold, dim and reversed only.
    pub const PLAIN: Self = Self {
        playing: BOLD,
        paused: BOLD,
        warning: BOLD,
        error: BOLD,
        accent: BOLD,
        read_ahead: Style::new(),
        ab_loop: BOLD,
        mark: BOLD,
        low_density: Style::new(),
        usual_density: Style::new(),
        high_density: Style::new(),
        hole: BOLD,
        damage: BOLD,
        dim: DIM,
        title: DIM,
        selected: REVERSED,
    };

    pub(crate) fn density(&self, density: Density) -> Style {
        match density {
            Density::Low => self.low_density,
            Density::Usual => self.usual_density,
            Density::High => self.high_density,
        }
    }

    fn of(palette: &Palette, depth: ColorDepth) -> Self {
        let fg = |shade: Shade| Style::new().fg(shade.color(depth));
        let bold = |shade: Shade| fg(shade).add_modifier(Modifier::BOLD);
        // The sixteen colours are the terminal's own: any of them can be unreadable on any other.
        let (dim, selected) = match depth {
            ColorDepth::Sixteen => (DIM, REVERSED),
            ColorDepth::Indexed | ColorDepth::True => {
                let behind = palette.selected.color(depth);
                (fg(palette.dim), Style::new().bg(behind))
            }
        };
        Self {
            playing: bold(palette.accent),
            paused: BOLD,
            warning: bold(palette.warning),
            error: bold(palette.error),
            accent: bold(palette.accent),
            read_ahead: fg(palette.read_ahead),
            ab_loop: bold(palette.ab_loop),
            mark: fg(palette.mark),
            low_density: fg(palette.low_density),
            usual_density: fg(palette.usual_density),
            high_density: fg(palette.high_density),
            hole: fg(palette.hole),
            damage: bold(palette.damage),
            dim,
            title: dim,
            selected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theme_follows_the_background_unless_it_is_made_for_one() {
        let theme = |name: ThemeName, background| name.theme(background, ColorDepth::True);
        let (dark, light) = (Background::Dark, Background::Light);
        for (name, is_same) in [
            (ThemeName::Auto, false),
            (ThemeName::Safe, false),
            (ThemeName::Amber, false),
            (ThemeName::Dark, true),
            (ThemeName::Light, true),
            (ThemeName::None, true),
        ] {
            assert_eq!(theme(name, dark) == theme(name, light), is_same, "{name:?}");
            assert_eq!(name.needs_background(), !is_same, "{name:?}");
        }
        assert_eq!(theme(ThemeName::Auto, light), theme(ThemeName::Light, dark));
    }
}
