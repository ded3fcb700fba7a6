//! [`ros1_text`]: the definition of a ROS 2 type as ROS 1 writes it.
//!
//! | ROS 2 | ROS 1 |
//! |---|---|
//! | `builtin_interfaces/Time`, `…/Duration` | `time`, `duration`; their eight bytes are the same |
//! | `string<=N`, `T[<=N]` | `string`, `T[]`: ROS 1 knows no bounds |
//! | `TYPE name DEFAULT` | `TYPE name` |
//! | `string NAME="TEXT"` | `string NAME=TEXT` |
//! | a field of `wstring` or `wchar` | an error |
//! | `wstring NAME=…` | `string NAME=…` |

use std::fmt::Write as _;

use crate::ros::definition::{Array, BaseType, Field, PLACEHOLDER, Primitive};
use crate::transcode::error::NoRos1Form;

/// The most bytes of a definition; full names of types make it longer than it was recorded.
pub(super) const MAX_BYTES: usize = 4 << 20;
/// The types that are built in in ROS 1.
pub(super) const TIME: &str = "builtin_interfaces/msg/Time";
pub(super) const DURATION: &str = "builtin_interfaces/msg/Duration";

/// The lines of the definition `name` (`pkg/msg/Name`) in ROS 1, in the same order; `fields` are those that were read
/// from it. Types are written with their package; `new_name` is the ROS 1 name of a message.
pub(super) fn ros1_text(
    name: &str,
    body: &str,
    fields: &[Field],
    new_name: impl Fn(&str) -> String,
) -> Result<String, NoRos1Form> {
    let mut text = String::new();
    let mut fields = fields.iter();
    for line in body.lines() {
        if text.len() > MAX_BYTES {
            return Err(NoRos1Form::TooLarge(MAX_BYTES));
        }
        let code = line.trim();
        if code.is_empty() || code.starts_with('#') {
            continue;
        }
        // The definition was parsed before, so each line has both.
        let Some((kind, rest)) = code.split_once(char::is_whitespace) else {
            continue;
        };
        let rest = rest.trim_start();
        let end = rest.find(|c: char| c == '=' || c == '#' || c.is_whitespace());
        let (field_name, after) = rest.split_at(end.unwrap_or(rest.len()));
        if let Some(value) = after.trim_start().strip_prefix('=') {
            let kind = kind.split("<=").next().unwrap_or(kind);
            // ROS 1 has no wide strings; the value of a constant is in no message.
            let kind = kind.trim_start_matches('w');
            let value = constant(kind, value);
            writeln!(text, "{kind} {field_name}={value}").expect("a string takes everything");
        } else if let Some(field) = fields.next()
            && field.name != PLACEHOLDER
        {
            let kind = ros1_type(name, kind, field, &new_name)?;
            writeln!(text, "{kind} {field_name}").expect("a string takes everything");
        }
    }
    Ok(text)
}

/// The type of a field in ROS 1, with its array. `kind` is its recorded text.
fn ros1_type(
    inside: &str,
    kind: &str,
    field: &Field,
    new_name: impl Fn(&str) -> String,
) -> Result<String, NoRos1Form> {
    let base = match &field.base {
        BaseType::WideText(_) | BaseType::Primitive(Primitive::WideChar) => {
            return Err(NoRos1Form::Wide(inside.to_owned()));
        }
        BaseType::Message(name) => match name.as_str() {
            TIME => "time".to_owned(),
            DURATION => "duration".to_owned(),
            other => new_name(other).replacen("/msg/", "/", 1),
        },
        BaseType::Text(_) => "string".to_owned(),
        // As it is written: `char` and `uint8` are one type, and have two names.
        BaseType::Primitive(_) => kind.split('[').next().unwrap_or(kind).to_owned(),
        BaseType::Stamp(_) => unreachable!("in ROS 2 they are messages"),
    };
    Ok(match field.array {
        Array::One => base,
        Array::Fixed(count) => format!("{base}[{count}]"),
        Array::Bounded(_) | Array::Unbounded => format!("{base}[]"),
    })
}

/// A value as ROS 1 reads it: numbers in decimal, `byte` with a sign, and a text without its quotes.
fn constant(kind: &str, value: &str) -> String {
    let value = value.trim();
    if kind == "string" {
        return unquoted(value);
    }
    let value = value.split('#').next().unwrap_or_default().trim_end();
    match kind {
        "bool" => match value.to_ascii_lowercase().as_str() {
            "true" | "1" => "True".to_owned(),
            "false" | "0" => "False".to_owned(),
            _ => value.to_owned(),
        },
        "float32" | "float64" => value.to_owned(),
        _ => match (integer(value), kind) {
            (Some(number @ 128..=255), "byte") => (number - 256).to_string(),
            (Some(number), _) => number.to_string(),
            (None, _) => value.to_owned(),
        },
    }
}

/// An integer as ROS 2 writes it, with the prefixes of Python.
fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.trim_start_matches('+')),
    };
    let digits = digits.replace('_', "");
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0o" | "0O") => (8, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        _ => (10, digits.as_str()),
    };
    i128::from_str_radix(digits, radix).ok().map(|it| sign * it)
}

/// A text without quotes at both its ends; without quotes, up to a comment.
fn unquoted(value: &str) -> String {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let bare = || value.split('#').next().unwrap_or_default().trim_end();
    let Some(quote) = quote else {
        return bare().to_owned();
    };
    let mut text = String::new();
    let mut rest = value[1..].chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some(escaped) if escaped == quote => text.push(escaped),
                Some(other) => text.extend(['\\', other]),
                None => text.push('\\'),
            },
            c if c == quote => return text,
            c => text.push(c),
        }
    }
    // The quote is a part of the text.
    bare().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::definition::{Dialect, read_message};

    fn text(body: &str) -> Result<String, NoRos1Form> {
        text_of("pkg/msg/T", body)
    }

    fn text_of(name: &str, body: &str) -> Result<String, NoRos1Form> {
        let read = read_message(Dialect::Ros2, name, body.as_bytes()).unwrap();
        ros1_text(name, body, &read.types[name], ToOwned::to_owned)
    }

    #[test]
    fn lines_have_the_form_of_ros1() {
        for (line, due) in [
            ("# comment\n\n", ""),
            ("float64  x   1.5 # metres", "float64 x\n"),
            ("int32[<=5] n [1, 2]", "int32[] n\n"),
            ("int32[3] n", "int32[3] n\n"),
            ("string<=5 s \"a=b\"", "string s\n"),
            ("string<=5[<=2] s", "string[] s\n"),
            ("byte b#x", "byte b\n"),
            ("char c", "char c\n"),
            ("builtin_interfaces/Time stamp", "time stamp\n"),
            ("builtin_interfaces/msg/Duration[] d", "duration[] d\n"),
            ("std_msgs/msg/Header header", "std_msgs/Header header\n"),
            ("Other[] o", "pkg/Other[] o\n"),
            ("uint8 structure_needs_at_least_one_member", ""),
            ("uint8 A = 0x1F # mask", "uint8 A=31\n"),
            ("int8 A=-0x10", "int8 A=-16\n"),
            ("byte A=255", "byte A=-1\n"),
            ("bool A=true", "bool A=True\n"),
            ("float32 A=1e-3", "float32 A=1e-3\n"),
            ("wstring W=\"x\"", "string W=x\n"),
            ("string S=\"a # 'b'\"", "string S=a # 'b'\n"),
            ("string S='it\\'s'", "string S=it's\n"),
            ("string S=bare # why", "string S=bare\n"),
            ("string S='tis", "string S='tis\n"),
        ] {
            assert_eq!(text(line).as_deref(), Ok(due), "{line}");
        }
        for line in ["wstring w", "wstring<=3[] w", "wchar c"] {
            assert_eq!(text(line), Err(NoRos1Form::Wide("pkg/msg/T".to_owned())));
        }
    }

    #[test]
    fn types_of_the_time_package_are_built_in() {
        let body = "Time stamp\n";
        let text = text_of("builtin_interfaces/msg/Own", body);
        assert_eq!(text.as_deref(), Ok("time stamp\n"));
    }
}
