//! [`Node`]: a value of a YAML text and its line.
//!
//! What a scalar means is decided by what is asked for: `1.20` is a text if a text is asked for, written as it is in
//! the file. A scalar that is a text by its quotes or its tag is not a number, a flag or null.

use std::rc::Rc;

use super::error::{YamlError, shown};

/// The text of a key that is a list.
pub(super) const LIST_AS_KEY: &str = "[…]";
/// The text of a key that is a mapping.
pub(super) const MAP_AS_KEY: &str = "{…}";

/// A value. Aliases share it with their anchor.
#[derive(Debug)]
pub struct Node {
    /// The line on which it begins, from 1.
    pub(super) line: u64,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Scalar {
        text: String,
        /// Whether it is a text by its quotes, its form as a block, or its tag.
        is_text: bool,
    },
    List(Vec<Rc<Node>>),
    Map(Vec<Entry>),
}

/// An entry of a mapping.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key, as text.
    pub key: String,
    /// The line of the key, from 1.
    pub line: u64,
    /// The value.
    pub value: Rc<Node>,
}

impl Node {
    /// Whether it is null: missing, `~` or `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.plain()
            .is_some_and(|text| text.is_empty() || text == "~" || text.eq_ignore_ascii_case("null"))
    }

    /// The text of a scalar, as it is written; `None` if it is null.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// A whole number, decimal or with the prefix `0x`, `0o` or `0b`, also with `_` between digits. A decimal number
    /// that begins with 0 is none, because readers of YAML 1.1, such as those of ROS, take it for an octal one.
    pub fn integer<T: TryFrom<i128>>(&self) -> Option<T> {
        let integer = integer(self.plain()?)?;
        T::try_from(integer).ok()
    }

    /// A whole number, also one in quotes.
    pub(crate) fn quoted_integer<T: TryFrom<i128>>(&self) -> Option<T> {
        let text = self.text()?;
        T::try_from(integer(text.trim())?).ok()
    }

    /// `true`, `yes`, `y` or `on`, and the opposites, in any case.
    pub fn flag(&self) -> Option<bool> {
        let text = self.plain()?;
        let is_any = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        if is_any(["true", "yes", "y", "on"]) {
            Some(true)
        } else {
            is_any(["false", "no", "n", "off"]).then_some(false)
        }
    }

    /// A number that need not be whole; only configurations of zenoh have such ones.
    pub fn float(&self) -> Option<f64> {
        let text = self.plain()?;
        // `inf` and `nan` are numbers for Rust, and texts in YAML.
        let is_number = !text.contains(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E'));
        let float: f64 = text.parse().ok()?;
        Some(float).filter(|float| is_number && float.is_finite())
    }

    /// The items of a list.
    pub fn items(&self) -> Option<&[Rc<Self>]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries of a mapping, in the order of the text; those of merged mappings (`<<`) come last. Keys that are
    /// lists or mappings are shown as `[…]` and `{…}`.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a key; `None` if this is not a mapping, or the key is missing, or its value is null.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &*entry.value)
    }

    /// Reads the value of `key`. `None` if the key is missing or null; an error, which names what is `expected`, if
    /// `read` returns `None`.
    pub(crate) fn field<'a, T>(
        &'a self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'a Self) -> Option<T>,
    ) -> Result<Option<T>, YamlError> {
        let Some(entry) = self.entry(key) else {
            return Ok(None);
        };
        let value = read(&entry.value);
        value.map(Some).ok_or_else(|| {
            let reason = format!("`{}` is not {expected}", shown(key));
            YamlError::at(entry.line, &reason)
        })
    }

    /// The text of a key.
    pub fn text_of(&self, key: &str) -> Result<Option<String>, YamlError> {
        self.field(key, "a text", |value| value.text().map(str::to_owned))
    }

    /// The whole number of a key, also one in quotes.
    pub(crate) fn integer_of<T: TryFrom<i128>>(&self, key: &str) -> Result<Option<T>, YamlError> {
        self.field(key, "a whole number that fits", Self::quoted_integer)
    }

    /// The list of a key; without one, an empty list.
    pub(crate) fn list_of(&self, key: &str) -> Result<&[Rc<Self>], YamlError> {
        let list = self.field(key, "a list", Self::items)?;
        Ok(list.unwrap_or_default())
    }

    /// The mapping of a key.
    pub(crate) fn map_of(&self, key: &str) -> Result<Option<&Self>, YamlError> {
        self.field(key, "a mapping", |value| value.entries().map(|_| value))
    }

    /// An error at this value.
    pub(crate) fn error(&self, reason: &str) -> YamlError {
        YamlError::at(self.line, reason)
    }

    /// The entry of a key, if its value is not null.
    fn entry(&self, key: &str) -> Option<&Entry> {
        let entry = self.entries()?.iter().find(|entry| entry.key == key)?;
        Some(entry).filter(|entry| !entry.value.is_null())
    }

    /// The text of a scalar that may be a number, a flag or null.
    fn plain(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar {
                text,
                is_text: false,
            } => Some(text),
            _ => None,
        }
    }
}

fn integer(text: &str) -> Option<i128> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.split_at_checked(2) {
        Some(("0x", rest)) => (16, rest),
        Some(("0o", rest)) => (8, rest),
        Some(("0b", rest)) => (2, rest),
        _ => (10, digits),
    };
    let is_octal_for_some = radix == 10 && digits.len() > 1 && digits.starts_with('0');
    let is_group = |group: &str| !group.is_empty() && group.chars().all(|c| c.is_digit(radix));
    if is_octal_for_some || !digits.split('_').all(is_group) {
        return None;
    }
    let magnitude = i128::from_str_radix(&digits.replace('_', ""), radix).ok()?;
    Some(if is_negative { -magnitude } else { magnitude })
}
