//! [`ValuePath`]: which field of a message, as it is written: `poses[0].position.x`.

use std::fmt;
use std::str::FromStr;

use crate::untrusted::Foreign;

/// The most parts of a path. Messages are nested up to about ten levels.
const MAX_PARTS: usize = 200;

/// Which field of a message.
///
/// Names have dots between them: `pose.pose.position.x`. An element of an array has its index in brackets, from 0, or
/// from the end by `[-1]`; `[*]` or `[]` stands for all elements. `length` is the number of elements of an array, or of
/// bytes of a text. A time has the parts `sec` and `nanosec`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ValuePath {
    parts: Vec<Part>,
}

/// A part of a path.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Part {
    /// A field, or a part of a value.
    Name(String),
    /// An element of an array; from the end if it is negative.
    Index(i64),
    /// All elements of an array.
    Every,
}

/// A text that is no path.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{}` is not the path of a field: {reason}; write names with dots between them, [0], [-1] or [*] after an array",
    Foreign::text(text).at_most(200)
)]
pub struct InvalidValuePath {
    text: String,
    reason: &'static str,
}

impl ValuePath {
    /// Whether it stands for all elements of an array, so that a message may have any number of values.
    pub fn has_wildcard(&self) -> bool {
        self.parts.contains(&Part::Every)
    }

    /// How many `[*]` stand for the same elements in both paths, from the start: those before the first difference.
    pub fn shared_wildcards(&self, other: &Self) -> usize {
        let pairs = self.parts.iter().zip(&other.parts);
        let same = pairs.take_while(|(own, its)| own == its);
        same.filter(|(part, _)| **part == Part::Every).count()
    }

    /// The path of one value: each `[*]` replaced by the next of these indexes.
    pub fn at(&self, indexes: &[u64]) -> String {
        let mut indexes = indexes.iter();
        let mut text = String::new();
        for part in &self.parts {
            let shown = match part {
                Part::Name(name) if text.is_empty() => name.clone(),
                Part::Name(name) => format!(".{name}"),
                Part::Index(index) => format!("[{index}]"),
                Part::Every => match indexes.next() {
                    Some(index) => format!("[{index}]"),
                    None => "[*]".to_owned(),
                },
            };
            text += &shown;
        }
        Foreign::text(&text).to_string()
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The path of the first parts.
    pub(super) fn first(&self, parts: usize) -> String {
        let parts = self.parts.iter().take(parts).cloned().collect();
        Self { parts }.to_string()
    }
}

impl fmt::Display for ValuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.at(&[]))
    }
}

impl FromStr for ValuePath {
    type Err = InvalidValuePath;

    fn from_str(text: &str) -> Result<Self, InvalidValuePath> {
        parse(text).map_err(|reason| InvalidValuePath {
            text: text.to_owned(),
            reason,
        })
    }
}

fn parse(text: &str) -> Result<ValuePath, &'static str> {
    let mut parts = Vec::new();
    for word in text.split('.') {
        let (name, mut rest) = word.split_at(word.find('[').unwrap_or(word.len()));
        // A message of JSON may be an array.
        if !name.is_empty() {
            let is_refused = |c: char| c == ']' || c.is_whitespace() || c.is_control();
            if name.contains(is_refused) {
                return Err("a name has no spaces and no brackets");
            }
            parts.push(Part::Name(name.to_owned()));
        } else if rest.is_empty() || !parts.is_empty() {
            return Err("a name is missing");
        }
        while !rest.is_empty() {
            let (index, after) = rest
                .strip_prefix('[')
                .and_then(|rest| rest.split_once(']'))
                .ok_or("brackets do not match")?;
            parts.push(match index {
                "*" | "" => Part::Every,
                _ => Part::Index(index.parse().map_err(|_| "an index is a whole number")?),
            });
            rest = after;
        }
        if parts.len() > MAX_PARTS {
            return Err("it is too long");
        }
    }
    Ok(ValuePath { parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_names_indexes_and_wildcards() {
        let name = |name: &str| Part::Name(name.to_owned());
        for (text, parts) in [
            ("x", vec![name("x")]),
            (
                "pose.position.x",
                vec![name("pose"), name("position"), name("x")],
            ),
            ("ranges[0]", vec![name("ranges"), Part::Index(0)]),
            ("a[-1].b", vec![name("a"), Part::Index(-1), name("b")]),
            ("t[*].id", vec![name("t"), Part::Every, name("id")]),
            ("m[1][*]", vec![name("m"), Part::Index(1), Part::Every]),
            ("[*].x", vec![Part::Every, name("x")]),
        ] {
            let path: ValuePath = text.parse().unwrap();
            assert_eq!(path.parts(), parts, "{text}");
            assert_eq!(path.to_string(), text);
        }
        assert_eq!("t[].id".parse::<ValuePath>(), "t[*].id".parse());
    }

    #[test]
    fn what_is_no_path_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "a name is missing"),
            ("a..b", "a name is missing"),
            (".a", "a name is missing"),
            ("a.[0]", "a name is missing"),
            ("a b", "no spaces"),
            ("a]", "no brackets"),
            ("a[0", "do not match"),
            ("a[0]b", "do not match"),
            ("a[x]", "whole number"),
            ("a[ ]", "whole number"),
            ("a[99999999999999999999]", "whole number"),
            (&"a.".repeat(300), "too long"),
        ] {
            let error = text.parse::<ValuePath>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let error = "a\u{1b}[0".parse::<ValuePath>().unwrap_err().to_string();
        assert!(!error.contains('\u{1b}'), "{error:?}");
    }

    #[test]
    fn the_place_of_a_value_has_its_indexes() {
        let path: ValuePath = "a[*].b[2].c[*]".parse().unwrap();
        assert!(path.has_wildcard());
        assert_eq!(path.at(&[7, 0]), "a[7].b[2].c[0]");
        assert_eq!(path.at(&[7]), "a[7].b[2].c[*]");
        assert!(!"a[2].b".parse::<ValuePath>().unwrap().has_wildcard());
    }

    #[test]
    fn wildcards_are_shared_up_to_the_first_difference() {
        for (one, other, shared) in [
            ("a[*].b", "a[*].c", 1),
            ("a[*].b", "a[*].b", 1),
            ("a[*].b[*]", "a[*].c[*]", 1),
            ("a[*][*].b", "a[*][*].c", 2),
            ("a[*].b", "c[*].b", 0),
            ("a[*].b", "a[0].b", 0),
            ("a", "a", 0),
        ] {
            let path = |text: &str| text.parse::<ValuePath>().unwrap();
            assert_eq!(path(one).shared_wildcards(&path(other)), shared, "{one}");
        }
    }
}
