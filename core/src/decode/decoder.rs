//! [`Decoder`]: finds the format of the messages of a topic and what is needed to decode them.

use crate::bag::{Schema, Topic};

use super::decoded::{Decoded, Limits, LineWriter, PayloadFormat, Stop};
use super::non_ros::protobuf::layout::ProtobufLayout;
use super::non_ros::{hex, json, protobuf};
use super::payload_reader::{ByteOrder, PayloadReader};
use super::ros_message::RosDecoder;
use super::type_layout::{TypeLayout, WireFormat};
use crate::ros::definition::{Dialect, read_message};

/// The longest definition that is parsed. Real ones have kilobytes.
const MAX_DEFINITION_BYTES: usize = 1 << 20;
/// The name of both the encoding of the messages and that of the definition.
const PROTOBUF: &str = "protobuf";
/// How many bytes may follow the last field: writers pad to the next multiple of four or eight.
pub(super) const MAX_PADDING: usize = 7;

/// Decodes the messages of one topic. The definition is parsed once, when the decoder is made.
#[derive(Clone, Debug)]
pub struct Decoder {
    method: Result<Method, String>,
}

#[derive(Clone, Debug)]
pub(super) enum Method {
    Ros(TypeLayout),
    Protobuf(ProtobufLayout),
    Json,
}

/// Decodes one message. To decode more messages of a topic, keep a [`Decoder`].
pub fn decode_message(topic: &Topic, payload: &[u8], limits: Limits) -> Decoded {
    Decoder::new(topic).decode(payload, limits)
}

impl Decoder {
    /// Parses the definition of the topic. A problem with it is reported with each message.
    pub fn new(topic: &Topic) -> Self {
        Self {
            method: method(topic),
        }
    }

    /// A message as text. The limits bound time and memory for any payload.
    pub fn decode(&self, payload: &[u8], limits: Limits) -> Decoded {
        let decoded = match &self.method {
            Ok(Method::Ros(layout)) => decode_ros(layout, payload, limits),
            Ok(Method::Protobuf(layout)) => protobuf::text::decode(layout, payload, limits),
            Ok(Method::Json) => json::decode(payload, limits),
            Err(problem) => LineWriter::new(limits)
                .finish(PayloadFormat::Hex, Err(Stop::Problem(problem.clone()))),
        };
        match &decoded.problem {
            Some(problem) if decoded.lines.is_empty() => as_hex(payload, problem, limits),
            _ => decoded,
        }
    }
}

/// How messages of the topic are decoded, or why they are not.
pub(super) fn method(topic: &Topic) -> Result<Method, String> {
    let encoding = topic.encoding.as_str();
    if encoding == "json" {
        return Ok(Method::Json);
    }
    let Some(schema) = &topic.schema else {
        return Err(format!("`{encoding}` without a definition is not decoded"));
    };
    if (encoding, schema.encoding.as_str()) == (PROTOBUF, PROTOBUF) {
        check_schema(schema)?;
        let layout = ProtobufLayout::new(&schema.data, &schema.name);
        return layout
            .map(Method::Protobuf)
            .map_err(|error| error.to_string());
    }
    let Some((dialect, wire_format)) = dialect(topic) else {
        let definition = &schema.encoding;
        return Err(format!(
            "`{encoding}` with a definition in `{definition}` is not decoded"
        ));
    };
    check_schema(schema)?;
    let definitions = read_message(dialect, &schema.name, &schema.data);
    let definitions = definitions.map_err(|error| error.to_string())?;
    let layout = TypeLayout::new(&definitions, wire_format).map_err(|error| error.to_string())?;
    Ok(Method::Ros(layout))
}

/// The types of the messages, if they are protobuf and their definition can be read.
pub(super) fn protobuf_layout(topic: &Topic) -> Option<ProtobufLayout> {
    match (topic.encoding == PROTOBUF).then(|| method(topic))? {
        Ok(Method::Protobuf(layout)) => Some(layout),
        _ => None,
    }
}

/// The language of the definition and the format of the messages, if ROS messages are decoded with it.
pub(super) fn dialect(topic: &Topic) -> Option<(Dialect, WireFormat)> {
    let schema = topic.schema.as_ref()?;
    match (topic.encoding.as_str(), schema.encoding.as_str()) {
        ("cdr", "ros2msg") => Some((Dialect::Ros2, WireFormat::Cdr)),
        ("ros1", "ros1msg") => Some((Dialect::Ros1, WireFormat::Ros1)),
        _ => None,
    }
}

fn check_schema(schema: &Schema) -> Result<(), String> {
    // A recorder that did not find the definition writes an empty one. Few types really have an empty one.
    if schema.data.is_empty() && !schema.name.ends_with("/Empty") {
        return Err("the definition was not recorded".to_owned());
    }
    if schema.data.len() > MAX_DEFINITION_BYTES {
        let length = schema.data.len();
        return Err(format!(
            "the definition has {length} bytes, too many for a definition"
        ));
    }
    Ok(())
}

fn decode_ros(layout: &TypeLayout, payload: &[u8], limits: Limits) -> Decoded {
    let mut out = LineWriter::new(limits);
    match layout.wire_format {
        WireFormat::Ros1 => {
            let end =
                RosDecoder::ros1(layout, PayloadReader::ros1(payload), &mut out).decode_all(0);
            out.finish(PayloadFormat::Ros1, end)
        }
        WireFormat::Cdr => {
            let end = cdr_data(payload)
                .and_then(|bytes| RosDecoder::cdr(layout, bytes, &mut out).decode_all(MAX_PADDING));
            out.finish(PayloadFormat::Cdr, end)
        }
    }
}

/// The data after the encapsulation header, if the header declares plain CDR.
pub(super) fn cdr_data(payload: &[u8]) -> Result<PayloadReader<'_>, Stop> {
    let (order, data) = match payload {
        [0, 0, _, _, data @ ..] => (ByteOrder::Big, data),
        [0, 1, _, _, data @ ..] => (ByteOrder::Little, data),
        [high, low, _, _, ..] => {
            let name = match (high, low) {
                (0, 2 | 3) => " (parameter lists)",
                (0, 6..=11) => " (XCDR2)",
                _ => "",
            };
            return Err(Stop::Problem(format!(
                "encapsulation {high:02x} {low:02x}{name} is not plain CDR"
            )));
        }
        _ => {
            let length = payload.len();
            return Err(Stop::Problem(format!(
                "{length} bytes are too few for a CDR message"
            )));
        }
    };
    Ok(PayloadReader::cdr(data, order))
}

fn as_hex(payload: &[u8], problem: &str, limits: Limits) -> Decoded {
    let mut out = LineWriter::new(limits);
    let end = hex::dump(payload, &mut out);
    Decoded {
        problem: Some(problem.to_owned()),
        ..out.finish(PayloadFormat::Hex, end)
    }
}
