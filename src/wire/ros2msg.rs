//! ROS 2 message definitions, as MCAP schemas of encoding `ros2msg` hold them, read for their type hash.
//!
//! The text is foreign: its size is bounded, the work is linear in it, a name must be a name. Nothing
//! recurses, so cycles and depth cost nothing.

use std::collections::BTreeMap;

/// Definitions are kilobytes; what is larger is no definition.
const LARGEST: usize = 4 << 20;

/// Why a definition cannot be hashed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SchemaError {
    /// There is no text, or it is no text.
    #[error("the schema is empty or no text")]
    NoText,
    /// It is too large to be a message definition.
    #[error("the schema has {0} bytes, too many for a message definition")]
    TooLarge(usize),
    /// A type name that is none.
    #[error("`{0}` is not a type name")]
    TypeName(String),
    /// A line that is no field.
    #[error("`{line}` in {definition} is not a field")]
    Field {
        /// The definition.
        definition: String,
        /// The line.
        line: String,
    },
    /// A type that is referred to and not defined.
    #[error("{0} is referred to but not defined in the schema")]
    Missing(String),
}

/// The type of a field, in the numbers of RIHS01.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FieldType {
    pub(super) id: u8,
    pub(super) capacity: u64,
    pub(super) string_capacity: u64,
    /// `package/msg/Name`, or empty.
    pub(super) nested: String,
}

/// A field of a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: FieldType,
}

/// All definitions of a schema by name.
pub(super) type Definitions = BTreeMap<String, Vec<Field>>;

/// What a definition without fields has in its place: no message is empty in DDS.
pub(super) fn placeholder() -> Field {
    Field {
        name: "structure_needs_at_least_one_member".to_owned(),
        kind: FieldType {
            id: 3,
            capacity: 0,
            string_capacity: 0,
            nested: String::new(),
        },
    }
}

/// `package/msg/Name` from itself or from `package/Name`; other kinds (`srv`, `action`) stay.
pub(super) fn full_name(name: &str) -> Result<String, SchemaError> {
    let parts: Vec<&str> = name.split('/').collect();
    if !parts.iter().all(|part| is_word(part)) {
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

/// The definition texts of a schema: the first without a name, then each with the name it carries.
pub(super) fn sections(text: &str) -> Result<(String, Vec<(String, String)>), SchemaError> {
    if text.len() > LARGEST {
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

/// The fields of one definition. A bare type belongs to the definition's own package.
pub(super) fn fields(definition: &str, text: &str) -> Result<Vec<Field>, SchemaError> {
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
            fields.push(Field {
                name: name.to_owned(),
                kind: field_type(definition, kind).ok_or_else(wrong)?,
            });
        }
    }
    if fields.is_empty() {
        fields.push(placeholder());
    }
    Ok(fields)
}

/// `BASE[<=N][ARRAY]` in the numbers of RIHS01.
fn field_type(definition: &str, text: &str) -> Option<FieldType> {
    let (base, array) = match text.split_once('[') {
        Some((base, array)) => (base, Some(array.strip_suffix(']')?)),
        None => (text, None),
    };
    let (offset, capacity) = match array {
        None => (0, 0),
        Some("") => (144, 0),
        Some(size) => match size.strip_prefix("<=") {
            Some(bound) => (96, bound.parse().ok()?),
            None => (48, size.parse().ok()?),
        },
    };
    let (base, bound) = match base.split_once("<=") {
        Some((base, bound)) => (base, Some(bound.parse::<u64>().ok()?)),
        None => (base, None),
    };
    let (id, nested) = match (base, bound) {
        ("string", Some(_)) => (21, String::new()),
        ("wstring", Some(_)) => (22, String::new()),
        (_, Some(_)) => return None,
        (base, None) => match primitive(base) {
            Some(id) => (id, String::new()),
            None => (1, nested_name(definition, base)?),
        },
    };
    Some(FieldType {
        id: id + offset,
        capacity,
        string_capacity: bound.unwrap_or(0),
        nested,
    })
}

fn nested_name(definition: &str, base: &str) -> Option<String> {
    if base.contains('/') {
        return full_name(base).ok();
    }
    let (package, _) = definition.split_once('/')?;
    is_word(base).then(|| format!("{package}/msg/{base}"))
}

/// A `.msg` file's `char` is a `uint8`; character types of their own come only from IDL.
fn primitive(base: &str) -> Option<u8> {
    Some(match base {
        "int8" => 2,
        "uint8" | "char" => 3,
        "int16" => 4,
        "uint16" => 5,
        "int32" => 6,
        "uint32" => 7,
        "int64" => 8,
        "uint64" => 9,
        "float32" => 10,
        "float64" => 11,
        "wchar" => 14,
        "bool" => 15,
        "byte" => 16,
        "string" => 17,
        "wstring" => 18,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<(u8, u64, u64, String)> {
        field_type("pkg/msg/Root", text)
            .map(|kind| (kind.id, kind.capacity, kind.string_capacity, kind.nested))
    }

    #[test]
    fn field_types_have_their_numbers() {
        for (text, id, capacity, string_capacity, nested) in [
            ("bool", 15, 0, 0, ""),
            ("char", 3, 0, 0, ""),
            ("byte[4]", 64, 4, 0, ""),
            ("float64[9]", 59, 9, 0, ""),
            ("int32[<=5]", 102, 5, 0, ""),
            ("uint8[]", 147, 0, 0, ""),
            ("string<=10", 21, 0, 10, ""),
            ("wstring<=3[<=2]", 118, 2, 3, ""),
            ("Other[]", 145, 0, 0, "pkg/msg/Other"),
            ("std_msgs/Header", 1, 0, 0, "std_msgs/msg/Header"),
            ("a/srv/X_Request[<=1]", 97, 1, 0, "a/srv/X_Request"),
        ] {
            assert_eq!(
                kind(text),
                Some((id, capacity, string_capacity, nested.to_owned())),
                "{text}"
            );
        }
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
            assert_eq!(kind(text), None, "{text}");
        }
    }

    #[test]
    fn constants_and_defaults_are_no_fields() {
        let text =
            "uint8 A=1\nstring B = \"x # y\"\nint32 c 5 # five\nstring d \"a=b\"\n\n# note\n";
        let names: Vec<String> = fields("p/msg/T", text)
            .unwrap()
            .into_iter()
            .map(|field| field.name)
            .collect();
        assert_eq!(names, ["c", "d"]);
        for bad in ["int32", "int32 a-b", "int32 \"x\""] {
            assert!(fields("p/msg/T", bad).is_err(), "{bad}");
        }
    }
}
