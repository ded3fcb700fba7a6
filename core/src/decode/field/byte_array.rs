//! [`ByteArray`]: reads an array of bytes as one slice.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::error::FieldError;
use super::json_field;
use super::path::ValuePath;
use super::ros::elements::Elements;
use super::value::FieldValue;
use crate::bag::Topic;
use crate::decode::decoded::Stop;
use crate::decode::decoder::{Method, method};
use crate::decode::non_ros::base64;
use crate::decode::non_ros::protobuf::contents::{Content, single};
use crate::decode::non_ros::protobuf::elements::misfit;
use crate::decode::non_ros::protobuf::layout::{Kind, ProtobufLayout, Shape};
use crate::decode::non_ros::protobuf::scalar::Scalar;
use crate::decode::non_ros::protobuf::wire::Slice;
use crate::decode::type_layout::{ElementType, TypeLayout};
use crate::ros::definition::{Array, Primitive};
use crate::untrusted::Foreign;

/// Reads the bytes of an array in the messages of one topic. The array is a field of the message itself, with elements
/// of one byte.
///
/// Such an array may have millions of elements; they are not copied and not visited one by one. JSON has it as text in
/// base64.
#[derive(Clone, Debug)]
pub struct ByteArray(Field);

/// The field, by its index in the message or by its name.
#[derive(Clone, Debug)]
enum Field {
    Ros(TypeLayout, usize),
    Protobuf(ProtobufLayout, usize),
    Json(ValuePath),
}

impl ByteArray {
    /// Finds the field `name` in the definition of the topic. An error if the topic has no definition, or the
    /// definition no such array. JSON has no definition that is used: its fields are found in each message.
    pub fn new(topic: &Topic, name: &str) -> Result<Self, FieldError> {
        let field = match method(topic).map_err(FieldError::definition)? {
            Method::Ros(layout) => {
                let mut fields = layout.messages[layout.root()].fields.iter();
                let field = fields.position(|field| {
                    let is_array = field.array != Array::One;
                    field.name == name && is_array && is_byte(field.element_type)
                });
                field.map(|field| Field::Ros(layout, field))
            }
            Method::Protobuf(layout) => {
                let mut fields = layout.root().fields.iter();
                let field = fields.position(|field| {
                    let is_one = matches!(field.shape, Shape::One | Shape::Optional);
                    field.name == name && is_one && field.kind == Kind::Scalar(Scalar::Bytes)
                });
                field.map(|field| Field::Protobuf(layout, field))
            }
            Method::Json => name.parse().ok().map(Field::Json),
        };
        field.map(Self).ok_or_else(|| {
            let name = Foreign::text(name);
            FieldError::Path(format!("the message has no array of bytes `{name}`"))
        })
    }

    /// The bytes in a message, borrowed from its payload unless that is JSON. An error if the payload does not have the
    /// type of the topic.
    pub fn read<'a>(&'a self, payload: &'a [u8]) -> Result<Cow<'a, [u8]>, FieldError> {
        let bytes = match &self.0 {
            Field::Ros(layout, field) => ros_bytes(layout, *field, payload).map(Cow::from),
            Field::Protobuf(layout, field) => {
                protobuf_bytes(layout, *field, payload).map(Cow::from)
            }
            Field::Json(path) => json_bytes(path, payload).map(Cow::from),
        };
        bytes.map_err(FieldError::from)
    }
}

fn ros_bytes<'a>(
    layout: &'a TypeLayout,
    field: usize,
    payload: &'a [u8],
) -> Result<&'a [u8], Stop> {
    let mut elements = Elements::of_payload(layout, payload)?;
    let fields = &layout.messages[layout.root()].fields;
    let (before, field) = (&fields[..field], &fields[field]);
    elements.skip_fields(before)?;
    let count = elements.count(field);
    count
        .and_then(|count| elements.bytes(count))
        .map_err(|stop| stop.in_field(&field.name))
}

fn protobuf_bytes<'a>(
    layout: &ProtobufLayout,
    field: usize,
    payload: &'a [u8],
) -> Result<&'a [u8], Stop> {
    let whole = Slice {
        bytes: payload,
        at: 0,
    };
    let field = &layout.root().fields[field];
    match single(layout.root(), field, &[whole])? {
        Some(Content::Value(written)) => {
            let slice = written.bytes();
            let slice = slice.ok_or_else(|| misfit(&field.name, written.at))?;
            Ok(slice.bytes)
        }
        // A field that is not written is empty.
        _ => Ok(&[]),
    }
}

fn json_bytes(path: &ValuePath, payload: &[u8]) -> Result<Vec<u8>, Stop> {
    // As in protobuf, a field that is not written is empty.
    let mut bytes = Some(Vec::new());
    json_field::read(path, payload, &mut |_, value| {
        bytes = match value {
            FieldValue::Text(text) => base64::bytes_of(&text),
            _ => None,
        };
        ControlFlow::Break(())
    })?;
    bytes.ok_or_else(|| Stop::Problem(format!("`{path}` is not text in base64")))
}

fn is_byte(element_type: ElementType) -> bool {
    matches!(
        element_type,
        ElementType::Primitive(Primitive::U8 | Primitive::I8 | Primitive::Byte)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::Schema;

    fn topic(encoding: &str, text: &str) -> Topic {
        Topic {
            name: "/t".to_owned(),
            schema: Some(Schema {
                name: "p/msg/T".to_owned(),
                encoding: if encoding == "cdr" {
                    "ros2msg"
                } else {
                    "ros1msg"
                }
                .to_owned(),
                data: text.to_owned().into(),
            }),
            encoding: encoding.to_owned(),
            offered_qos: Vec::new(),
            type_hash: None,
            ros1_md5: None,
            is_latched: false,
            message_count: None,
        }
    }

    #[test]
    fn the_bytes_of_an_array_are_one_slice() {
        let text = "string name\nuint8[] data\nuint8[2] pair\n";
        let body = [2, 0, 0, 0, b'x', 0];
        let cdr = [
            &[0, 1, 0, 0],
            &body[..],
            &[0, 0],
            &[3, 0, 0, 0, 7, 8, 9, 4, 5],
        ]
        .concat();
        let ros1 = [&[1, 0, 0, 0, b'x'][..], &[3, 0, 0, 0, 7, 8, 9, 4, 5]].concat();
        for (topic, payload) in [(topic("cdr", text), cdr), (topic("ros1", text), ros1)] {
            let data = ByteArray::new(&topic, "data").unwrap();
            assert_eq!(*data.read(&payload).unwrap(), [7, 8, 9]);
            let pair = ByteArray::new(&topic, "pair").unwrap();
            assert_eq!(*pair.read(&payload).unwrap(), [4, 5]);
            let error = data.read(&payload[..payload.len() - 3]).unwrap_err();
            assert!(error.to_string().contains("data"), "{error}");
        }
    }

    #[test]
    fn json_has_bytes_as_text() {
        let data = ByteArray::new(&topic("json", ""), "data").unwrap();
        let read = |text: &str| data.read(text.as_bytes()).map(Cow::into_owned);
        assert_eq!(read(r#"{"a":1,"data":"BwgJ","b":2}"#).unwrap(), [7, 8, 9]);
        assert_eq!(read("{}").unwrap(), b"");
        for text in [r#"{"data":7}"#, r#"{"data":"no base64"}"#] {
            let error = read(text).unwrap_err().to_string();
            assert_eq!(error, "`data` is not text in base64");
        }
        assert!(read(r#"{"data":[7]}"#).is_err() && read("data").is_err());
    }

    #[test]
    fn other_fields_are_refused() {
        let topic = topic("cdr", "uint8 data\nuint16[] numbers\nstring text\n");
        for name in ["data", "numbers", "text", "none"] {
            let error = ByteArray::new(&topic, name).unwrap_err().to_string();
            assert_eq!(error, format!("the message has no array of bytes `{name}`"));
        }
    }
}
