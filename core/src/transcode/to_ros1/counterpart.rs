//! [`Counterparts`]: what the messages of a ROS 2 definition are in ROS 1, and what becomes of each field. Both the
//! definition and the plan for payloads are made from this, so they agree.
//!
//! A type in `known.rs` gets the definition of ROS 1, if the recorded one has all of its
//! fields. Fields that only ROS 2 has are left out. All other definitions are derived (`ros1_text.rs`).

use std::collections::BTreeMap;

use super::known::{Known, known};
use super::ros1_text::{DURATION, MAX_BYTES, TIME, ros1_text};
use crate::ros::definition::{
    Array, BaseType, Definitions, Dialect, Field, Primitive, ROS1_HEADERS, children_first,
    read_message,
};
use crate::transcode::error::NoRos1Form;

const HEADER: &str = ROS1_HEADERS[0];
const ROS2_LOG: &str = "rcl_interfaces/msg/Log";

/// What becomes of a ROS 2 field, or what ROS 1 has besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate<'a> {
    Kept(&'a Field),
    /// ROS 1 does not have it.
    Dropped(&'a Field),
    /// A number, text or list that only ROS 1 has: this number of zero bytes.
    Zeros(u64),
    /// It is the level of a log message, which has other numbers.
    Severity,
}

/// A message in ROS 1.
#[derive(Debug)]
pub(super) struct Counterpart<'a> {
    /// Its name in ROS 1, `pkg/msg/Name`.
    pub(super) name: String,
    /// Its definition in ROS 1.
    pub(super) text: String,
    /// In the order of both definitions.
    pub(super) fates: Vec<Fate<'a>>,
}

/// All messages that the root contains, each after all that it contains; the root is the last one.
#[derive(Debug)]
pub(super) struct Counterparts<'a> {
    pub(super) all: Vec<Counterpart<'a>>,
    /// The index of each message by its recorded name.
    pub(super) by_recorded: BTreeMap<&'a str, usize>,
}

/// Whether a type is built in in ROS 1.
fn is_stamp(name: &str) -> bool {
    name == TIME || name == DURATION
}

impl<'a> Counterparts<'a> {
    /// `texts` are the recorded texts of all definitions by their names.
    pub(super) fn of(
        definitions: &'a Definitions,
        texts: &BTreeMap<&str, &str>,
    ) -> Result<Self, NoRos1Form> {
        if is_stamp(&definitions.root) {
            return Err(NoRos1Form::BuiltIn(definitions.root.clone()));
        }
        check_times(definitions)?;
        let mut found = Self {
            all: Vec::new(),
            by_recorded: BTreeMap::new(),
        };
        let mut length = 0;
        for (recorded, fields) in children_first(definitions, |_| false)? {
            let text = texts.get(recorded).copied().unwrap_or_default();
            let known = known(recorded).filter(|it| is_free(it, recorded, definitions));
            let counterpart = match known.and_then(|it| otherwise(it, recorded, fields)) {
                Some(counterpart) => counterpart,
                None => Counterpart {
                    name: ros1_name(recorded)?,
                    text: ros1_text(recorded, text, fields, |name| found.name(name))?,
                    fates: fields.iter().map(Fate::Kept).collect(),
                },
            };
            length += counterpart.text.len();
            if length > MAX_BYTES {
                return Err(NoRos1Form::TooLarge(MAX_BYTES));
            }
            found.by_recorded.insert(recorded, found.all.len());
            found.all.push(counterpart);
        }
        Ok(found)
    }

    /// The ROS 1 name of a message that was found.
    fn name(&self, recorded: &str) -> String {
        let index = self.by_recorded.get(recorded);
        index.map_or_else(
            || recorded.to_owned(),
            |index| self.all[*index].name.clone(),
        )
    }
}

/// Only messages have a ROS 1 form.
fn ros1_name(recorded: &str) -> Result<String, NoRos1Form> {
    match recorded.split_once('/') {
        Some((_, rest)) if rest.starts_with("msg/") => Ok(recorded.to_owned()),
        _ => Err(NoRos1Form::NoMessage(recorded.to_owned())),
    }
}

/// Times and durations have one definition, whatever a recording calls by their names.
fn check_times(definitions: &Definitions) -> Result<(), NoRos1Form> {
    for name in [TIME, DURATION] {
        let fields = definitions.types.get(name);
        let bases = fields.map(|fields| fields.iter().map(|it| (&it.base, it.array)));
        let usual = [
            (&BaseType::Primitive(Primitive::I32), Array::One),
            (&BaseType::Primitive(Primitive::U32), Array::One),
        ];
        if bases.is_some_and(|bases| !bases.eq(usual)) {
            return Err(NoRos1Form::OwnTime(name));
        }
    }
    Ok(())
}

/// Whether a type can have the form of ROS 1 beside the other types of a definition. A log message there has another
/// name, and a header, which ROS 2 need not have: both may be taken by types of other forms.
fn is_free(known: &Known, recorded: &str, definitions: &Definitions) -> bool {
    let header = || {
        let fields = definitions.types.get(HEADER);
        fields.is_none_or(|fields| is_usual_header(fields))
    };
    known.name == recorded || (!definitions.types.contains_key(known.name) && header())
}

fn is_usual_header(fields: &[Field]) -> bool {
    let usual = known(HEADER).and_then(own_fields);
    usual.is_some_and(|usual| pair(fields, &usual, true).is_some())
}

/// A type in the form that ROS 1 has otherwise; `None` if the recorded definition has not all of its fields.
fn otherwise<'a>(
    known: &'static Known,
    recorded: &str,
    fields: &'a [Field],
) -> Option<Counterpart<'a>> {
    let fates = if recorded == ROS2_LOG {
        log(fields)?
    } else {
        pair(fields, &own_fields(known)?, recorded == HEADER)?
    };
    Some(Counterpart {
        name: known.name.to_owned(),
        text: known.text.to_owned(),
        fates,
    })
}

/// The fields of a definition of ROS 1 alone.
fn own_fields(known: &Known) -> Option<Vec<Field>> {
    let read = read_message(Dialect::Ros1, known.name, known.text.as_bytes());
    // A test reads all of them. Types that they refer to are not looked at here.
    read.ok()?.types.remove(known.name)
}

/// Goes over the fields of both, which have the same order. `seq` of headers is all that ROS 2 may lack.
fn pair<'a>(ros2: &'a [Field], ros1: &[Field], is_header: bool) -> Option<Vec<Fate<'a>>> {
    let mut fates = Vec::new();
    let mut rest = ros2.iter();
    let has_number = ros2.iter().any(|field| field.name == "seq");
    for field in ros1 {
        if is_header && field.name == "seq" && !has_number {
            fates.push(Fate::Zeros(4));
            continue;
        }
        loop {
            let next = rest.next()?;
            if next.name.eq_ignore_ascii_case(&field.name) {
                if !are_alike(next, field) {
                    return None;
                }
                fates.push(Fate::Kept(next));
                break;
            }
            fates.push(Fate::Dropped(next));
        }
    }
    fates.extend(rest.map(Fate::Dropped));
    Some(fates)
}

/// Whether a field of ROS 2 has the bytes of one of ROS 1.
fn are_alike(ros2: &Field, ros1: &Field) -> bool {
    let array = match ros2.array {
        Array::Bounded(_) => Array::Unbounded,
        array => array,
    };
    let base = match (&ros2.base, &ros1.base) {
        (BaseType::Message(name), BaseType::Stamp(_)) => is_stamp(name),
        (BaseType::Text(_), BaseType::Text(_)) => true,
        (ros2, ros1) => ros2 == ros1,
    };
    base && array == ros1.array
}

/// A log message: in ROS 1 it has a whole header, other levels, and the topics of the node at its end.
fn log(fields: &[Field]) -> Option<Vec<Fate<'_>>> {
    let [stamp, level, name, msg, file, function, line] = fields else {
        return None;
    };
    let text = BaseType::Text(None);
    let is_usual = stamp.base == BaseType::Message(TIME.to_owned())
        && level.base == BaseType::Primitive(Primitive::U8)
        && [name, msg, file, function].iter().all(|it| it.base == text)
        && line.base == BaseType::Primitive(Primitive::U32)
        && fields.iter().all(|field| field.array == Array::One);
    is_usual.then(|| {
        vec![
            // The sequence number of the header, and its frame.
            Fate::Zeros(4),
            Fate::Kept(stamp),
            Fate::Zeros(4),
            Fate::Severity,
            Fate::Kept(name),
            Fate::Kept(msg),
            Fate::Kept(file),
            Fate::Kept(function),
            Fate::Kept(line),
            Fate::Zeros(4),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_definition_can_be_read() {
        for name in [
            "std_msgs/msg/Header",
            "sensor_msgs/msg/BatteryState",
            "sensor_msgs/msg/CameraInfo",
            "sensor_msgs/msg/NavSatStatus",
            "sensor_msgs/msg/Range",
            "shape_msgs/msg/SolidPrimitive",
            "stereo_msgs/msg/DisparityImage",
            "visualization_msgs/msg/ImageMarker",
            "visualization_msgs/msg/Marker",
            ROS2_LOG,
        ] {
            let fields = own_fields(known(name).unwrap()).unwrap();
            assert!(fields.len() > 1, "{name}");
        }
    }

    #[test]
    fn fields_are_paired_in_their_order() {
        let number = |name: &str| Field {
            name: name.to_owned(),
            base: BaseType::Primitive(Primitive::F64),
            array: Array::One,
        };
        let [a, b, c] = ["a", "b", "c"].map(number);
        let (upper, ros2) = (number("B"), [a.clone(), b.clone(), c.clone()]);
        let (kept, dropped) = (Fate::Kept, Fate::Dropped);
        assert_eq!(
            pair(&ros2, std::slice::from_ref(&upper), false),
            Some(vec![dropped(&a), kept(&b), dropped(&c)])
        );
        // Another order, another type, a field that ROS 2 lacks.
        assert_eq!(pair(&ros2, &[c.clone(), a.clone()], false), None);
        let list = Field {
            array: Array::Unbounded,
            ..a.clone()
        };
        assert_eq!(pair(&ros2, &[list], false), None);
        assert_eq!(pair(&ros2, &[a.clone(), number("d")], false), None);
        let header = [number("seq"), a.clone()];
        assert_eq!(
            pair(&ros2[..1], &header, true),
            Some(vec![Fate::Zeros(4), kept(&a)])
        );
    }
}
