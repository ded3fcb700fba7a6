//! [`FieldReader`]: reads the values of one path in the messages of a topic; everything before them is skipped.

use std::ops::ControlFlow;

use super::elements::Elements;
use super::json_field;
use super::path::FieldPath;
use super::resolve::{Step, resolve};
use super::value::FieldValue;
use crate::bag::Topic;
use crate::decode::decoded::Stop;
use crate::decode::decoder::{Method, cdr_data, method};
use crate::decode::payload_reader::PayloadReader;
use crate::decode::type_layout::{ElementType, FieldLayout, TypeLayout, WireFormat};
use crate::ros::message_definition::Array;
use crate::untrusted::Foreign;

/// Why a field cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// The messages of the topic cannot be decoded: the definition is missing or wrong, or the encoding is not known.
    #[error("{0}")]
    Definition(String),
    /// The type has no such field; the text says which there are.
    #[error("{0}")]
    Path(String),
    /// This payload does not have the type of the topic; the text names the byte and the field.
    #[error("{0}")]
    Payload(String),
}

/// Receives each value, with the indexes of the elements that `[*]` stands for.
pub(super) type Visit<'v> = dyn FnMut(&[u64], FieldValue<'_>) -> ControlFlow<()> + 'v;

/// Reads the values of one path in the messages of one topic.
///
/// The definition is parsed once, when the reader is made. What lies behind the last value is not looked at.
#[derive(Clone, Debug)]
pub struct FieldReader {
    path: FieldPath,
    method: FieldMethod,
}

#[derive(Clone, Debug)]
enum FieldMethod {
    Ros(TypeLayout, Vec<Step>),
    Json,
}

impl FieldReader {
    /// Finds the path in the definition of the topic: an error if the topic has no definition, or the definition no such
    /// field. JSON has no definition that is used: its fields are found in each message.
    pub fn new(topic: &Topic, path: &FieldPath) -> Result<Self, FieldError> {
        let method = match method(topic)
            .map_err(escaped)
            .map_err(FieldError::Definition)?
        {
            Method::Ros(layout) => {
                let steps = resolve(&layout, path)?;
                FieldMethod::Ros(layout, steps)
            }
            Method::Json => FieldMethod::Json,
        };
        let path = path.clone();
        Ok(Self { path, method })
    }

    /// Calls `visit` with each value of the path in a message, in order, until it breaks. The first argument has the
    /// indexes of the elements that `[*]` stands for. There is no value for an element that the message does not have,
    /// nor for `null` in JSON. An error if the payload does not have the type of the topic; values before that have been
    /// visited. Work and memory are bounded by the size of the payload.
    pub fn read(
        &self,
        payload: &[u8],
        visit: &mut dyn FnMut(&[u64], FieldValue<'_>) -> ControlFlow<()>,
    ) -> Result<(), FieldError> {
        let result = match &self.method {
            FieldMethod::Ros(layout, steps) => read_ros(layout, steps, payload, visit),
            FieldMethod::Json => json_field::read(&self.path, payload, visit),
        };
        result.map_err(|stop| {
            FieldError::Payload(match stop {
                Stop::Cut => "it has more elements than are read".to_owned(),
                Stop::TooShort(short) => short.to_string(),
                Stop::Problem(problem) => escaped(problem),
            })
        })
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the function that `map_err` takes"
)]
fn escaped(problem: String) -> String {
    Foreign::text(&problem).at_most(400).to_string()
}

fn read_ros(
    layout: &TypeLayout,
    steps: &[Step],
    payload: &[u8],
    visit: &mut Visit<'_>,
) -> Result<(), Stop> {
    let bytes = match layout.wire_format {
        WireFormat::Cdr => cdr_data(payload)?,
        WireFormat::Ros1 => PayloadReader::ros1(payload),
    };
    let mut walk = Walk {
        elements: Elements::new(layout, bytes),
        indexes: Vec::new(),
        visit,
    };
    walk.message(layout.root(), steps).map(drop)
}

/// Follows the steps of a path through a payload.
struct Walk<'a, 'v> {
    elements: Elements<'a>,
    /// The elements that `[*]` stands for at the moment.
    indexes: Vec<u64>,
    visit: &'v mut Visit<'v>,
}

impl<'a> Walk<'a, '_> {
    fn message(&mut self, index: usize, steps: &[Step]) -> Result<ControlFlow<()>, Stop> {
        let layout: &'a TypeLayout = self.elements.layout;
        let Some((Step::Field(at), steps)) = steps.split_first() else {
            unreachable!("a path goes from a message to a field");
        };
        let (before, rest) = layout.messages[index].fields.split_at(*at);
        let (field, after) = rest.split_first().expect("the path was resolved");
        self.elements.skip_fields(before)?;
        let flow = self
            .field(field, steps)
            .map_err(|stop| stop.in_field(&field.name))?;
        if flow.is_continue() && self.has_more() {
            self.elements.skip_fields(after)?;
        }
        Ok(flow)
    }

    /// Whether other values may follow, so that this element has to be read to its end.
    fn has_more(&self) -> bool {
        !self.indexes.is_empty()
    }

    fn field(&mut self, field: &FieldLayout, steps: &[Step]) -> Result<ControlFlow<()>, Stop> {
        let element_type = field.element_type;
        if field.array == Array::One {
            return self.element(element_type, steps);
        }
        let count = self.elements.count(field)?;
        let Some((step, steps)) = steps.split_first() else {
            unreachable!("a path goes from an array to its elements or its length");
        };
        match step {
            Step::Element(index) => {
                let at = match u64::try_from(*index) {
                    Ok(index) => Some(index).filter(|index| *index < count),
                    Err(_) => count.checked_sub(index.unsigned_abs()),
                };
                let Some(at) = at else {
                    if self.has_more() {
                        self.elements.skip(element_type, count)?;
                    }
                    return Ok(ControlFlow::Continue(()));
                };
                self.elements.skip(element_type, at)?;
                let flow = self.element(element_type, steps)?;
                if flow.is_continue() && self.has_more() {
                    self.elements.skip(element_type, count - at - 1)?;
                }
                Ok(flow)
            }
            Step::Elements => {
                for at in 0..count {
                    self.elements.step()?;
                    self.indexes.push(at);
                    let flow = self.element(element_type, steps)?;
                    self.indexes.pop();
                    if flow.is_break() {
                        return Ok(flow);
                    }
                }
                Ok(ControlFlow::Continue(()))
            }
            _ => {
                let flow = self.visit(FieldValue::Integer(count.into()));
                if flow.is_continue() && self.has_more() {
                    self.elements.skip(element_type, count)?;
                }
                Ok(flow)
            }
        }
    }

    fn element(
        &mut self,
        element_type: ElementType,
        steps: &[Step],
    ) -> Result<ControlFlow<()>, Stop> {
        let value = match (element_type, steps.first()) {
            (ElementType::Message(index), _) => return self.message(index, steps),
            (ElementType::Stamp(stamp), Some(part)) => {
                let (sec, nanosec) = self.elements.stamp(stamp)?;
                let part = if *part == Step::Sec { sec } else { nanosec };
                FieldValue::Integer(part.into())
            }
            (_, Some(_)) => {
                let length = self.elements.text_length(element_type)?;
                FieldValue::Integer(length as i128)
            }
            (_, None) => self.elements.value(element_type)?,
        };
        Ok(self.visit(value))
    }

    fn visit(&mut self, value: FieldValue<'a>) -> ControlFlow<()> {
        (self.visit)(&self.indexes, value)
    }
}
