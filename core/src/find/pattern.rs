//! [`Pattern`]: a regular expression that a person wrote, equal to another if its text is.

use std::fmt;

use regex::{Regex, RegexBuilder};

/// The most memory for a compiled pattern, in bytes.
const MAX_SIZE: usize = 1 << 20;

/// A regular expression. The time of a match is linear in the length of the text.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

/// A text that is no regular expression.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("is not a pattern: {0}")]
pub struct InvalidPattern(String);

impl Pattern {
    /// A pattern that may match any part of a text.
    pub fn new(text: &str) -> Result<Self, InvalidPattern> {
        let text = text.to_owned();
        let regex = compile(&text)?;
        Ok(Self { text, regex })
    }

    /// A pattern that has to match a text as a whole.
    pub fn of_whole(text: &str) -> Result<Self, InvalidPattern> {
        // Alone it may have parentheses that only match those around it.
        compile(text)?;
        let regex = compile(&format!("^(?:{text})$"))?;
        let text = text.to_owned();
        Ok(Self { text, regex })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it matches.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

fn compile(text: &str) -> Result<Regex, InvalidPattern> {
    let built = RegexBuilder::new(text).size_limit(MAX_SIZE).build();
    built.map_err(|error| {
        // Its text shows the pattern on lines of its own; the last one has the reason.
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default().trim();
        InvalidPattern(reason.trim_start_matches("error: ").to_owned())
    })
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_a_part_or_the_whole() {
        let part = Pattern::new("a|ab").unwrap();
        assert!(part.is_match("xaby") && !part.is_match("xy"));
        let whole = Pattern::of_whole("a|ab").unwrap();
        for (text, is_match) in [("a", true), ("ab", true), ("abc", false), ("xa", false)] {
            assert_eq!(whole.is_match(text), is_match, "{text}");
        }
        assert_eq!(whole.as_str(), "a|ab");
        assert_eq!(part, whole);
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_the_reason() {
        for text in ["(", "a)(b", "a)|(?:b"] {
            let error = Pattern::of_whole(text).unwrap_err().to_string();
            assert!(error.starts_with("is not a pattern: un"), "{error}");
            assert!(Pattern::new(text).is_err(), "{text}");
        }
        let large = Pattern::new("(?:a{1000}){1000}").unwrap_err();
        assert!(large.to_string().contains("size limit"), "{large}");
    }
}
