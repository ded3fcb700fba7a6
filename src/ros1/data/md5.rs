//! [`md5_of`]: the sum by which nodes of ROS 1 recognise the definition of a type.

use std::collections::BTreeMap;
use std::fmt::Write;

use md5::{Digest, Md5};

use crate::ros::{SchemaError, definition};

/// How deep types may be nested.
const DEEPEST: usize = 64;

/// The sum of a definition of encoding `ros1msg`, as hexadecimal digits.
///
/// # Errors
/// If the text is not a definition, lacks one that it refers to, or refers to itself.
pub fn md5_of(type_name: &str, text: &[u8]) -> Result<String, SchemaError> {
    let text = definition::text_of(text).ok_or(SchemaError::NoText)?;
    let root = definition::full_name(type_name)?;
    let (body, others) = definition::sections(&text)?;
    let mut bodies = BTreeMap::new();
    for (name, body) in &others {
        bodies.entry(name.as_str()).or_insert(body.as_str());
    }
    bodies.insert(&root, &body);
    let mut sums = Sums {
        bodies,
        known: BTreeMap::new(),
    };
    sums.of(&root, DEEPEST)
}

/// The sums of the types of one text.
struct Sums<'a> {
    bodies: BTreeMap<&'a str, &'a str>,
    known: BTreeMap<String, String>,
}

impl Sums<'_> {
    fn of(&mut self, name: &str, deepest: usize) -> Result<String, SchemaError> {
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        let missing = || SchemaError::Missing(name.to_owned());
        let body = *self.bodies.get(name).ok_or_else(missing)?;
        // A type that contains itself is too deep as well.
        let deeper = deepest.checked_sub(1).ok_or_else(missing)?;
        let (mut constants, mut fields) = (String::new(), String::new());
        for line in body.lines() {
            match line_of(name, line)? {
                None => {}
                Some(Line::Constant(kind, name, value)) => {
                    writeln!(constants, "{kind} {name}={value}")
                        .expect("a string takes everything");
                }
                Some(Line::Field(kind, field)) => {
                    let base = kind.split('[').next().unwrap_or(kind);
                    let sum = if is_builtin(base) {
                        kind.to_owned()
                    } else {
                        let nested = self.nested(name, base)?;
                        self.of(&nested, deeper)?
                    };
                    writeln!(fields, "{sum} {field}").expect("a string takes everything");
                }
            }
        }
        constants.push_str(&fields);
        let mut sum = String::new();
        for byte in Md5::digest(constants.trim()) {
            write!(sum, "{byte:02x}").expect("a string takes everything");
        }
        self.known.insert(name.to_owned(), sum.clone());
        Ok(sum)
    }

    /// The full name of a type that the definition of `inside` refers to.
    fn nested(&self, inside: &str, base: &str) -> Result<String, SchemaError> {
        if base == "Header" {
            let headers = definition::ROS1_HEADERS.into_iter();
            let mut known = headers.filter(|name| self.bodies.contains_key(name));
            if let Some(header) = known.next() {
                return Ok(header.to_owned());
            }
        }
        if base.contains('/') {
            return definition::full_name(base);
        }
        let package = inside.split('/').next().unwrap_or_default();
        definition::full_name(&format!("{package}/{base}"))
    }
}

/// A line of a definition.
enum Line<'a> {
    /// Its type, its name and the text of its value.
    Constant(&'a str, &'a str, &'a str),
    /// Its type and its name.
    Field(&'a str, &'a str),
}

fn line_of<'a>(definition: &str, line: &'a str) -> Result<Option<Line<'a>>, SchemaError> {
    let code = line.split('#').next().unwrap_or_default().trim();
    if code.is_empty() {
        return Ok(None);
    }
    let wrong = || SchemaError::Field {
        definition: definition.to_owned(),
        line: code.chars().take(120).collect(),
    };
    let (kind, rest) = code.split_once(char::is_whitespace).ok_or_else(wrong)?;
    let Some((name, value)) = rest.split_once('=') else {
        return Ok(Some(Line::Field(kind, rest.trim())));
    };
    let value = if kind == "string" {
        // The value of a text goes to the end of the line, whatever it contains.
        line.split_once('=').map_or("", |(_, value)| value)
    } else {
        value
    };
    Ok(Some(Line::Constant(kind, name.trim(), value.trim())))
}

fn is_builtin(base: &str) -> bool {
    matches!(
        base,
        "bool"
            | "byte"
            | "char"
            | "int8"
            | "uint8"
            | "int16"
            | "uint16"
            | "int32"
            | "uint32"
            | "int64"
            | "uint64"
            | "float32"
            | "float64"
            | "string"
            | "time"
            | "duration"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str =
        "================================================================================";

    #[test]
    fn sums_are_those_of_ros() {
        let log = format!(
            "byte DEBUG=1 #debug level\nbyte INFO=2  #general level\nbyte WARN=4\nbyte ERROR=8\nbyte FATAL=16\n\
                     Header header\nbyte level\nstring name # name of the node\nstring msg\nstring file\n\
                     string function\nuint32 line\nstring[] topics\n{RULE}\nMSG: std_msgs/Header\nuint32 seq\n\
                     time stamp\nstring frame_id\n"
        );
        for (name, text, sum) in [
            (
                "rosgraph_msgs/Clock",
                "# a comment\ntime clock\n",
                "a9c97c1d230cfc112e270351a944ee47",
            ),
            (
                "std_msgs/String",
                "string data",
                "992ce8a1687cec8c8bd883ec73ca41d1",
            ),
            ("std_msgs/Empty", "", "d41d8cd98f00b204e9800998ecf8427e"),
            (
                "std_msgs/Header",
                "uint32 seq\n#\ntime   stamp  # when\n\nstring frame_id\n",
                "2176decaecbce78abc3b96ef049fabed",
            ),
            (
                "rosgraph_msgs/Log",
                log.as_str(),
                "acffd30cd6b6de30f120938c17c593fb",
            ),
            (
                "turtlesim/Pose",
                "float32 x\nfloat32 y\nfloat32 theta\n\nfloat32 linear_velocity\nfloat32 angular_velocity",
                "863b248d5016ca62ea2e895ae5265cf9",
            ),
        ] {
            assert_eq!(md5_of(name, text.as_bytes()).unwrap(), sum, "{name}");
        }
    }

    #[test]
    fn a_definition_that_is_not_whole_has_no_sum() {
        let to_itself = format!("B b\n{RULE}\nMSG: p/B\nB[] b\n");
        for text in ["Other x\n", "int8\n", to_itself.as_str()] {
            assert!(md5_of("p/T", text.as_bytes()).is_err(), "{text}");
        }
    }
}
