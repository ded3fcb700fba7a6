//! The constants of ROS 1 definitions as lines of ROS 2 definitions.

use std::collections::{BTreeMap, BTreeSet};

/// The lines of all constants in the text of one ROS 1 definition. What is no constant of a built-in type is left out.
///
/// ROS 2 has no small letters in names of constants. As with fields, names that differ only in case stay as they are.
pub(super) fn constant_lines(body: &str) -> Vec<String> {
    let mut names = BTreeSet::new();
    let constants = body.lines().filter_map(Constant::read);
    let constants: Vec<Constant<'_>> = constants.filter(|it| names.insert(it.name)).collect();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for name in &names {
        *count.entry(name.to_ascii_uppercase()).or_default() += 1;
    }
    let line = |Constant { kind, name, value }: &Constant<'_>| {
        let upper = name.to_ascii_uppercase();
        let name = match count[&upper] {
            1 => upper.as_str(),
            _ => *name,
        };
        format!("{kind} {name}={value}")
    };
    constants.iter().map(line).collect()
}

/// A constant with its recorded name; type and value are in the form of ROS 2.
struct Constant<'a> {
    kind: &'a str,
    name: &'a str,
    value: String,
}

impl<'a> Constant<'a> {
    /// Reads `TYPE NAME=VALUE`.
    fn read(line: &'a str) -> Option<Self> {
        let (kind, rest) = line.trim().split_once(char::is_whitespace)?;
        let (name, value) = rest.split_once('=')?;
        let name = name.trim();
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            return None;
        }
        let value = value.trim();
        let (kind, value) = match kind {
            // Everything up to the end of the line, also what looks like a comment.
            "string" => (kind, quoted(value)),
            "bool" => (kind, number(value)?.to_ascii_lowercase()),
            "char" => ("uint8", number(value)?.to_owned()),
            // In ROS 2 it has no sign.
            "byte" => match number(value)?.parse::<i8>() {
                Ok(signed) => (kind, signed.cast_unsigned().to_string()),
                Err(_) => (kind, number(value)?.to_owned()),
            },
            "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64"
            | "float32" | "float64" => (kind, number(value)?.to_owned()),
            _ => return None,
        };
        Some(Self { kind, name, value })
    }
}

/// A value up to a comment.
fn number(value: &str) -> Option<&str> {
    let value = value.split('#').next().unwrap_or_default().trim_end();
    let is_number = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
    (!value.is_empty() && value.chars().all(is_number)).then_some(value)
}

/// A text in quotes; the quote is all that has to be escaped.
fn quoted(text: &str) -> String {
    let quote = if text.contains('"') { '\'' } else { '"' };
    let escaped = text.replace(quote, &format!("\\{quote}"));
    format!("{quote}{escaped}{quote}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::definition::Dialect;
    use crate::ros::definition::{ConstantValue, read_constants};

    #[test]
    fn constants_have_the_form_of_ros2() {
        for (line, expected) in [
            ("byte WARN=1", Some("byte WARN=1")),
            ("byte LOW=-1 # all bits", Some("byte LOW=255")),
            ("char c=65", Some("uint8 C=65")),
            ("  uint32  Mask = 0xFF#x", Some("uint32 MASK=0xFF")),
            ("float64 PI=3.14", Some("float64 PI=3.14")),
            ("bool ON=True", Some("bool ON=true")),
            ("string S= a # b ", Some("string S=\"a # b\"")),
            ("string S=say \"a\"", Some("string S='say \"a\"'")),
            ("string S=\"it's\"", Some("string S='\"it\\'s\"'")),
            ("string S=", Some("string S=\"\"")),
            ("int32 x", None),
            ("int32 x # a=b", None),
            ("# int32 X=1", None),
            ("int32 X=1 2", None),
            ("time T=1", None),
            ("pkg/Type X=1", None),
        ] {
            let found = constant_lines(line);
            assert_eq!(found.first().map(String::as_str), expected, "{line}");
        }
        let lines = constant_lines("int8 a=1\nint8 A=2\nint8 b=3\nint8 a=4\n");
        assert_eq!(lines, ["int8 a=1", "int8 A=2", "int8 B=3"]);
    }

    #[test]
    fn texts_keep_their_values() {
        for text in ["a", "\"a\"", "it's", "\"it's\"", "a # b", "back\\slash"] {
            let line = format!("string S={text}\n");
            let value = |dialect, text: &str| {
                let read = read_constants(dialect, "p/T", text.as_bytes());
                read["p/msg/T"][0].1.clone()
            };
            let lines = constant_lines(&line).join("\n");
            let expected = ConstantValue::Text(text.to_owned());
            assert_eq!(value(Dialect::Ros1, &line), expected);
            assert_eq!(value(Dialect::Ros2, &lines), expected, "{lines}");
        }
    }
}
