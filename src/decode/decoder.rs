//! [`Decoder`]: finds the format of the messages of a topic and what is needed to decode them.

use crate::bag::{Schema, Topic};

use super::decoded::{Decoded, How, Limits, Out, Stop};
use super::payload_reader::{Bytes, Order};
use super::ros_message::Walk;
use super::type_layout::{Form, Layout};
use super::{hex, json};
use crate::ros::message_definition::{Dialect, read_message};

/// The longest definition that is parsed. Real ones have kilobytes.
const LARGEST: usize = 1 << 20;
/// How many bytes may follow the last field: writers pad to the next multiple of four or eight.
const PADDING: usize = 7;

/// Decodes the messages of one topic. The definition is parsed once, when the decoder is made.
#[derive(Clone, Debug)]
pub struct Decoder {
    plan: Result<Plan, String>,
}

#[derive(Clone, Debug)]
enum Plan {
    Ros(Layout),
    Json,
}

/// Decodes one message. To decode more messages of a topic, keep a [`Decoder`].
pub fn fields(topic: &Topic, payload: &[u8], limits: Limits) -> Decoded {
    Decoder::new(topic).decode(payload, limits)
}

impl Decoder {
    /// Parses the definition of the topic. A problem with it is reported with each message.
    pub fn new(topic: &Topic) -> Self {
        Self { plan: plan(topic) }
    }

    /// A message as text. The limits bound time and memory for any payload.
    pub fn decode(&self, payload: &[u8], limits: Limits) -> Decoded {
        let decoded = match &self.plan {
            Ok(Plan::Ros(layout)) => ros(layout, payload, limits),
            Ok(Plan::Json) => json::decode(payload, limits),
            Err(problem) => Out::new(limits).finish(How::Hex, Err(Stop::Problem(problem.clone()))),
        };
        match &decoded.problem {
            Some(problem) if decoded.lines.is_empty() => bytes(payload, problem, limits),
            _ => decoded,
        }
    }
}

fn plan(topic: &Topic) -> Result<Plan, String> {
    let encoding = topic.encoding.as_str();
    if encoding == "json" {
        return Ok(Plan::Json);
    }
    let Some(schema) = &topic.schema else {
        return Err(format!("`{encoding}` without a definition is not decoded"));
    };
    let (dialect, form) = match (encoding, schema.encoding.as_str()) {
        ("cdr", "ros2msg") => (Dialect::Ros2, Form::Cdr),
        ("ros1", "ros1msg") => (Dialect::Ros1, Form::Ros1),
        (_, definition) => {
            return Err(format!(
                "`{encoding}` with a definition in `{definition}` is not decoded"
            ));
        }
    };
    check(schema)?;
    let definitions = read_message(dialect, &schema.name, &schema.data);
    let definitions = definitions.map_err(|error| error.to_string())?;
    let layout = Layout::new(&definitions, form).map_err(|error| error.to_string())?;
    Ok(Plan::Ros(layout))
}

fn check(schema: &Schema) -> Result<(), String> {
    // A recorder that did not find the definition writes an empty one. Few types really have an empty one.
    if schema.data.is_empty() && !schema.name.ends_with("/Empty") {
        return Err("the definition was not recorded".to_owned());
    }
    if schema.data.len() > LARGEST {
        let length = schema.data.len();
        return Err(format!(
            "the definition has {length} bytes, too many to be one"
        ));
    }
    Ok(())
}

fn ros(layout: &Layout, payload: &[u8], limits: Limits) -> Decoded {
    let mut out = Out::new(limits);
    match layout.form {
        Form::Ros1 => {
            let end = Walk::ros1(layout, Bytes::ros1(payload), &mut out).all(0);
            out.finish(How::Ros1, end)
        }
        Form::Cdr => {
            let end =
                opened(payload).and_then(|bytes| Walk::cdr(layout, bytes, &mut out).all(PADDING));
            out.finish(How::Cdr, end)
        }
    }
}

/// The data after the encapsulation header, if the header declares plain CDR.
fn opened(payload: &[u8]) -> Result<Bytes<'_>, Stop> {
    let (order, data) = match payload {
        [0, 0, _, _, data @ ..] => (Order::Big, data),
        [0, 1, _, _, data @ ..] => (Order::Little, data),
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
    Ok(Bytes::cdr(data, order))
}

fn bytes(payload: &[u8], problem: &str, limits: Limits) -> Decoded {
    let mut out = Out::new(limits);
    let end = hex::dump(payload, &mut out);
    Decoded {
        problem: Some(problem.to_owned()),
        ..out.finish(How::Hex, end)
    }
}
