//! Parses message definitions: MCAP schemas of the encodings `ros2msg` and `ros1msg`.
//!
//! Used by `decode` to decode messages, and by `wire` for type hashes. The text is untrusted: its size is bounded, the
//! work is linear in its size, and names are checked. There is no recursion, so cycles and depth are harmless here.

use std::collections::{BTreeMap, BTreeSet};

use super::field::{Array, BaseType, Dialect, Field, Primitive, Ros1Stamp};
use super::text::text_of;
use crate::untrusted::Foreign;

/// The longest definition that is parsed. Real definitions have kilobytes.
const MAX_BYTES: usize = 4 << 20;
/// The longest type name, in bytes. Each field of a definition can repeat its package.
const MAX_NAME: usize = 255;
/// The field that replaces an empty field list: in DDS no message is empty.
pub(crate) const PLACEHOLDER: &str = "structure_needs_at_least_one_member";

/// The name of headers, and the one that they had in the first releases of ROS 1.
pub const ROS1_HEADERS: [&str; 2] = ["std_msgs/msg/Header", "roslib/msg/Header"];

/// A name or line of a definition, for display.
pub(crate) fn name(text: &str) -> Foreign<'_> {
    Foreign::text(text).at_most(100)
}

/// Why a definition cannot be parsed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SchemaError {
    /// The text is empty, or not UTF-8 outside its comments.
    #[error("the schema is empty or not UTF-8")]
    NoText,
    /// It is too large to be a message definition.
    #[error("the schema has {0} bytes, too many for a message definition")]
    TooLarge(usize),
    /// A type name is not valid.
    #[error("`{}` is not a type name", name(.0))]
    TypeName(String),
    /// A line is not a field.
    #[error("`{}` in {} is not a field", name(line), name(definition))]
    Field {
        /// The definition.
        definition: String,
        /// The line.
        line: String,
    },
    /// A type is referred to but not defined.
    #[error("{} is referred to but not defined in the schema", name(.0))]
    Missing(String),
}

/// A schema: all its definitions by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definitions {
    /// The message that the schema is for.
    pub(crate) root: String,
    /// The fields of each message, by the name of its type, `package/msg/Name`.
    pub types: BTreeMap<String, Vec<Field>>,
    /// Whether a bare `Header` was taken for `std_msgs/msg/Header`. That is its meaning in ROS 1; in ROS 2 it refers to
    /// the package of the definition.
    pub(crate) is_header_guessed: bool,
}

/// Parses the schema of a message.
pub fn read_message(dialect: Dialect, name: &str, text: &[u8]) -> Result<Definitions, SchemaError> {
    let text = &text_of(text).ok_or(SchemaError::NoText)?;
    let root = full_name(name)?;
    // For events of service introspection, a recorder writes the text of the service itself.
    if let Some(service) = root.strip_suffix("_Event")
        && root.contains("/srv/")
        && text.lines().any(|line| line.trim() == "---")
    {
        let types = service_types(service, text)?;
        return Ok(finish(root, types));
    }
    let (body, others) = sections(text)?;
    let mut types = types(dialect, others)?;
    types.insert(root.clone(), fields(dialect, &root, &body)?);
    Ok(finish(root, types))
}

/// Parses the definitions of a service: the text of its `.srv` file, then the messages it refers to, separated by lines
/// of 80 `=`.
#[cfg_attr(
    not(feature = "type-hashes"),
    expect(dead_code, reason = "only hashes need it")
)]
pub(crate) fn read_service(name: &str, text: &[u8]) -> Result<Definitions, SchemaError> {
    let text = &text_of(text).ok_or(SchemaError::NoText)?;
    let root = full_name(name)?;
    let types = service_types(&root, text)?;
    Ok(finish(root, types))
}

type Types = BTreeMap<String, Vec<Field>>;

fn service_types(root: &str, text: &str) -> Result<Types, SchemaError> {
    const EVENT_INFO: &str = "uint8 event_type\nbuiltin_interfaces/Time stamp\nchar[16] client_gid\nint64 sequence_number\n";
    const TIME: &str = "int32 sec\nuint32 nanosec\n";
    let ros2 = Dialect::Ros2;
    let (body, others) = sections(text)?;
    let cut = body
        .lines()
        .position(|line| line.trim() == "---")
        .ok_or(SchemaError::NoText)?;
    let request: String = body
        .lines()
        .take(cut)
        .flat_map(|line| [line, "\n"])
        .collect();
    let response: String = body
        .lines()
        .skip(cut + 1)
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut types = types(ros2, others)?;
    for (name, text) in [
        ("service_msgs/msg/ServiceEventInfo", EVENT_INFO),
        ("builtin_interfaces/msg/Time", TIME),
    ] {
        types.insert(name.to_owned(), fields(ros2, name, text)?);
    }
    let part = |suffix: &str| format!("{root}_{suffix}");
    let one = |name: &str, message: String| nested(name, Array::One, message);
    let some = |name: &str, message: String| nested(name, Array::Bounded(1), message);
    types.insert(part("Request"), fields(ros2, root, &request)?);
    types.insert(part("Response"), fields(ros2, root, &response)?);
    types.insert(
        part("Event"),
        vec![
            one("info", "service_msgs/msg/ServiceEventInfo".to_owned()),
            some("request", part("Request")),
            some("response", part("Response")),
        ],
    );
    types.insert(
        root.to_owned(),
        vec![
            one("request_message", part("Request")),
            one("response_message", part("Response")),
            one("event_message", part("Event")),
        ],
    );
    Ok(types)
}

fn nested(name: &str, array: Array, message: String) -> Field {
    Field {
        name: name.to_owned(),
        base: BaseType::Message(message),
        array,
    }
}

fn types(dialect: Dialect, sections: Vec<(String, String)>) -> Result<Types, SchemaError> {
    let mut types = Types::new();
    for (name, body) in sections {
        let read = fields(dialect, &name, &body)?;
        types.entry(name).or_insert(read);
    }
    Ok(types)
}

fn finish(root: String, mut types: Types) -> Definitions {
    let is_header_guessed = guess_header(&mut types);
    Definitions {
        root,
        types,
        is_header_guessed,
    }
}

/// Takes `pkg/msg/Header` for `std_msgs/msg/Header` if only the latter is defined, or for the name that it had in the
/// first releases of ROS 1.
fn guess_header(types: &mut Types) -> bool {
    let header = ROS1_HEADERS
        .into_iter()
        .find(|name| types.contains_key(*name));
    let Some(header) = header else {
        return false;
    };
    let defined: BTreeSet<String> = types.keys().cloned().collect();
    let mut is_guessed = false;
    for field in types.values_mut().flatten() {
        if let BaseType::Message(name) = &mut field.base
            && name.ends_with("/msg/Header")
            && !defined.contains(name)
        {
            header.clone_into(name);
            is_guessed = true;
        }
    }
    is_guessed
}

/// `package/msg/Name` from the same or from `package/Name`; other kinds (`srv`, `action`) are kept.
pub fn full_name(name: &str) -> Result<String, SchemaError> {
    let parts: Vec<&str> = name.split('/').collect();
    if name.len() > MAX_NAME || !parts.iter().all(|part| is_word(part)) {
        return Err(SchemaError::TypeName(name.to_owned()));
    }
    match parts[..] {
        [package, name] => Ok(format!("{package}/msg/{name}")),
        [_, "msg" | "srv" | "action", _] => Ok(name.to_owned()),
        _ => Err(SchemaError::TypeName(name.to_owned())),
    }
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The definitions in a schema: the first without a name, then each with the name above it.
pub fn sections(text: &str) -> Result<(String, Vec<(String, String)>), SchemaError> {
    if text.len() > MAX_BYTES {
        return Err(SchemaError::TooLarge(text.len()));
    }
    let is_rule = |line: &str| line.len() >= 80 && line.bytes().all(|byte| byte == b'=');
    let mut root = String::new();
    let mut others: Vec<(String, String)> = Vec::new();
    let mut lines = text.lines().map(str::trim_end);
    while let Some(line) = lines.next() {
        if is_rule(line) {
            let head = lines.next().unwrap_or_default().trim();
            let name = head
                .strip_prefix("MSG:")
                .ok_or_else(|| SchemaError::TypeName(head.to_owned()))?;
            others.push((full_name(name.trim())?, String::new()));
            continue;
        }
        let body = others.last_mut().map_or(&mut root, |(_, body)| body);
        body.push_str(line);
        body.push('\n');
    }
    Ok((root, others))
}

/// The fields of one definition. A bare type name refers to the package of the definition.
fn fields(dialect: Dialect, definition: &str, text: &str) -> Result<Vec<Field>, SchemaError> {
    let mut fields = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = || SchemaError::Field {
            definition: definition.to_owned(),
            line: line.chars().take(120).collect(),
        };
        let (kind, rest) = line.split_once(char::is_whitespace).ok_or_else(wrong)?;
        let rest = rest.trim_start();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let is_constant = after.trim_start().starts_with('=');
        let is_separated =
            after.is_empty() || after.starts_with(char::is_whitespace) || is_constant;
        if name.is_empty() || !is_separated {
            return Err(wrong());
        }
        if !is_constant {
            let (base, array) = field_type(dialect, definition, kind).ok_or_else(wrong)?;
            let name = name.to_owned();
            fields.push(Field { name, base, array });
        }
    }
    if fields.is_empty() && dialect == Dialect::Ros2 {
        fields.push(Field {
            name: PLACEHOLDER.to_owned(),
            base: BaseType::Primitive(Primitive::U8),
            array: Array::One,
        });
    }
    Ok(fields)
}

/// `BASE[<=N][ARRAY]`
fn field_type(dialect: Dialect, definition: &str, text: &str) -> Option<(BaseType, Array)> {
    let (base, array) = match text.split_once('[') {
        Some((base, array)) => (base, Some(array.strip_suffix(']')?)),
        None => (text, None),
    };
    let array = match array {
        None => Array::One,
        Some("") => Array::Unbounded,
        Some(size) => match size.strip_prefix("<=") {
            Some(bound) => Array::Bounded(bound.parse().ok()?),
            None => Array::Fixed(size.parse().ok()?),
        },
    };
    let (base, bound) = match base.split_once("<=") {
        Some((base, bound)) => (base, Some(bound.parse::<u64>().ok()?)),
        None => (base, None),
    };
    let base = match (base, bound) {
        ("string", bound) => BaseType::Text(bound),
        ("wstring", bound) if dialect == Dialect::Ros2 => BaseType::WideText(bound),
        (_, Some(_)) => return None,
        ("time", None) if dialect != Dialect::Ros2 => BaseType::Stamp(Ros1Stamp::Time),
        ("duration", None) if dialect != Dialect::Ros2 => BaseType::Stamp(Ros1Stamp::Duration),
        (base, None) => match Primitive::named(dialect, base) {
            Some(number) => BaseType::Primitive(number),
            None => BaseType::Message(nested_name(definition, base)?),
        },
    };
    Some((base, array))
}

fn nested_name(definition: &str, base: &str) -> Option<String> {
    if base.contains('/') {
        return full_name(base).ok();
    }
    let (package, _) = definition.split_once('/')?;
    is_word(base).then(|| format!("{package}/msg/{base}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_types_are_read_in_either_dialect() {
        let message = |name: &str| BaseType::Message(name.to_owned());
        let number = BaseType::Primitive;
        let (ros1, ros2) = (Dialect::Ros1, Dialect::Ros2);
        for (dialect, text, base, array) in [
            (ros2, "char", number(Primitive::U8), Array::One),
            (ros1, "char", number(Primitive::U8), Array::One),
            (ros2, "byte[4]", number(Primitive::Byte), Array::Fixed(4)),
            (ros1, "byte[4]", number(Primitive::I8), Array::Fixed(4)),
            (
                Dialect::Ros1ForRos2,
                "byte",
                number(Primitive::Byte),
                Array::One,
            ),
            (
                Dialect::Ros1ForRos2,
                "time",
                BaseType::Stamp(Ros1Stamp::Time),
                Array::One,
            ),
            (
                ros2,
                "int32[<=5]",
                number(Primitive::I32),
                Array::Bounded(5),
            ),
            (ros1, "time", BaseType::Stamp(Ros1Stamp::Time), Array::One),
            (
                ros1,
                "duration[]",
                BaseType::Stamp(Ros1Stamp::Duration),
                Array::Unbounded,
            ),
            (ros2, "time", message("pkg/msg/time"), Array::One),
            (
                ros2,
                "wstring<=3[<=2]",
                BaseType::WideText(Some(3)),
                Array::Bounded(2),
            ),
            (ros1, "wstring", message("pkg/msg/wstring"), Array::One),
            (
                ros1,
                "std_msgs/Header",
                message("std_msgs/msg/Header"),
                Array::One,
            ),
        ] {
            let read = field_type(dialect, "pkg/msg/Root", text);
            assert_eq!(read, Some((base, array)), "{text}");
        }
    }

    #[test]
    fn a_long_type_name_is_refused() {
        let name = format!("p/{}", "a".repeat(MAX_NAME - 2));
        assert!(full_name(&name).is_ok());
        assert!(full_name(&format!("{name}a")).is_err());
    }

    #[test]
    fn an_invalid_field_type_is_refused() {
        for text in [
            "int32<=4",
            "a/b/c/d",
            "string<=x",
            "uint8[",
            "uint8[]]",
            "uint8[-1]",
            "a-b",
            "",
        ] {
            assert_eq!(
                field_type(Dialect::Ros2, "pkg/msg/Root", text),
                None,
                "{text}"
            );
        }
    }

    #[test]
    fn a_bare_header_of_ros1_is_std_msgs_header() {
        let text = format!(
            "Header header\n{}\nMSG: std_msgs/Header\nuint32 seq\n",
            "=".repeat(80)
        );
        let read = read_message(Dialect::Ros1, "p/T", text.as_bytes()).unwrap();
        assert_eq!(read.root, "p/msg/T");
        let base = &read.types["p/msg/T"][0].base;
        assert_eq!(*base, BaseType::Message("std_msgs/msg/Header".to_owned()));
        assert!(
            read_message(Dialect::Ros1, "p/T", b"# nothing\n")
                .unwrap()
                .types["p/msg/T"]
                .is_empty()
        );
    }

    #[test]
    fn constants_are_not_fields_and_defaults_are_ignored() {
        let text =
            "uint8 A=1\nstring B = \"x # y\"\nint32 c 5 # five\nstring d \"a=b\"\n\n# note\n";
        let names: Vec<String> = fields(Dialect::Ros2, "p/msg/T", text)
            .unwrap()
            .into_iter()
            .map(|field| field.name)
            .collect();
        assert_eq!(names, ["c", "d"]);
        for bad in ["int32", "int32 a-b", "int32 \"x\""] {
            assert!(fields(Dialect::Ros2, "p/msg/T", bad).is_err(), "{bad}");
        }
    }
}
