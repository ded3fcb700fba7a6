//! [`constants_at`]: the constants by which the values of a field may be named.

use super::path::{Part, ValuePath};
use super::value::FieldValue;
use crate::bag::Topic;
use crate::decode::decoder::dialect;
use crate::ros::constants::{ConstantValue, known_constants, read_constants};
use crate::ros::message_definition::{BaseType, read_message};

/// The constants that a message type defines.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeConstants {
    /// The name of the type, `package/msg/Name`.
    pub type_name: String,
    /// Names and values, in the order of the definition.
    pub constants: Vec<(String, FieldValue<'static>)>,
}

/// The constants in the recorded definition of a topic that belong to a field: those of the message that has the field,
/// then those of the messages around it. Empty for JSON and for definitions that are not read. Some recorders leave out
/// constants; the levels of logs and diagnostics are known without them.
pub fn constants_at(topic: &Topic, path: &ValuePath) -> Vec<TypeConstants> {
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

impl From<ConstantValue> for FieldValue<'static> {
    fn from(value: ConstantValue) -> Self {
        match value {
            ConstantValue::Bool(value) => Self::Bool(value),
            ConstantValue::Integer(value) => Self::Integer(value),
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
}
