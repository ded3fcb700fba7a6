//! [`Table`]: a table of a file of expectations, from which values are taken by key. Errors name the place and what is
//! allowed there.

use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::source::{ExpectationError, Source};
use crate::time::{Duration, parse_span};

/// How similar a key has to be to be meant; 1 is equal.
const SIMILAR: f64 = 0.7;

/// The name of a table in errors and in the documentation, and its keys.
pub(crate) type Form = (&'static str, &'static [&'static str]);

/// A value in a file.
pub(crate) type Value<'t> = Spanned<DeValue<'t>>;

/// A table whose keys are known.
#[derive(Clone, Debug)]
pub(crate) struct Table<'s, 't> {
    source: &'s Source<'t>,
    entries: &'s DeTable<'t>,
    span: Range<usize>,
    name: &'static str,
    keys: &'static [&'static str],
}

impl<'s, 't> Table<'s, 't> {
    /// A table that has no other keys than these.
    pub(crate) fn new(
        source: &'s Source<'t>,
        (entries, span): (&'s DeTable<'t>, Range<usize>),
        (name, keys): Form,
    ) -> Result<Self, ExpectationError> {
        for key in entries.keys() {
            let known = key.get_ref().as_ref();
            if !keys.contains(&known) {
                return Err(source.error(&key.span(), &unknown("key", known, name, keys)));
            }
        }
        Ok(Self {
            source,
            entries,
            span,
            name,
            keys,
        })
    }

    /// An error that concerns the whole table.
    pub(crate) fn error(&self, what: &str) -> ExpectationError {
        self.source.error(&self.span, what)
    }

    /// An error that concerns the value of a key.
    pub(crate) fn error_at(&self, key: &str, what: &str) -> ExpectationError {
        match self.get(key) {
            Some(value) => self.source.error(&value.span(), &format!("`{key}` {what}")),
            None => self.error(what),
        }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'s Value<'t>> {
        debug_assert!(self.keys.contains(&key), "{key} is not in the list of keys");
        self.entries.get(key)
    }

    pub(crate) fn is_integer(&self, key: &str) -> bool {
        self.get(key)
            .is_some_and(|value| value.get_ref().is_integer())
    }

    pub(crate) fn is_table(&self, key: &str) -> bool {
        self.get(key)
            .is_some_and(|value| value.get_ref().is_table())
    }

    /// The value of a key that has to be there.
    pub(crate) fn required<T>(&self, key: &str, value: Option<T>) -> Result<T, ExpectationError> {
        value.ok_or_else(|| self.error(&format!("{} needs the key `{key}`", self.name)))
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&'s str>, ExpectationError> {
        self.read(key, "a text in quotes", DeValue::as_str)
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, ExpectationError> {
        self.read(key, "true or false", DeValue::as_bool)
    }

    /// A whole number that is not negative.
    pub(crate) fn count(&self, key: &str) -> Result<Option<u64>, ExpectationError> {
        let read = |value: &DeValue<'t>| u64::try_from(integer(value)?).ok();
        self.read(key, "a whole number from 0", read)
    }

    /// A number that is not negative.
    pub(crate) fn size(&self, key: &str) -> Result<Option<f64>, ExpectationError> {
        let read = |value: &DeValue<'t>| number(value).filter(|it| it.is_finite() && *it >= 0.0);
        self.read(key, "a number from 0", read)
    }

    /// A span of time that is not negative.
    pub(crate) fn span(&self, key: &str) -> Result<Option<Duration>, ExpectationError> {
        let read = |value: &DeValue<'t>| match value.as_str() {
            Some(text) => parse_span(text).ok(),
            None => Duration::from_secs_f64(number(value)?).filter(|span| !span.is_negative()),
        };
        self.read(
            key,
            "a span of time: seconds (1.5), or a text with a unit (\"500ms\")",
            read,
        )
    }

    /// A text that has a form of its own.
    pub(crate) fn parsed<T: FromStr<Err: Display>>(
        &self,
        key: &str,
    ) -> Result<Option<T>, ExpectationError> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        match text.parse() {
            Ok(parsed) => Ok(Some(parsed)),
            Err(error) => Err(self.error_at(key, &format!("is wrong: {error}"))),
        }
    }

    /// One of a few words.
    pub(crate) fn one_of<T: Copy>(
        &self,
        key: &str,
        words: &[(&'static str, T)],
    ) -> Result<Option<T>, ExpectationError> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, meant)| Some(*meant)).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            let value = self.get(key).map(Spanned::span).unwrap_or_default();
            self.source
                .error(&value, &unknown("value", text, &format!("`{key}`"), &words))
        })
    }

    /// A table, with the keys that it may have.
    pub(crate) fn table(&self, key: &str, form: Form) -> Result<Option<Self>, ExpectationError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let wanted = format!("a table with {}", listed(form.1));
        let entries = self.read(key, &wanted, DeValue::as_table)?;
        let entries = entries.map(|entries| Self::new(self.source, (entries, value.span()), form));
        entries.transpose()
    }

    /// Tables, written as `[[key]]`.
    pub(crate) fn tables(&self, key: &str, form: Form) -> Result<Vec<Self>, ExpectationError> {
        let wanted = format!("a list of tables; write {} before each", form.0);
        let values = self.read(key, &wanted, DeValue::as_array)?;
        let values = values.map(|values| values.iter()).unwrap_or_default();
        values
            .map(|value| match value.get_ref().as_table() {
                Some(entries) => Self::new(self.source, (entries, value.span()), form),
                None => Err(self
                    .source
                    .error(&value.span(), &format!("`{key}` is {wanted}"))),
            })
            .collect()
    }

    fn read<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl FnOnce(&'s DeValue<'t>) -> Option<T>,
    ) -> Result<Option<T>, ExpectationError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        read(value.get_ref()).map(Some).ok_or_else(|| {
            let what = format!("is {wanted}, not {}", shown(value.get_ref()));
            self.error_at(key, &what)
        })
    }
}

/// A whole number.
pub(crate) fn integer(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// A number of either kind.
pub(crate) fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        #[expect(clippy::cast_precision_loss, reason = "a float is wanted")]
        _ => integer(value).map(|number| number as f64),
    }
}

/// A value in an error.
pub(crate) fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn unknown(kind: &str, found: &str, of: &str, known: &[&str]) -> String {
    let similar = |word: &&&str| strsim::jaro_winkler(word, found);
    let nearest = known
        .iter()
        .filter(|word| similar(word) > SIMILAR)
        .max_by(|a, b| similar(a).total_cmp(&similar(b)));
    let known = listed(known);
    match nearest {
        Some(word) => {
            format!("{of} has no {kind} `{found}`; did you mean `{word}`? Known: {known}")
        }
        None => format!("{of} has no {kind} `{found}`; known: {known}"),
    }
}

fn listed(words: &[&str]) -> String {
    words.join(", ")
}
