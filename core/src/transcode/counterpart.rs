//! [`Counterparts`]: what the messages of a ROS 1 definition are in ROS 2: names of types and fields, and what becomes
//! of each field. Both the definition and the plan for payloads are made from this, so they agree.
//!
//! | ROS 1 | ROS 2 |
//! |---|---|
//! | `pkg/Type` | `pkg/msg/Type` |
//! | `std_msgs/Header`, in the first releases `roslib/Header` | `std_msgs/msg/Header`, without `seq` |
//! | `time`, `duration` | `builtin_interfaces/msg/Time`, `…/Duration`; their eight bytes are the same |
//! | `char` | `uint8`, as ROS 2 reads `char`, too |
//! | field names with capitals | in lower case, if the message has no other field of that name |
//! | `tf/tfMessage` | `tf2_msgs/msg/TFMessage` |
//! | `rosgraph_msgs/Log` | `rcl_interfaces/msg/Log`: of the header only `stamp`, no `topics`, levels 10 to 50 |

use std::collections::BTreeMap;

use super::error::NoRos2Form;
use crate::ros::definition::{
    Array, BaseType, Definitions, Field, Primitive, ROS1_HEADERS, Ros1Stamp, children_first,
};

const ROS1_LOG: &str = "rosgraph_msgs/msg/Log";
pub(super) const ROS2_LOG: &str = "rcl_interfaces/msg/Log";
/// Types with another name in ROS 2 and the same fields.
const RENAMED: [(&str, &str); 1] = [("tf/msg/tfMessage", "tf2_msgs/msg/TFMessage")];
pub(super) const TIME: &str = "builtin_interfaces/msg/Time";
pub(super) const DURATION: &str = "builtin_interfaces/msg/Duration";

/// What becomes of a ROS 1 field. The field in it is that of ROS 2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Kept(Field),
    /// ROS 2 does not have it.
    Dropped,
    /// It is a header, of which only the time is kept.
    StampKept(Field),
    /// It is the level of a log message, which has other numbers.
    Severity(Field),
}

impl Fate {
    /// The field of ROS 2, if there is one.
    pub(super) fn field(&self) -> Option<&Field> {
        match self {
            Self::Kept(field) | Self::StampKept(field) | Self::Severity(field) => Some(field),
            Self::Dropped => None,
        }
    }
}

/// A message in ROS 2.
#[derive(Debug)]
pub(super) struct Counterpart<'a> {
    /// Its name in ROS 1, `pkg/msg/Name`.
    pub(super) recorded: &'a str,
    pub(super) name: String,
    /// Each recorded field and what becomes of it, in the order of both definitions.
    pub(super) fields: Vec<(&'a Field, Fate)>,
}

/// All messages that the root contains, each after all that it contains; the root is the last one.
#[derive(Debug)]
pub(super) struct Counterparts<'a> {
    pub(super) all: Vec<Counterpart<'a>>,
    /// The index of each message by its recorded name.
    pub(super) by_recorded: BTreeMap<&'a str, usize>,
}

impl<'a> Counterparts<'a> {
    pub(super) fn of(definitions: &'a Definitions) -> Result<Self, NoRos2Form> {
        let ordered = children_first(definitions, |_| false)?;
        let names: BTreeMap<&str, String> = ordered
            .iter()
            .map(|(name, fields)| (*name, new_name(definitions, name, fields)))
            .collect();
        let mut found = Self {
            all: Vec::with_capacity(ordered.len()),
            by_recorded: BTreeMap::new(),
        };
        for (recorded, fields) in ordered {
            let name = names[recorded].clone();
            let fields = fates(&name, recorded, fields, &names);
            found.by_recorded.insert(recorded, found.all.len());
            found.all.push(Counterpart {
                recorded,
                name,
                fields,
            });
        }
        found.check_times(definitions)?;
        Ok(found)
    }

    /// Times and durations have one definition, whatever a recording calls by their names.
    fn check_times(&self, definitions: &Definitions) -> Result<(), NoRos2Form> {
        let usual = [
            ("sec", BaseType::Primitive(Primitive::I32), Array::One),
            ("nanosec", BaseType::Primitive(Primitive::U32), Array::One),
        ];
        for (name, stamp) in [(TIME, Ros1Stamp::Time), (DURATION, Ros1Stamp::Duration)] {
            let is_own =
                self.by_recorded.contains_key(name) && !are(&definitions.types[name], &usual);
            let mut fields = self.all.iter().flat_map(|message| &message.fields);
            if is_own && fields.any(|(field, _)| field.base == BaseType::Stamp(stamp)) {
                return Err(NoRos2Form::OwnTime(name));
            }
        }
        Ok(())
    }
}

/// The name of a message in ROS 2. It is not renamed to what another message of the definition is called.
fn new_name(definitions: &Definitions, name: &str, fields: &[Field]) -> String {
    if ROS1_HEADERS.contains(&name) && is_usual_header(fields) {
        let known = definitions.types.get(ROS1_HEADERS[0]);
        let is_one = known.is_none_or(|fields| is_usual_header(fields));
        return (if is_one { ROS1_HEADERS[0] } else { name }).to_owned();
    }
    let renamed = RENAMED.iter().find(|(from, _)| *from == name);
    let renamed = match renamed {
        Some((_, to)) => Some(*to),
        None => (name == ROS1_LOG && is_usual_log(definitions, fields)).then_some(ROS2_LOG),
    };
    let renamed = renamed.filter(|to| !definitions.types.contains_key(*to));
    renamed.unwrap_or(name).to_owned()
}

fn fates<'a>(
    name: &str,
    recorded: &str,
    fields: &'a [Field],
    names: &BTreeMap<&str, String>,
) -> Vec<(&'a Field, Fate)> {
    let is_log = name == ROS2_LOG && recorded != name;
    let is_header = ROS1_HEADERS.contains(&recorded) && is_usual_header(fields);
    let field_names = field_names(fields);
    let fate = |(field, name): (&'a Field, String)| {
        let kept = Field {
            name,
            base: new_base(&field.base, names),
            // ROS 1 knows no bounds.
            array: match field.array {
                Array::Bounded(_) => Array::Unbounded,
                array => array,
            },
        };
        let fate = match field.name.as_str() {
            "seq" if is_header => Fate::Dropped,
            "header" if is_log => Fate::StampKept(Field {
                name: "stamp".to_owned(),
                base: BaseType::Message(TIME.to_owned()),
                ..kept
            }),
            "level" if is_log => Fate::Severity(Field {
                base: BaseType::Primitive(Primitive::U8),
                ..kept
            }),
            "topics" if is_log => Fate::Dropped,
            _ => Fate::Kept(kept),
        };
        (field, fate)
    };
    fields.iter().zip(field_names).map(fate).collect()
}

fn new_base(base: &BaseType, names: &BTreeMap<&str, String>) -> BaseType {
    match base {
        BaseType::Stamp(Ros1Stamp::Time) => BaseType::Message(TIME.to_owned()),
        BaseType::Stamp(Ros1Stamp::Duration) => BaseType::Message(DURATION.to_owned()),
        BaseType::Message(name) => BaseType::Message(names[name.as_str()].clone()),
        BaseType::Text(_) | BaseType::WideText(_) => BaseType::Text(None),
        BaseType::Primitive(primitive) => BaseType::Primitive(*primitive),
    }
}

/// ROS 2 has no capitals in names of fields.
fn field_names(fields: &[Field]) -> Vec<String> {
    let lower = |field: &Field| field.name.to_ascii_lowercase();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for field in fields {
        *count.entry(lower(field)).or_default() += 1;
    }
    let name = |field: &Field| match count[&lower(field)] {
        1 => lower(field),
        _ => field.name.clone(),
    };
    fields.iter().map(name).collect()
}

/// Whether fields are these, each with its type.
fn are(fields: &[Field], expected: &[(&str, BaseType, Array)]) -> bool {
    fields.len() == expected.len()
        && fields
            .iter()
            .zip(expected)
            .all(|(field, (name, base, array))| {
                field.name == *name && field.base == *base && field.array == *array
            })
}

fn is_usual_header(fields: &[Field]) -> bool {
    let expected = [
        ("seq", BaseType::Primitive(Primitive::U32), Array::One),
        ("stamp", BaseType::Stamp(Ros1Stamp::Time), Array::One),
        ("frame_id", BaseType::Text(None), Array::One),
    ];
    are(fields, &expected)
}

fn is_usual_log(definitions: &Definitions, fields: &[Field]) -> bool {
    let Some(BaseType::Message(header)) = fields.first().map(|field| &field.base) else {
        return false;
    };
    let known = definitions.types.get(header);
    let is_header = ROS1_HEADERS.contains(&header.as_str())
        && known.is_some_and(|fields| is_usual_header(fields));
    let text = |name| (name, BaseType::Text(None), Array::One);
    let expected = [
        ("header", BaseType::Message(header.clone()), Array::One),
        ("level", BaseType::Primitive(Primitive::Byte), Array::One),
        text("name"),
        text("msg"),
        text("file"),
        text("function"),
        ("line", BaseType::Primitive(Primitive::U32), Array::One),
        ("topics", BaseType::Text(None), Array::Unbounded),
    ];
    is_header && are(fields, &expected)
}
