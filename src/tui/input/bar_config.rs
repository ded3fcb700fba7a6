//! [`Config`]: the settings of the transport bar in `config.toml`. Errors name the line.
//!
//! ```toml
//! [tui]
//! time = "utc"          # local, utc or seconds
//! theme = "light"       # auto, dark, light, safe, amber or none
//! colors = "256"        # 16, 256 or truecolor
//! ascii = true
//! pictures = "blocks"   # auto, blocks, kitty, sixel, iterm2 or off
//! mouse = false
//!
//! [keys]
//! quit = ["X", "ctrl+c"]
//! play-pause = "space"
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::bindings::{Action, Bindings, rows};
use super::key::Keys;
use crate::tui::model::theme::color_depth::ColorDepth;
use crate::tui::model::theme::style::ThemeName;
use crate::tui::model::time_format::TimeFormat;
use crate::tui::pictures::style::PictureSetting;
use crate::untrusted::Foreign;

/// The settings of the file; missing settings have their defaults.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Config {
    /// The key bindings.
    pub bindings: Bindings,
    /// How times are shown at first.
    pub time_format: TimeFormat,
    /// Whether only ASCII characters are drawn.
    pub ascii: bool,
    /// Whether the mouse is left to the terminal at first.
    pub no_mouse: bool,
    /// The colours.
    pub theme: ThemeName,
    /// How pictures are drawn.
    pub pictures: PictureSetting,
    /// How many colours the terminal shows; `None`: what its environment says.
    pub colors: Option<ColorDepth>,
    /// What is wrong in the file and has no effect, with its line.
    pub warnings: Vec<ConfigError>,
}

/// A file that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}:{line}: {}", Foreign::path(path), Foreign::text(text))]
pub struct ConfigError {
    path: PathBuf,
    line: usize,
    text: String,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct ConfigFile {
    tui: TuiSection,
    keys: BTreeMap<Spanned<String>, Spanned<OneOrMore>>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct TuiSection {
    time: TimeFormat,
    theme: Option<Spanned<String>>,
    colors: Option<ColorDepth>,
    ascii: bool,
    pictures: PictureSetting,
    mouse: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Config {
    /// Parses `text`, which was read from `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let wrong = |at: usize, what: String| ConfigError {
            path: path.to_owned(),
            line: 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count(),
            text: what,
        };
        let file: ConfigFile = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            wrong(at, error.message().trim_end().to_owned())
        })?;
        let mut asked: Vec<(usize, Action, Keys)> = Vec::new();
        for (name, keys) in &file.keys {
            let Some(row) = rows().find(|row| row.name == name.as_ref()) else {
                let message = unknown_action(name.as_ref());
                return Err(wrong(name.span().start, message));
            };
            let at = keys.span().start;
            let keys = read(keys.as_ref()).map_err(|what| wrong(at, what))?;
            asked.push((at, row.action, keys));
        }
        asked.sort_unstable_by_key(|(at, ..)| *at);
        for (later, (at, _, keys)) in asked.iter().enumerate() {
            let earlier = asked[..later].iter().flat_map(|(.., keys)| keys.iter());
            if let Some(twice) = earlier.copied().find(|key| keys.has(*key)) {
                return Err(wrong(*at, format!("`{twice}` is bound twice in [keys]")));
            }
        }
        let bindings = asked
            .into_iter()
            .fold(Bindings::default(), |bindings, (_, action, keys)| {
                bindings.rebound(action, &keys)
            });
        if bindings.keys(Action::Quit).first().is_none() {
            let what = "no key is bound to `quit`; hint: quit = \"q\"";
            return Err(wrong(text.len(), what.to_owned()));
        }
        let known = |name: &Spanned<String>| {
            let named = |(known, _): &&(&str, ThemeName)| *known == name.as_ref();
            let (_, theme) = ThemeName::ALL.iter().find(named)?;
            Some(*theme)
        };
        let (theme, warnings) = match file.tui.theme.map(|name| (known(&name), name)) {
            None => (ThemeName::default(), Vec::new()),
            Some((Some(theme), _)) => (theme, Vec::new()),
            Some((None, name)) => {
                let unknown = wrong(name.span().start, unknown_theme(name.as_ref()));
                (ThemeName::default(), vec![unknown])
            }
        };
        Ok(Self {
            bindings,
            time_format: file.tui.time,
            ascii: file.tui.ascii,
            pictures: file.tui.pictures,
            no_mouse: file.tui.mouse == Some(false),
            theme,
            colors: file.tui.colors,
            warnings,
        })
    }
}

fn read(keys: &OneOrMore) -> Result<Keys, String> {
    let texts = match keys {
        OneOrMore::One(text) => std::slice::from_ref(text),
        OneOrMore::More(texts) => texts,
    };
    let mut read = Keys::NONE;
    for text in texts {
        read = read.and(Keys::parse(text).map_err(|error| error.to_string())?);
    }
    Ok(read)
}

/// The bar is useful in any colours, so this is no error.
fn unknown_theme(name: &str) -> String {
    let names: Vec<&str> = ThemeName::ALL.iter().map(|(name, _)| *name).collect();
    let names = names.join(", ");
    format!("there is no theme `{name}`, so `auto` is used; hint: {names}")
}

fn unknown_action(name: &str) -> String {
    let nearest = rows().max_by_key(|row| {
        let alike = row
            .name
            .bytes()
            .zip(name.bytes())
            .take_while(|(a, b)| a == b);
        alike.count()
    });
    let nearest = nearest.map_or("quit", |row| row.name);
    format!("`{name}` is not an action; hint: {nearest}? The help (?) and the user guide list all")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("config.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_changes_nothing() {
        assert_eq!(parse(""), Ok(Config::default()));
    }

    #[test]
    fn the_settings_of_the_file_are_used() {
        let config = parse(
            "[tui]\ntime = \"utc\"\ntheme = \"light\"\nascii = true\nmouse = false\n[keys]\nquit = [\"x\", \"ctrl+c\"]\nmark = \"q\"\n",
        )
        .unwrap();
        assert_eq!((config.time_format, config.ascii), (TimeFormat::Utc, true));
        assert_eq!((config.theme, config.no_mouse), (ThemeName::Light, true));
        let twice = parse("[keys]\nquit = [\"x\", \"x\"]\n").unwrap();
        assert_eq!(twice.bindings.keys(Action::Quit).to_string(), "x");
        assert_eq!(config.bindings.keys(Action::Quit).to_string(), "x  ctrl+c");
        assert_eq!(
            config.bindings.action("q".parse().unwrap()),
            Some(Action::Mark)
        );
    }

    #[test]
    fn each_theme_has_its_name_and_another_name_is_a_warning() {
        for (name, theme) in ThemeName::ALL {
            let config = parse(&format!("[tui]\ntheme = \"{name}\"\n")).unwrap();
            assert_eq!((config.theme, config.warnings), (theme, Vec::new()));
        }
        let config = parse("[tui]\n\ntheme = \"dusk\"\nascii = true\n").unwrap();
        assert_eq!((config.theme, config.ascii), (ThemeName::Auto, true));
        let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
        let hint = "hint: auto, dark, light, safe, amber, none";
        let expected =
            format!("config.toml:3: there is no theme `dusk`, so `auto` is used; {hint}");
        assert_eq!(warnings, [expected]);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, message) in [
            (
                "[tui]\n\ntime = \"noon\"\n",
                "config.toml:3: unknown variant",
            ),
            (
                "[tui]\ncolour = 1\n",
                "config.toml:2: unknown field `colour`",
            ),
            (
                "[keys]\nquit = \"q\"\nplay-paus = \"x\"\n",
                "config.toml:3: `play-paus` is not an action; hint: play-pause?",
            ),
            (
                "[keys]\nquit = \"hyper+q\"\n",
                "config.toml:2: `hyper+q` is not a key",
            ),
            (
                "[keys]\nquit = \"shift+1\"\n",
                "config.toml:2: `shift+1` is not reported by terminals; hint: ",
            ),
            ("[keys]\nquit = 7\n", "config.toml:2: "),
            (
                "[keys]\nmark = \"x\"\nquit = [\"x\"]\n",
                "config.toml:3: `x` is bound twice",
            ),
            (
                "[keys]\nmark = [\"q\", \"ctrl+c\"]\n",
                "config.toml:3: no key is bound to `quit`",
            ),
            ("[keys\n", "config.toml:1: "),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }
}
