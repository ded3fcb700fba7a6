//! [`FieldPlace`]: one field, found in many messages without reading the others.

use super::scalar::Scalar;
use super::side::{Side, Work};
use crate::bag::Topic;
use crate::decode::decoder::{Method, method};
use crate::decode::type_layout::{ElementType, TypeLayout};
use crate::ros::definition::Array;

/// Where a field that is a value is in the messages of a topic.
#[derive(Clone, Debug)]
pub struct FieldPlace {
    layout: TypeLayout,
    /// For each message on the way the number of the field in it, and the element that is meant.
    steps: Vec<(usize, Option<u64>)>,
}

impl FieldPlace {
    /// The place of a path such as `pose.covariance[7]`. `None` if the messages have no such field, if it is a message,
    /// or an array without the number of an element, or if they cannot be decoded.
    pub fn of(topic: &Topic, path: &str) -> Option<Self> {
        let Ok(Method::Ros(layout)) = method(topic) else {
            return None;
        };
        let mut steps = Vec::new();
        let mut at = Some(layout.root());
        for part in path.split('.') {
            let (name, element) = match part.strip_suffix(']').and_then(|part| part.split_once('['))
            {
                Some((name, index)) => (name, Some(index.parse().ok()?)),
                None => (part, None),
            };
            let fields = &layout.messages[at?].fields;
            let index = fields.iter().position(|field| field.name == name)?;
            let field = &fields[index];
            if (field.array == Array::One) == element.is_some() {
                return None;
            }
            at = match field.element_type {
                ElementType::Message(index) => Some(index),
                _ => None,
            };
            steps.push((index, element));
        }
        at.is_none().then_some(Self { layout, steps })
    }

    /// Whether the value is a point in time.
    pub fn is_stamp(&self) -> bool {
        let mut at = self.layout.root();
        for (index, _) in &self.steps {
            match self.layout.messages[at].fields[*index].element_type {
                ElementType::Message(inner) => at = inner,
                other => return matches!(other, ElementType::Stamp(_)),
            }
        }
        false
    }

    /// The value in this message; `None` if the payload is too short for it, or has fewer elements.
    pub fn read<'a>(&'a self, payload: &'a [u8]) -> Option<Scalar<'a>> {
        let mut side = Side::new(&self.layout, payload).ok()?;
        let mut work = Work::for_bytes(payload.len());
        let mut at = self.layout.root();
        for (index, element) in &self.steps {
            let fields = side.fields(at);
            for field in &fields[..*index] {
                work.step().ok()?;
                side.skip_field(field, &mut work).ok()?;
            }
            let field = &fields[*index];
            let count = side.count(field).ok()?;
            if let Some(element) = element {
                (*element < count).then_some(())?;
                side.skip(field.element_type, *element, &mut work).ok()?;
            }
            match field.element_type {
                ElementType::Message(inner) => at = inner,
                other => return side.scalar(other).ok().flatten(),
            }
        }
        None
    }
}
