//! JSON text as lines: objects are nested, an array of plain values is one line.
//!
//! The text is parsed once, in sequence, and only as far as the limits need it. No tree is built.

use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::decode::decoded::{Decoded, Limits, LineWriter, PayloadFormat, Stop};
use crate::decode::text::{BoundedText, quoted};

/// How many bytes of a text are parsed at most.
const MAX_JSON_BYTES: usize = 1 << 20;

/// Decodes a text.
pub(in crate::decode) fn decode(payload: &[u8], limits: Limits) -> Decoded {
    let looked_at = &payload[..payload.len().min(MAX_JSON_BYTES)];
    let mut out = LineWriter::new(limits);
    let mut stop = None;
    let mut text = serde_json::Deserializer::from_slice(looked_at);
    let mut visitor = ValueVisitor {
        out: &mut out,
        stop: &mut stop,
        depth: 0,
        name: None,
    };
    let read = visitor.reborrow().deserialize(&mut text).and_then(|value| {
        if let Some(value) = value {
            visitor.line("", value)?;
        }
        text.end()
    });
    let end = match (read, stop) {
        (Ok(()), _) => Ok(()),
        (_, Some(stop)) => Err(stop),
        (Err(error), None) if error.is_eof() && looked_at.len() < payload.len() => {
            drop(error);
            Err(Stop::Cut)
        }
        (Err(error), None) => Err(Stop::Problem(format!("not JSON: {error}"))),
    };
    out.finish(PayloadFormat::Json, end)
}

/// Receives the next value. A plain value is returned; of others, the lines are written. An object at the top has no
/// line of its own, only those of its fields.
struct ValueVisitor<'a> {
    out: &'a mut LineWriter,
    /// Why decoding ended early. The error of the parser can only carry text.
    stop: &'a mut Option<Stop>,
    depth: usize,
    name: Option<String>,
}

impl ValueVisitor<'_> {
    fn reborrow(&mut self) -> ValueVisitor<'_> {
        self.child(0, None)
    }

    fn child(&mut self, deeper: usize, name: Option<String>) -> ValueVisitor<'_> {
        ValueVisitor {
            out: self.out,
            stop: self.stop,
            depth: self.depth + deeper,
            name,
        }
    }

    fn stopped<T, E: serde::de::Error>(&mut self, result: Result<T, Stop>) -> Result<T, E> {
        result.map_err(|stop| {
            *self.stop = Some(stop);
            E::custom("stopped")
        })
    }

    fn line<E: serde::de::Error>(&mut self, name: &str, value: String) -> Result<(), E> {
        let added = self.out.line(self.depth, name, value);
        self.stopped(added)
    }

    fn step<E: serde::de::Error>(&mut self) -> Result<(), E> {
        let step = self.out.step();
        self.stopped(step)
    }

    fn truncated(&self, mut text: String) -> String {
        text.truncate(self.out.limits.characters);
        text
    }

    /// Writes the line of a value whose children follow. Returns whether they are within the depth limit.
    fn open<E: serde::de::Error>(&mut self, value: &str) -> Result<bool, E> {
        let has_room = self.depth <= self.out.limits.depth;
        if has_room {
            let name = self.name.take().unwrap_or_default();
            self.line(&name, value.to_owned())?;
            self.depth += 1;
        }
        self.out.is_cut |= !has_room;
        Ok(has_room)
    }
}

impl<'de> DeserializeSeed<'de> for ValueVisitor<'_> {
    type Value = Option<String>;

    fn deserialize<D: serde::Deserializer<'de>>(self, text: D) -> Result<Self::Value, D::Error> {
        text.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Some(self.truncated("null".to_owned())))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(self.truncated(value.to_string())))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(self.truncated(value.to_string())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(self.truncated(value.to_string())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Some(self.truncated(format!("{value:?}"))))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Some(quoted(value.as_bytes(), self.out.limits.characters)))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut has_room = true;
        if self.name.is_some() {
            let fits = self.depth < self.out.limits.depth;
            has_room = self.open(if fits { "" } else { "…" })? && fits;
            self.out.is_cut |= !fits;
        }
        while let Some(key) = map.next_key::<String>()? {
            self.step()?;
            if !has_room {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value_seed(self.child(0, Some(key.clone())))?;
            if let Some(value) = value {
                self.line(&key, value)?;
            }
        }
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Self::Value, A::Error> {
        let above = self.out.lines.len();
        let has_room = self.open("")?;
        let limits = self.out.limits;
        let mut values: Vec<String> = Vec::new();
        let (mut count, mut shown) = (0_usize, 0_usize);
        loop {
            self.step()?;
            if !has_room || shown >= limits.elements {
                if seq.next_element::<IgnoredAny>()?.is_none() {
                    break;
                }
                count += 1;
                continue;
            }
            let visitor = self.child(0, Some(format!("[{count}]")));
            let Some(value) = seq.next_element_seed(visitor)? else {
                break;
            };
            values.extend(value);
            count += 1;
            shown += 1;
        }
        if has_room {
            let is_flat = !values.is_empty() || count == 0;
            self.out.lines[above].value = if is_flat {
                array_line(&values, count, limits.characters)
            } else {
                format!("{count} in all")
            };
            if !is_flat && shown < count {
                // One level below the array; that may be too deep.
                if self.depth <= limits.depth {
                    self.line("…", format!("{} more", count - shown))?;
                } else {
                    self.out.is_cut = true;
                }
            }
        }
        Ok(None)
    }
}

fn array_line(plain: &[String], count: usize, characters: usize) -> String {
    let mut line = BoundedText::new("[", characters, &format!(", … {count} in all]"));
    for (index, value) in plain.iter().enumerate() {
        line.push(&format!("{}{value}", if index > 0 { ", " } else { "" }));
    }
    if plain.len() < count {
        line.cut();
    }
    line.end("]")
}
