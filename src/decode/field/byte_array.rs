//! [`ByteArray`]: reads an array of bytes as one slice.

use super::error::FieldError;
use super::ros::elements::Elements;
use crate::bag::Topic;
use crate::decode::decoded::Stop;
use crate::decode::decoder::{Method, method};
use crate::decode::non_ros::protobuf::contents::{Content, single};
use crate::decode::non_ros::protobuf::elements::misfit;
use crate::decode::non_ros::protobuf::layout::{Kind, ProtobufLayout, Shape};
use crate::decode::non_ros::protobuf::scalar::Scalar;
use crate::decode::non_ros::protobuf::wire::Slice;
use crate::decode::type_layout::{ElementType, TypeLayout};
use crate::ros::message_definition::{Array, Primitive};
use crate::untrusted::Foreign;

/// Reads the bytes of an array in the messages of one topic. The array is a field of the message itself, with elements
/// of one byte.
///
/// Such an array may have millions of elements; they are not copied and not visited one by one.
#[derive(Clone, Debug)]
pub struct ByteArray {
    layout: Layout,
    /// The index of the field in the message.
    field: usize,
}

#[derive(Clone, Debug)]
enum Layout {
    Ros(TypeLayout),
    Protobuf(ProtobufLayout),
}

impl ByteArray {
    /// Finds the field `name` in the definition of the topic. An error if the topic has no definition, or the
    /// definition no such array.
    pub fn new(topic: &Topic, name: &str) -> Result<Self, FieldError> {
        let (layout, field) = match method(topic).map_err(FieldError::definition)? {
            Method::Ros(layout) => {
                let mut fields = layout.messages[layout.root()].fields.iter();
                let field = fields.position(|field| {
                    let is_array = field.array != Array::One;
                    field.name == name && is_array && is_byte(field.element_type)
                });
                (Layout::Ros(layout), field)
            }
            Method::Protobuf(layout) => {
                let mut fields = layout.root().fields.iter();
                let field = fields.position(|field| {
                    let is_one = matches!(field.shape, Shape::One | Shape::Optional);
                    field.name == name && is_one && field.kind == Kind::Scalar(Scalar::Bytes)
                });
                (Layout::Protobuf(layout), field)
            }
            Method::Json => {
                let problem = "JSON has no arrays of bytes".to_owned();
                return Err(FieldError::Definition(problem));
            }
        };
        let Some(field) = field else {
            let name = Foreign::text(name);
            let problem = format!("the message has no array of bytes `{name}`");
            return Err(FieldError::Path(problem));
        };
        Ok(Self { layout, field })
    }

    /// The bytes in a message. An error if the payload does not have the type of the topic.
    pub fn read<'a>(&'a self, payload: &'a [u8]) -> Result<&'a [u8], FieldError> {
        let bytes = match &self.layout {
            Layout::Ros(layout) => self.ros_bytes(layout, payload),
            Layout::Protobuf(layout) => self.protobuf_bytes(layout, payload),
        };
        bytes.map_err(FieldError::from)
    }

    fn ros_bytes<'a>(&self, layout: &'a TypeLayout, payload: &'a [u8]) -> Result<&'a [u8], Stop> {
        let mut elements = Elements::of_payload(layout, payload)?;
        let fields = &layout.messages[layout.root()].fields;
        let (before, field) = (&fields[..self.field], &fields[self.field]);
        elements.skip_fields(before)?;
        let count = elements.count(field);
        count
            .and_then(|count| elements.bytes(count))
            .map_err(|stop| stop.in_field(&field.name))
    }

    fn protobuf_bytes<'a>(
        &self,
        layout: &ProtobufLayout,
        payload: &'a [u8],
    ) -> Result<&'a [u8], Stop> {
        let whole = Slice {
            bytes: payload,
            at: 0,
        };
        let field = &layout.root().fields[self.field];
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
            assert_eq!(data.read(&payload).unwrap(), [7, 8, 9]);
            let pair = ByteArray::new(&topic, "pair").unwrap();
            assert_eq!(pair.read(&payload).unwrap(), [4, 5]);
            let error = data.read(&payload[..payload.len() - 3]).unwrap_err();
            assert!(error.to_string().contains("data"), "{error}");
        }
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
