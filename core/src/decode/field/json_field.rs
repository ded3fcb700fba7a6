//! The values of a path in JSON text. The text is parsed once, in sequence; no tree is built.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::path::{Part, ValuePath};
use super::value::{FieldValue, Visit};
use crate::decode::decoded::Stop;

/// Visits the values of the path.
pub(super) fn read(path: &ValuePath, payload: &[u8], visit: &mut Visit<'_>) -> Result<(), Stop> {
    let mut state = State {
        indexes: Vec::new(),
        is_stopped: false,
        visit,
    };
    let mut text = serde_json::Deserializer::from_slice(payload);
    let seed = Walk {
        parts: path.parts(),
        state: &mut state,
    };
    match seed.deserialize(&mut text) {
        Err(error) if !state.is_stopped => Err(Stop::Problem(format!("not as expected: {error}"))),
        _ => Ok(()),
    }
}

struct State<'s, 'v> {
    indexes: Vec<u64>,
    /// Whether the visitor of values wants no more. The error of the parser can only carry text.
    is_stopped: bool,
    visit: &'s mut Visit<'v>,
}

/// Receives the value from which these parts go on.
struct Walk<'w, 's, 'v> {
    parts: &'w [Part],
    state: &'w mut State<'s, 'v>,
}

impl Walk<'_, '_, '_> {
    fn value<E: Error>(self, value: FieldValue<'_>) -> Result<(), E> {
        if let Some(part) = self.parts.first() {
            let what = match part {
                Part::Name(name) => format!("{} has no part `{name}`", value.kind()),
                Part::Index(_) | Part::Every => format!("{} is not an array", value.kind()),
            };
            return Err(E::custom(what));
        }
        match (self.state.visit)(&self.state.indexes, value) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                self.state.is_stopped = true;
                Err(E::custom("stopped"))
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, text: D) -> Result<(), D::Error> {
        text.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.value(FieldValue::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.value(FieldValue::Integer(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.value(FieldValue::Integer(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.value(FieldValue::Float64(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        match self.parts {
            [Part::Name(name)] if name == "length" => {
                Walk { parts: &[], ..self }.value(FieldValue::Integer(value.len() as i128))
            }
            _ => self.value(FieldValue::Text(Cow::Borrowed(value))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (name, parts) = match self.parts {
            [Part::Name(name), parts @ ..] => (name, parts),
            [] => return Err(A::Error::custom("an object is no plain value")),
            _ => return Err(A::Error::custom("an object is not an array")),
        };
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == name.as_str() {
                let state = &mut *self.state;
                map.next_value_seed(Walk { parts, state })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let (part, parts) = match self.parts {
            [Part::Index(..0), ..] => {
                return Err(A::Error::custom(
                    "an index from the end is not read in JSON",
                ));
            }
            [Part::Name(name)] if name == "length" => {
                let mut count = 0_i128;
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                return Walk { parts: &[], ..self }.value(FieldValue::Integer(count));
            }
            [part @ (Part::Index(_) | Part::Every), parts @ ..] => (part, parts),
            _ => return Err(A::Error::custom("an array is no plain value")),
        };
        for at in 0_u64.. {
            let state = &mut *self.state;
            let is_more = match part {
                Part::Every => {
                    state.indexes.push(at);
                    let more = seq.next_element_seed(Walk { parts, state })?;
                    self.state.indexes.pop();
                    more
                }
                Part::Index(index) if u64::try_from(*index) == Ok(at) => {
                    seq.next_element_seed(Walk { parts, state })?
                }
                _ => seq.next_element::<IgnoredAny>()?.map(drop),
            };
            if is_more.is_none() {
                break;
            }
        }
        Ok(())
    }
}
