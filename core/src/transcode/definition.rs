//! [`Ros2Definition`]: the definition of a ROS 1 type as ROS 2 has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::constants::constant_lines;
use super::counterpart::{Counterpart, Counterparts, DURATION, ROS2_LOG, TIME};
use super::error::NoRos2Form;
use crate::ros::definition::{Array, BaseType, Field};
use crate::ros::{SchemaError, join_definitions};

/// Definitions up to this size are made; each field can be longer than it was.
const MAX_BYTES: usize = 4 << 20;
const SECONDS: &str = "int32 sec\nuint32 nanosec\n";
const LOG_LEVELS: &str =
    "uint8 DEBUG=10\nuint8 INFO=20\nuint8 WARN=30\nuint8 ERROR=40\nuint8 FATAL=50\n";

/// The definition of a type as ROS 2 has it: that of a `ros2msg` schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ros2Definition {
    /// `package/msg/Name`.
    pub type_name: String,
    /// The definition of the type, then those of all types that it refers to. It has constants, and no comments.
    pub text: String,
}

impl Ros2Definition {
    /// The type hash of the definition (RIHS01).
    ///
    /// # Errors
    /// None for a definition of a [`Transcoder`](super::Transcoder).
    #[cfg(feature = "type-hashes")]
    pub fn hash(&self) -> Result<String, SchemaError> {
        let computed = crate::ros::message_hash(&self.type_name, self.text.as_bytes())?;
        Ok(computed.hash)
    }
}

impl Ros2Definition {
    /// The type hash, if this build can compute it.
    #[cfg(feature = "type-hashes")]
    pub(super) fn known_hash(&self) -> Option<String> {
        self.hash().ok()
    }

    #[cfg(not(feature = "type-hashes"))]
    #[expect(clippy::unused_self, reason = "without `type-hashes` there are none")]
    pub(super) fn known_hash(&self) -> Option<String> {
        None
    }
}

/// The definition of the root; `texts` are the recorded texts of all definitions by their names.
pub(super) fn definition(
    messages: &Counterparts<'_>,
    texts: &[(String, String)],
) -> Result<Ros2Definition, NoRos2Form> {
    let root = messages.all.last();
    let root = root.ok_or(NoRos2Form::Schema(SchemaError::NoText))?;
    let mut recorded: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, text) in texts {
        recorded.entry(name).or_insert(text);
    }
    let by_name: BTreeMap<&str, &Counterpart<'_>> = messages
        .all
        .iter()
        .map(|message| (message.name.as_str(), message))
        .collect();
    let mut written: Vec<(String, String)> = Vec::new();
    let mut length = 0;
    // In the order in which they are referred to.
    let mut order = vec![root.name.as_str()];
    let mut known: BTreeSet<&str> = order.iter().copied().collect();
    let mut next = 0;
    while let Some(name) = order.get(next).copied() {
        next += 1;
        let text = match by_name.get(name) {
            Some(message) => {
                let fields = message.fields.iter().filter_map(|(_, fate)| fate.field());
                for field in fields {
                    if let BaseType::Message(nested) = &field.base
                        && known.insert(nested)
                    {
                        order.push(nested);
                    }
                }
                let body = recorded.get(message.recorded);
                text(message, body.copied().unwrap_or_default())
            }
            // Built in in ROS 1.
            None if matches!(name, TIME | DURATION) => SECONDS.to_owned(),
            None => return Err(SchemaError::Missing(name.to_owned()).into()),
        };
        length += text.len();
        if length > MAX_BYTES {
            return Err(NoRos2Form::TooLarge(MAX_BYTES));
        }
        written.push((name.to_owned(), text));
    }
    Ok(Ros2Definition {
        type_name: root.name.clone(),
        text: join_definitions(&written),
    })
}

fn text(message: &Counterpart<'_>, recorded: &str) -> String {
    let mut text = String::new();
    if message.name == ROS2_LOG && message.recorded != ROS2_LOG {
        text.push_str(LOG_LEVELS);
    } else {
        for line in constant_lines(recorded) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    let fields = message.fields.iter().filter_map(|(_, fate)| fate.field());
    for field in fields {
        let Field { name, base, array } = field;
        let array = match array {
            Array::One => String::new(),
            Array::Fixed(count) => format!("[{count}]"),
            Array::Bounded(bound) => format!("[<={bound}]"),
            Array::Unbounded => "[]".to_owned(),
        };
        writeln!(text, "{}{array} {name}", base_text(base)).expect("a string takes everything");
    }
    text
}

fn base_text(base: &BaseType) -> String {
    let name = match base {
        BaseType::Message(name) => return name.replacen("/msg/", "/", 1),
        BaseType::Text(_) => "string",
        BaseType::WideText(_) => "wstring",
        BaseType::Stamp(_) => unreachable!("in ROS 2 they are messages"),
        BaseType::Primitive(primitive) => primitive.ros2_name(),
    };
    name.to_owned()
}
