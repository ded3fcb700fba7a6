//! [`Look`]: how the bar looks, by the settings of the user and by what the terminal can show.

use bagplay::cli::{Color, Exit, OutputArgs};
use bagplay::tui::{
    Appearance, Background, ColorDepth, Config, Glyphs, PictureStyle, ThemeName, ask_background,
    ask_graphics,
};

use super::settings;
use crate::app::dirs;
use crate::app::failure::{Failure, OrExit};

/// The settings of the user.
#[derive(Debug)]
pub(crate) struct Look {
    config: Config,
    pub(crate) is_ascii: bool,
    has_colours: bool,
}

impl Look {
    /// Reads them.
    pub(crate) fn of_user(ascii: bool, output: &OutputArgs) -> Result<Self, Failure> {
        let config = config()?;
        Ok(Self {
            is_ascii: ascii || config.ascii || is_plain_text(),
            has_colours: has_colours(output),
            config,
        })
    }

    /// The appearance on this terminal, which may be asked for its background and, if there are pictures to show, for
    /// its graphics protocols. To be called when signals are received and nothing else is written to the terminal,
    /// which is in raw mode meanwhile.
    pub(crate) fn appearance(&self, has_pictures: bool) -> Appearance {
        let theme = if self.has_colours {
            self.config.theme
        } else {
            ThemeName::None
        };
        let background = theme.needs_background().then(background);
        let depth = self.config.colors.unwrap_or_else(ColorDepth::of_terminal);
        Appearance {
            bindings: self.config.bindings.clone(),
            glyphs: if self.is_ascii {
                Glyphs::ASCII
            } else {
                Glyphs::UNICODE
            },
            theme: theme.theme(background.unwrap_or(Background::Dark), depth),
            time_format: self.config.time_format,
            pictures: self.pictures(has_pictures, depth),
            has_mouse: !self.config.no_mouse,
        }
    }
}

impl Look {
    /// How pictures are drawn, if there are any.
    fn pictures(&self, are_there: bool, depth: ColorDepth) -> PictureStyle {
        if !are_there {
            return PictureStyle::Off;
        }
        let has_colours = self.has_colours && !self.is_ascii && depth != ColorDepth::Sixteen;
        ask_graphics(self.config.pictures, has_colours.then_some(depth))
    }
}

/// The background of the terminal; dark if nothing tells it.
fn background() -> Background {
    let variable = || Background::of_variable(&std::env::var("COLORFGBG").ok()?);
    ask_background()
        .or_else(variable)
        .unwrap_or(Background::Dark)
}

/// Whether the locale explicitly allows nothing but ASCII.
fn is_plain_text() -> bool {
    let set = |name: &&str| std::env::var_os(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    locale.is_some_and(|locale| locale == "C" || locale == "POSIX")
}

/// Whether there are colours; otherwise bold and reversed text replaces them.
fn has_colours(output: &OutputArgs) -> bool {
    match output.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

/// The settings in `config.toml`, if it exists.
fn config() -> Result<Config, Failure> {
    let Some(path) = dirs::config().map(|folder| folder.join("bagplay/config.toml")) else {
        return Ok(Config::default());
    };
    match settings::read(&path)? {
        Some(text) => {
            let config = Config::parse(&text, &path).or_exit(Exit::Usage)?;
            for warning in &config.warnings {
                tracing::warn!("{warning}");
            }
            Ok(config)
        }
        None => Ok(Config::default()),
    }
}
