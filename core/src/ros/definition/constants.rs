//! Reads the constants of message definitions: `byte WARN=1`.
//!
//! Decoding does not need them, so they are read apart from the fields, and a line that is wrong is skipped. As in
//! `message.rs`, the text is untrusted.

use std::collections::BTreeMap;

use super::field::Dialect;
use super::message::{full_name, sections};
use super::text::text_of;

/// The value of a constant.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ConstantValue {
    Bool(bool),
    Integer {
        value: i128,
        /// The size of its type.
        bytes: u8,
    },
    Float(f64),
    Text(String),
}

/// The constants of each type in a schema, by the name of the type, in the order of the definition.
pub(crate) fn read_constants(
    dialect: Dialect,
    name: &str,
    text: &[u8],
) -> BTreeMap<String, Vec<(String, ConstantValue)>> {
    let text = text_of(text).unwrap_or_default();
    let (Ok(root), Ok((body, others))) = (full_name(name), sections(&text)) else {
        return BTreeMap::new();
    };
    let mut found = BTreeMap::new();
    for (name, body) in std::iter::once((root, body)).chain(others) {
        let constants: Vec<_> = body
            .lines()
            .filter_map(|line| constant(dialect, line))
            .collect();
        if !constants.is_empty() {
            found.entry(name).or_insert(constants);
        }
    }
    found
}

/// The constants that ROS defines for the levels of logs and diagnostics.
pub(crate) fn known_constants(type_name: &str) -> Option<Vec<(String, ConstantValue)>> {
    let known: &[(&str, i128)] = match type_name {
        "rcl_interfaces/msg/Log" => &[
            ("DEBUG", 10),
            ("INFO", 20),
            ("WARN", 30),
            ("ERROR", 40),
            ("FATAL", 50),
        ],
        "rosgraph_msgs/msg/Log" => &[
            ("DEBUG", 1),
            ("INFO", 2),
            ("WARN", 4),
            ("ERROR", 8),
            ("FATAL", 16),
        ],
        "diagnostic_msgs/msg/DiagnosticStatus" => {
            &[("OK", 0), ("WARN", 1), ("ERROR", 2), ("STALE", 3)]
        }
        _ => return None,
    };
    let constant = |(name, value): &(&str, i128)| {
        let value = ConstantValue::Integer {
            value: *value,
            bytes: 1,
        };
        ((*name).to_owned(), value)
    };
    Some(known.iter().map(constant).collect())
}

/// `TYPE NAME=VALUE`
fn constant(dialect: Dialect, line: &str) -> Option<(String, ConstantValue)> {
    let (kind, rest) = line.trim().split_once(char::is_whitespace)?;
    let (name, value) = rest.split_once('=')?;
    let name = name.trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name || kind.starts_with('#') {
        return None;
    }
    let base = kind.split_once("<=").map_or(kind, |(base, _)| base);
    let value = if matches!(base, "string" | "wstring") {
        ConstantValue::Text(text(dialect, value.trim()))
    } else {
        let value = value.split('#').next().unwrap_or_default().trim();
        match base {
            "bool" => ConstantValue::Bool(match value {
                "true" | "True" | "1" => true,
                "false" | "False" | "0" => false,
                _ => return None,
            }),
            "float32" | "float64" => ConstantValue::Float(value.parse().ok()?),
            _ => ConstantValue::Integer {
                value: integer(value)?,
                bytes: match base {
                    "int16" | "uint16" => 2,
                    "int32" | "uint32" => 4,
                    "int64" | "uint64" => 8,
                    _ => 1,
                },
            },
        }
    };
    Some((name.to_owned(), value))
}

/// In ROS 1 everything up to the end of the line, also quotes and what looks like a comment; in ROS 2 in quotes or
/// without, up to a comment.
fn text(dialect: Dialect, value: &str) -> String {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    match (dialect, quote) {
        (Dialect::Ros1 | Dialect::Ros1ForRos2, _) => value.to_owned(),
        (Dialect::Ros2, None) => {
            let value = value.split('#').next().unwrap_or_default();
            value.trim_end().to_owned()
        }
        (Dialect::Ros2, Some(quote)) => {
            let mut text = String::new();
            let mut rest = value[1..].chars().peekable();
            while let Some(c) = rest.next().filter(|c| *c != quote) {
                // The quote is all that has to be escaped.
                text.push(match c {
                    '\\' => rest.next_if_eq(&quote).unwrap_or(c),
                    _ => c,
                });
            }
            text
        }
    }
}

/// A whole number, decimal or with the prefix of another base.
fn integer(text: &str) -> Option<i128> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let of_base = [("0x", 16), ("0X", 16), ("0b", 2), ("0o", 8)];
    let of_base = of_base
        .into_iter()
        .find_map(|(prefix, base)| Some((digits.strip_prefix(prefix)?, base)));
    let (digits, base) = of_base.unwrap_or((digits, 10));
    if !digits.starts_with(|c: char| c.is_digit(base)) {
        return None;
    }
    let number = i128::from_str_radix(digits, base).ok()?;
    Some(if is_negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_line(dialect: Dialect, line: &str) -> Option<(String, ConstantValue)> {
        constant(dialect, line)
    }

    #[test]
    fn constants_of_all_types_are_read() {
        use ConstantValue::{Bool, Float, Text};
        let integer = |value, bytes| ConstantValue::Integer { value, bytes };
        let (ros1, ros2) = (Dialect::Ros1, Dialect::Ros2);
        for (dialect, line, name, value) in [
            (ros2, "byte WARN=1", "WARN", integer(1, 1)),
            (
                ros1,
                "byte WARN =  4 # a comment = 5",
                "WARN",
                integer(4, 1),
            ),
            (ros2, "int8 LOW=-128", "LOW", integer(-128, 1)),
            (ros2, "uint32 MASK=0xFF", "MASK", integer(255, 4)),
            (
                ros2,
                "uint64 MOST=18446744073709551615",
                "MOST",
                integer(u64::MAX.into(), 8),
            ),
            (ros2, "bool ON=true", "ON", Bool(true)),
            (ros1, "bool OFF=0", "OFF", Bool(false)),
            (ros2, "float32 HALF=0.5", "HALF", Float(0.5)),
            (
                ros2,
                "string NAME=\"a # b\" # c",
                "NAME",
                Text("a # b".into()),
            ),
            (ros2, "string<=5 NAME='it\\'s'", "NAME", Text("it's".into())),
            (ros2, "string NAME=bare # c", "NAME", Text("bare".into())),
            (
                ros1,
                "string NAME= \"a\" # b ",
                "NAME",
                Text("\"a\" # b".into()),
            ),
        ] {
            let found = of_line(dialect, line);
            assert_eq!(found, Some((name.to_owned(), value)), "{line}");
        }
    }

    #[test]
    fn known_constants_are_those_of_the_definition() {
        let text = std::fs::read(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../tests/data/ros2msg/rcl_interfaces.Log.msg"
        ))
        .unwrap();
        let name = "rcl_interfaces/msg/Log";
        let mut read = read_constants(Dialect::Ros2, name, &text);
        assert_eq!(read.remove(name), known_constants(name));
        assert_eq!(known_constants("p/msg/Log"), None);
    }

    #[test]
    fn other_lines_have_no_constant() {
        for line in [
            "",
            "# byte WARN=1",
            "#byte WARN=1",
            "int32 x",
            "int32 x 5",
            "string s \"a=b\"",
            "int8 X=abc",
            "int8 X=--1",
            "int8 X=0x-1",
            "int8 X=0x",
            "bool X=maybe",
            "uint8 A B=1",
        ] {
            assert_eq!(of_line(Dialect::Ros2, line), None, "{line}");
        }
    }
}
