//! [`Key`]: a key press as written in tables and in the configuration: `q`, `shift+left`, `ctrl+c`.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tui_input::backend::crossterm::to_input_request;

/// A key with its modifiers. Letters include their case, so `shift` is used with named keys only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// Why a text is not a key.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownKey {
    /// There is no such key.
    #[error(
        "`{0}` is not a key; hint: a character, space, enter, esc, tab, backspace, delete, left, right, up, down, home, end, pageup, pagedown, f1 to f12, each after ctrl+, alt+ or shift+"
    )]
    None(String),
    /// Terminals report the resulting character, without shift.
    #[error(
        "`{0}` is not reported by terminals; hint: the resulting character, as in `!` or `alt+A`"
    )]
    Shifted(String),
}

const NAMED: [(&str, KeyCode); 19] = [
    ("space", KeyCode::Char(' ')),
    ("comma", KeyCode::Char(',')),
    ("dot", KeyCode::Char('.')),
    ("plus", KeyCode::Char('+')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backtab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
];

const MODIFIERS: [(&str, KeyModifiers); 3] = [
    ("ctrl", KeyModifiers::CONTROL),
    ("alt", KeyModifiers::ALT),
    ("shift", KeyModifiers::SHIFT),
];

impl Key {
    fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let known = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        let modifiers = modifiers & known;
        match code {
            // Most terminals report it as backtab with shift, some without shift.
            KeyCode::BackTab => Self {
                code: KeyCode::Tab,
                modifiers: modifiers | KeyModifiers::SHIFT,
            },
            // Terminals report `L` with or without shift; the capital letter already implies it.
            KeyCode::Char(letter) => Self {
                code: if modifiers.contains(KeyModifiers::CONTROL) {
                    KeyCode::Char(letter.to_ascii_lowercase())
                } else {
                    code
                },
                modifiers: modifiers - KeyModifiers::SHIFT,
            },
            _ => Self { code, modifiers },
        }
    }

    /// A key press; `None` for releases and for events that are no key.
    pub fn pressed(event: KeyEvent) -> Option<Self> {
        (event.kind != KeyEventKind::Release).then(|| Self::new(event.code, event.modifiers))
    }

    /// Whether every terminal reports it.
    pub fn is_plain(self) -> bool {
        self.modifiers.is_empty()
    }

    /// Ctrl-C.
    pub(crate) fn is_interrupt(self) -> bool {
        self.code == KeyCode::Char('c') && self.modifiers == KeyModifiers::CONTROL
    }

    /// As crossterm reports it, for text fields.
    pub(crate) fn event(self) -> KeyEvent {
        KeyEvent::new(self.code, self.modifiers)
    }

    /// Whether it has a function in a line of text.
    pub(crate) fn edits_text(self) -> bool {
        to_input_request(&Event::Key(self.event())).is_some()
    }

    /// The key that `text` names. A letter with shift is its capital, where terminals report that.
    fn named(code: KeyCode, modifiers: KeyModifiers, text: &str) -> Result<Self, UnknownKey> {
        let code = match code {
            KeyCode::Char(letter) if modifiers.contains(KeyModifiers::SHIFT) => {
                let capital = capital(letter)
                    .filter(|_| !modifiers.contains(KeyModifiers::CONTROL))
                    .ok_or_else(|| UnknownKey::Shifted(text.to_owned()))?;
                KeyCode::Char(capital)
            }
            _ => code,
        };
        Ok(Self::new(code, modifiers))
    }
}

/// The capital of a letter, if it is a single letter.
fn capital(letter: char) -> Option<char> {
    let mut capital = letter.to_uppercase();
    let one = capital.next().filter(|_| capital.next().is_none());
    one.filter(|capital| capital.is_uppercase())
}

impl FromStr for Key {
    type Err = UnknownKey;

    fn from_str(text: &str) -> Result<Self, UnknownKey> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        while let Some((modifier_name, key)) =
            rest.split_once('+').filter(|(_, key)| !key.is_empty())
        {
            let known = MODIFIERS
                .iter()
                .find(|(name, _)| modifier_name.eq_ignore_ascii_case(name));
            let (_, modifier) = known.ok_or_else(|| UnknownKey::None(text.to_owned()))?;
            (modifiers, rest) = (modifiers | *modifier, key);
        }
        let mut letters = rest.chars();
        if let (Some(letter), None) = (letters.next(), letters.next()) {
            return if letter.is_control() || letter.is_whitespace() {
                Err(UnknownKey::None(text.to_owned()))
            } else {
                Self::named(KeyCode::Char(letter), modifiers, text)
            };
        }
        let lower = rest.to_ascii_lowercase();
        let named = NAMED.iter().find(|(name, _)| *name == lower);
        let function = || lower.strip_prefix('f')?.parse().ok();
        let code = named
            .map(|(_, code)| *code)
            .or_else(|| function().filter(|n| (1..=12).contains(n)).map(KeyCode::F));
        match code {
            Some(code) => Self::named(code, modifiers, text),
            None => Err(UnknownKey::None(text.to_owned())),
        }
    }
}

/// As shown to users: `←`, `shift+←`, `space`, `ctrl+c`; with `#` in ASCII: `left`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, modifier) in MODIFIERS {
            if self.modifiers.contains(modifier) {
                write!(f, "{name}+")?;
            }
        }
        match self.code {
            KeyCode::Left if !f.alternate() => f.write_str("←"),
            KeyCode::Right if !f.alternate() => f.write_str("→"),
            KeyCode::Up if !f.alternate() => f.write_str("↑"),
            KeyCode::Down if !f.alternate() => f.write_str("↓"),
            KeyCode::Char(letter) if letter != ' ' => write!(f, "{letter}"),
            KeyCode::F(n) => write!(f, "F{n}"),
            code => {
                let named = NAMED.iter().find(|(_, known)| *known == code);
                f.write_str(named.map_or("?", |(name, _)| name))
            }
        }
    }
}

/// Several keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keys(Vec<Key>);

impl Keys {
    pub(crate) const NONE: Self = Self(Vec::new());

    /// Parses keys separated by blanks. A key that is named twice counts once.
    pub fn parse(text: &str) -> Result<Self, UnknownKey> {
        let mut keys = Vec::new();
        for key in text.split_whitespace() {
            keys.push(key.parse()?);
        }
        Ok(Self::NONE.and(Self(keys)))
    }

    /// The keys of both, each once.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        for key in more.0 {
            if !self.has(key) {
                self.0.push(key);
            }
        }
        self
    }

    /// Whether `key` is one of them.
    pub fn has(&self, key: Key) -> bool {
        self.0.contains(&key)
    }

    /// The key to show where there is room for one.
    pub fn first(&self) -> Option<Key> {
        self.0.first().copied()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Key> {
        self.0.iter()
    }

    pub(crate) fn remove_all(&mut self, others: &Self) {
        self.0.retain(|key| !others.has(*key));
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, key) in self.0.iter().enumerate() {
            let gap = if at > 0 { "  " } else { "" };
            f.write_str(gap)?;
            key.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_parsed_and_shown() {
        for (text, shown) in [
            ("q", "q"),
            ("L", "L"),
            ("space", "space"),
            ("shift+left", "shift+←"),
            ("Ctrl+C", "ctrl+c"),
            ("ctrl+alt+f5", "ctrl+alt+F5"),
            ("+", "+"),
            ("ctrl++", "ctrl++"),
            ("comma", ","),
            ("?", "?"),
            ("shift+a", "A"),
            ("shift+A", "A"),
            ("alt+shift+ä", "alt+Ä"),
            ("backtab", "shift+tab"),
            ("shift+tab", "shift+tab"),
        ] {
            assert_eq!(text.parse::<Key>().unwrap().to_string(), shown, "{text}");
        }
        let arrows = Keys::parse("shift+left up").unwrap();
        assert_eq!(format!("{arrows} {arrows:#}"), "shift+←  ↑ shift+left  up");
        for text in [
            "",
            "qq",
            "hyper+q",
            "f13",
            "f0",
            "\n",
            "ctrl+",
            "shift+nowhere",
        ] {
            assert!(text.parse::<Key>().is_err(), "{text:?}");
        }
        for text in ["shift+1", "shift+ß", "shift+space", "ctrl+shift+a"] {
            let error = text.parse::<Key>().unwrap_err().to_string();
            assert!(error.contains("is not reported by terminals"), "{error}");
        }
    }

    #[test]
    fn back_tab_is_tab_with_shift_however_it_is_reported() {
        let pressed = |code, modifiers| Key::pressed(KeyEvent::new(code, modifiers));
        for name in ["backtab", "shift+tab", "shift+backtab"] {
            let key = name.parse().ok();
            assert_eq!(
                pressed(KeyCode::BackTab, KeyModifiers::SHIFT),
                key,
                "{name}"
            );
            assert_eq!(pressed(KeyCode::BackTab, KeyModifiers::NONE), key, "{name}");
            assert_eq!(pressed(KeyCode::Tab, KeyModifiers::SHIFT), key, "{name}");
            assert_ne!(pressed(KeyCode::Tab, KeyModifiers::NONE), key, "{name}");
        }
    }

    #[test]
    fn a_capital_letter_is_the_same_key_with_and_without_shift() {
        let pressed = |code, modifiers| Key::pressed(KeyEvent::new(code, modifiers));
        let key = "L".parse().ok();
        assert_eq!(pressed(KeyCode::Char('L'), KeyModifiers::SHIFT), key);
        assert_eq!(pressed(KeyCode::Char('L'), KeyModifiers::NONE), key);
        assert_ne!(pressed(KeyCode::Char('l'), KeyModifiers::NONE), key);
    }
}
