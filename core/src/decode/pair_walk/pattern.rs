//! [`Wildcard`] and [`FieldPattern`]: names and paths of fields in which `*` stands for any text.

use std::fmt;

use crate::untrusted::Foreign;

/// The longest pattern, in bytes.
const MAX_BYTES: usize = 1000;

/// A name in which each `*` stands for any text, also for none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wildcard(String);

impl Wildcard {
    /// A pattern for names.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it stands for this name as a whole.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut p, mut n) = (0, 0);
        // The last `*`, and where in the name the text begins that comes after what it stands for.
        let mut star: Option<(usize, usize)> = None;
        while n < name.len() {
            match (pattern.get(p), star) {
                (Some(b'*'), _) => {
                    star = Some((p, n));
                    p += 1;
                }
                (Some(byte), _) if *byte == name[n] => {
                    p += 1;
                    n += 1;
                }
                (_, Some((at, from))) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    n = from + 1;
                }
                (_, None) => return false,
            }
        }
        pattern[p..].iter().all(|byte| *byte == b'*')
    }
}

impl fmt::Display for Wildcard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Foreign::text(&self.0).fmt(f)
    }
}

/// A step of a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Into a field.
    Name(Wildcard),
    /// Into one element of an array; `None`: into any.
    Element(Option<u64>),
}

/// Names fields of a message: `pose.covariance[7]`, `twist.*.x`, `transforms[*].header.stamp`. `[*]` and `[]` are any
/// element; an array without brackets stands for all its elements. The fields below a named field are named, too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldPattern {
    text: String,
    steps: Vec<Step>,
}

/// A text that is no pattern of fields.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{}` names no field: {reason}", Foreign::text(text).at_most(100))]
pub struct InvalidPattern {
    text: String,
    reason: &'static str,
}

impl FieldPattern {
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl std::str::FromStr for FieldPattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        let wrong = |reason| InvalidPattern {
            text: text.to_owned(),
            reason,
        };
        if text.len() > MAX_BYTES {
            return Err(wrong("it is too long"));
        }
        let mut steps = Vec::new();
        for part in text.split('.') {
            let (name, element) = match part.split_once('[') {
                None => (part, None),
                Some((name, rest)) => {
                    let element = rest
                        .strip_suffix(']')
                        .ok_or_else(|| wrong("`]` is missing"))?;
                    (name, Some(element))
                }
            };
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '*';
            if name.is_empty() || !name.chars().all(is_name) {
                return Err(wrong("write names of fields with `.` between them"));
            }
            steps.push(Step::Name(Wildcard::new(name)));
            match element {
                None => {}
                Some("" | "*") => steps.push(Step::Element(None)),
                Some(index) => {
                    let index = index
                        .parse()
                        .map_err(|_| wrong("between `[` and `]` is a number or `*`"))?;
                    steps.push(Step::Element(Some(index)));
                }
            }
        }
        Ok(Self {
            text: text.to_owned(),
            steps,
        })
    }
}

impl fmt::Display for FieldPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, matches) in [
            ("/odom", "/odom", true),
            ("/odom", "/odom2", false),
            ("/odom", "/odo", false),
            ("*", "", true),
            ("*", "/a/b", true),
            ("/tf*", "/tf_static", true),
            ("/tf*", "/tf", true),
            ("*_raw", "/image_raw", true),
            ("*_raw", "/image_raw_", false),
            ("/a/*/c/*", "/a/b/b/c/d", true),
            ("/a/*/c", "/a/c", false),
            ("a*b*c", "aXbXbXc", true),
            ("a**c", "ac", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(
                Wildcard::new(pattern).matches(name),
                matches,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn patterns_are_names_with_dots_and_elements_in_brackets() {
        for text in [
            "a",
            "a.b_2.*",
            "pose.covariance[7]",
            "t[*].x",
            "t[].x",
            "*_covariance",
        ] {
            assert_eq!(text.parse::<FieldPattern>().unwrap().to_string(), text);
        }
        for (text, reason) in [
            ("", "write names"),
            ("a..b", "write names"),
            (".a", "write names"),
            ("a b", "write names"),
            ("a[1", "`]` is missing"),
            ("a[x]", "a number or `*`"),
            ("a[-1]", "a number or `*`"),
            ("a[1][2]", "a number or `*`"),
            ("a\x1b[2J", "`]` is missing"),
        ] {
            let error = text.parse::<FieldPattern>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
            assert!(!error.contains('\x1b'));
        }
        assert!("a".repeat(MAX_BYTES + 1).parse::<FieldPattern>().is_err());
    }
}
