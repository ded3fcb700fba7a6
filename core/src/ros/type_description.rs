//! The description of a type as ROS 2 programs exchange it: `type_description_interfaces/msg/TypeDescription`. The
//! type hash (RIHS01) is computed from it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::definition::{
    Array, BaseType, Definitions, Dialect, Field, Primitive, SchemaError, full_name, read_message,
    sections, text_of,
};

/// A type, and all types that it refers to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TypeDescription {
    /// The type.
    pub type_description: IndividualTypeDescription,
    /// All types that it refers to, directly or indirectly, sorted by name.
    pub referenced_type_descriptions: Vec<IndividualTypeDescription>,
}

/// One type: its name and its fields.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct IndividualTypeDescription {
    /// `package/msg/Name`.
    pub type_name: String,
    /// The fields, in the order of the definition; constants are none.
    pub fields: Vec<FieldDescription>,
}

/// A field of a type.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FieldDescription {
    /// Its name.
    pub name: String,
    /// Its type.
    pub field_type: FieldType,
    /// Always empty: default values are not read.
    pub default_value: String,
}

/// The type of a field, in the numbers of `type_description_interfaces/msg/FieldType`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FieldType {
    /// The base type; 48 more for an array of fixed size, 96 more for a bounded and 144 more for an unbounded sequence.
    pub type_id: u8,
    /// The size of the array, or the bound of the sequence.
    pub capacity: u64,
    /// The bound of a string, in bytes or in wide characters.
    pub string_capacity: u64,
    /// `package/msg/Name`, or empty.
    pub nested_type_name: String,
}

impl TypeDescription {
    /// The description of a message type, from its `ros2msg` schema text.
    pub fn read(name: &str, text: &[u8]) -> Result<Self, SchemaError> {
        Self::of(&read_message(Dialect::Ros2, name, text)?)
    }

    pub(super) fn of(definitions: &Definitions) -> Result<Self, SchemaError> {
        let describe = |name: &String| IndividualTypeDescription {
            type_name: name.clone(),
            fields: definitions.types[name].iter().map(describe_field).collect(),
        };
        let referenced = referenced_types(definitions)?;
        Ok(Self {
            type_description: describe(&definitions.root),
            referenced_type_descriptions: referenced.iter().map(describe).collect(),
        })
    }
}

/// The texts of the definitions in a `ros2msg` schema, by the names of their types: first the type itself, then all
/// that are defined besides, whether or not it refers to them.
pub fn definition_texts(name: &str, text: &[u8]) -> Result<Vec<(String, String)>, SchemaError> {
    let text = text_of(text).ok_or(SchemaError::NoText)?;
    let (root, others) = sections(&text)?;
    let mut texts = vec![(full_name(name)?, root)];
    texts.extend(others);
    Ok(texts)
}

fn describe_field(field: &Field) -> FieldDescription {
    FieldDescription {
        name: field.name.clone(),
        field_type: FieldType::of(field),
        default_value: String::new(),
    }
}

/// The names of all types that the root refers to, directly or indirectly, without the root.
fn referenced_types(definitions: &Definitions) -> Result<BTreeSet<String>, SchemaError> {
    let Definitions { root, types, .. } = definitions;
    let mut found = BTreeSet::new();
    let mut open = vec![root.clone()];
    while let Some(name) = open.pop() {
        let fields = types
            .get(&name)
            .ok_or_else(|| SchemaError::Missing(name.clone()))?;
        for field in fields {
            if let BaseType::Message(nested) = &field.base
                && nested != root
                && found.insert(nested.clone())
            {
                open.push(nested.clone());
            }
        }
    }
    Ok(found)
}

impl FieldType {
    fn of(field: &Field) -> Self {
        let (id, string_capacity, nested) = match &field.base {
            BaseType::Message(name) => (1, 0, name.as_str()),
            BaseType::Primitive(number) => (primitive_id(*number), 0, ""),
            BaseType::Text(None) => (17, 0, ""),
            BaseType::WideText(None) => (18, 0, ""),
            BaseType::Text(Some(bound)) => (21, *bound, ""),
            BaseType::WideText(Some(bound)) => (22, *bound, ""),
            BaseType::Stamp(_) => unreachable!("only definitions of ROS 1 have them"),
        };
        let (offset, capacity) = match field.array {
            Array::One => (0, 0),
            Array::Fixed(size) => (48, size),
            Array::Bounded(bound) => (96, bound),
            Array::Unbounded => (144, 0),
        };
        Self {
            type_id: id + offset,
            capacity,
            string_capacity,
            nested_type_name: nested.to_owned(),
        }
    }
}

fn primitive_id(number: Primitive) -> u8 {
    match number {
        Primitive::I8 => 2,
        Primitive::U8 => 3,
        Primitive::I16 => 4,
        Primitive::U16 => 5,
        Primitive::I32 => 6,
        Primitive::U32 => 7,
        Primitive::I64 => 8,
        Primitive::U64 => 9,
        Primitive::F32 => 10,
        Primitive::F64 => 11,
        Primitive::WideChar => 14,
        Primitive::Bool => 15,
        Primitive::Byte => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_types_have_the_numbers_of_rihs01() {
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
            let text = format!("{text} x");
            let read = read_message(Dialect::Ros2, "pkg/msg/Root", text.as_bytes()).unwrap();
            let kind = FieldType::of(&read.types["pkg/msg/Root"][0]);
            assert_eq!(
                (
                    kind.type_id,
                    kind.capacity,
                    kind.string_capacity,
                    &*kind.nested_type_name
                ),
                (id, capacity, string_capacity, nested),
                "{text}"
            );
        }
    }
}
