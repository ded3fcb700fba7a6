//! [`constants_at`] and [`value_names`]: the constants by which the values of a field may be named.

use std::collections::BTreeMap;

use super::path::{Part, ValuePath};
use super::protobuf::path::ProtobufPath;
use super::value::FieldValue;
use crate::bag::Topic;
use crate::decode::decoder::{dialect, protobuf_layout};
use crate::decode::non_ros::protobuf::layout::EnumType;
use crate::ros::definition::{
    BaseType, ConstantValue, Primitive, known_constants, read_constants, read_message,
};

/// The constants that a message type defines, or an enum of protobuf.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeConstants {
    /// The name of the type, `package/msg/Name` or `package.Name`.
    pub type_name: String,
    /// Names and values, in the order of the definition.
    pub constants: Vec<(String, FieldValue<'static>)>,
}

/// The constants in the recorded definition of a topic that belong to a field: those of the message that has the field,
/// then those of the messages around it. In protobuf, those of the enum of the field. Empty for JSON and for
/// definitions that are not read. Some recorders leave out constants; the levels of logs and diagnostics are known
/// without them.
pub fn constants_at(topic: &Topic, path: &ValuePath) -> Vec<TypeConstants> {
    if let Some(found) = enum_at(topic, path) {
        let constants = found.constants.into_iter();
        return vec![TypeConstants {
            type_name: found.name,
            constants: constants
                .map(|(name, value)| (name, FieldValue::Integer(value.into())))
                .collect(),
        }];
    }
    let Some((schema, (dialect, _))) = topic.schema.as_ref().zip(dialect(topic)) else {
        return Vec::new();
    };
    let Ok(definitions) = read_message(dialect, &schema.name, &schema.data) else {
        return Vec::new();
    };
    let mut around = vec![definitions.root.as_str()];
    let names = path.parts().iter().filter_map(|part| match part {
        Part::Name(name) => Some(name),
        Part::Index(_) | Part::Every => None,
    });
    for name in names {
        let fields = around.last().and_then(|name| definitions.types.get(*name));
        let field = fields.and_then(|fields| fields.iter().find(|field| field.name == *name));
        let Some(BaseType::Message(inner)) = field.map(|field| &field.base) else {
            break;
        };
        around.push(inner);
    }
    let mut defined = read_constants(dialect, &schema.name, &schema.data);
    let around = around.into_iter().rev();
    let of_type = around.filter_map(|name| {
        let constants = defined.remove(name).or_else(|| known_constants(name))?;
        Some((name, constants))
    });
    of_type
        .map(|(name, constants)| TypeConstants {
            type_name: name.to_owned(),
            constants: constants
                .into_iter()
                .map(|(name, value)| (name, FieldValue::from(value)))
                .collect(),
        })
        .collect()
}

/// The names of the values of an integer field: the constants of its message whose type has the size of the type of the
/// field; if some begin with the name of the field (`STATUS_FIX` for `status`), only these. A value with several names
/// has none. In protobuf, the constants of its enum. Empty for other fields, and where [`constants_at`] is.
pub fn value_names(topic: &Topic, path: &ValuePath) -> Vec<(i128, String)> {
    if let Some(found) = enum_at(topic, path) {
        let constants = found.constants.into_iter();
        return only_names(
            constants
                .map(|(name, value)| (value.into(), name))
                .collect(),
        );
    }
    let Some((schema, (dialect, _))) = topic.schema.as_ref().zip(dialect(topic)) else {
        return Vec::new();
    };
    let Ok(definitions) = read_message(dialect, &schema.name, &schema.data) else {
        return Vec::new();
    };
    let mut message = definitions.root.as_str();
    let mut names = path.parts().iter().filter_map(|part| match part {
        Part::Name(name) => Some(name),
        Part::Index(_) | Part::Every => None,
    });
    let Some((name, size)) = names.find_map(|name| {
        let fields = definitions.types.get(message)?;
        match &fields.iter().find(|field| field.name == *name)?.base {
            BaseType::Message(inner) => {
                message = inner;
                None
            }
            BaseType::Primitive(primitive) => Some((name, integer_size(*primitive)?)),
            _ => None,
        }
    }) else {
        return Vec::new();
    };
    let mut defined = read_constants(dialect, &schema.name, &schema.data);
    let constants = defined
        .remove(message)
        .or_else(|| known_constants(message))
        .unwrap_or_default();
    let prefix = format!("{}_", name.to_uppercase());
    let is_of_field = |name: &str| name.starts_with(&prefix);
    let mut fitting: Vec<(i128, String)> = constants
        .into_iter()
        .filter_map(|(name, value)| match value {
            ConstantValue::Integer { value, bytes } if bytes == size => Some((value, name)),
            _ => None,
        })
        .collect();
    if fitting.iter().any(|(_, name)| is_of_field(name)) {
        fitting.retain(|(_, name)| is_of_field(name));
    }
    only_names(fitting)
}

/// Without the values that have several names.
fn only_names(mut named: Vec<(i128, String)>) -> Vec<(i128, String)> {
    let mut counts: BTreeMap<i128, usize> = BTreeMap::new();
    for (value, _) in &named {
        *counts.entry(*value).or_default() += 1;
    }
    named.retain(|(value, _)| counts.get(value) == Some(&1));
    named
}

/// The enum of a field of protobuf.
fn enum_at(topic: &Topic, path: &ValuePath) -> Option<EnumType> {
    let layout = protobuf_layout(topic)?;
    let path = ProtobufPath::new(&layout, path).ok()?;
    path.enumeration(&layout).cloned()
}

fn integer_size(primitive: Primitive) -> Option<u8> {
    Some(match primitive {
        Primitive::Byte | Primitive::I8 | Primitive::U8 => 1,
        Primitive::I16 | Primitive::U16 => 2,
        Primitive::I32 | Primitive::U32 => 4,
        Primitive::I64 | Primitive::U64 => 8,
        _ => return None,
    })
}

impl From<ConstantValue> for FieldValue<'static> {
    fn from(value: ConstantValue) -> Self {
        match value {
            ConstantValue::Bool(value) => Self::Bool(value),
            ConstantValue::Integer { value, .. } => Self::Integer(value),
            ConstantValue::Float(value) => Self::Float64(value),
            ConstantValue::Text(value) => Self::Text(value.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::Schema;

    #[test]
    fn constants_are_those_of_the_message_and_of_those_around_it() {
        let rule = "=".repeat(80);
        let text = format!(
            "byte OUTER=7\nbyte WARN=9\nStatus[] status\nstring name\n{rule}\nMSG: p/Status\n\
             byte OK=0\nbyte WARN=1\nbyte level\n{rule}\nMSG: p/Unused\nbyte OTHER=1\nbyte x\n"
        );
        let topic = |encoding: &str| Topic {
            name: "/t".to_owned(),
            schema: Some(Schema {
                name: "p/msg/T".to_owned(),
                encoding: encoding.to_owned(),
                data: text.clone().into(),
            }),
            encoding: "cdr".to_owned(),
            offered_qos: Vec::new(),
            type_hash: None,
            ros1_md5: None,
            is_latched: false,
            message_count: None,
        };
        let found = |path: &str| {
            let found = constants_at(&topic("ros2msg"), &path.parse().unwrap());
            let shown = |of: &TypeConstants| {
                let all = of.constants.iter();
                let all: Vec<_> = all.map(|(name, value)| format!("{name}={value}")).collect();
                format!("{}: {}", of.type_name, all.join(" "))
            };
            found.iter().map(shown).collect::<Vec<_>>()
        };
        let (inner, outer) = ("p/msg/Status: OK=0 WARN=1", "p/msg/T: OUTER=7 WARN=9");
        assert_eq!(found("status[*].level"), [inner, outer]);
        assert_eq!(found("name"), [outer]);
        assert_eq!(found("missing.x"), [outer]);
        assert_eq!(constants_at(&topic("ros2idl"), &"x".parse().unwrap()), []);
    }

    #[test]
    fn values_are_named_by_constants_of_the_size_of_their_field() {
        let text = "byte OK=0\nbyte WARN=1\nint8 STATUS_NONE=-1\nint8 STATUS_FIX=0\nuint16 SERVICE_GPS=1\n\
                    uint16 A=2\nuint16 B=2\nuint16 C=3\nint8 status\nuint8 level\nuint16 service\nuint32 line\n\
                    uint16 mode\nfloat32 x\nstring name";
        let topic = Topic {
            name: "/t".to_owned(),
            schema: Some(Schema {
                name: "p/msg/T".to_owned(),
                encoding: "ros2msg".to_owned(),
                data: text.into(),
            }),
            encoding: "cdr".to_owned(),
            offered_qos: Vec::new(),
            type_hash: None,
            ros1_md5: None,
            is_latched: false,
            message_count: None,
        };
        let names = |path: &str| {
            let found = value_names(&topic, &path.parse().unwrap());
            let shown = found.iter().map(|(value, name)| format!("{value}={name}"));
            shown.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("status"), "-1=STATUS_NONE 0=STATUS_FIX");
        // Zero has two names of this size.
        assert_eq!(names("level"), "1=WARN -1=STATUS_NONE");
        assert_eq!(names("service"), "1=SERVICE_GPS");
        assert_eq!(names("mode"), "1=SERVICE_GPS 3=C");
        assert_eq!([names("line"), names("x"), names("name")], ["", "", ""]);
    }
}
