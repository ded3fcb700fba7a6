//! The messages of `dynamic_reconfigure` with the two parameters of a player, as ROS 1 writes them. What is read is
//! untrusted.

use crate::ros1::data::header::length;
use crate::untrusted::Foreign;

/// The name of the parameter with the rate, a `double`.
const RATE: &str = "rate";
/// The name of the parameter that says whether playback is paused, a `bool`.
const PAUSED: &str = "paused";
/// The group of all parameters. Clients need one with the number 0.
const GROUP: &str = "Default";

/// The line before the definition of a further type.
macro_rules! part {
    ($name:literal) => {
        concat!(
            "================================================================================\n",
            "MSG: dynamic_reconfigure/",
            $name,
            "\n"
        )
    };
}

/// The fields of `Config`.
macro_rules! config_fields {
    () => {
        "BoolParameter[] bools\nIntParameter[] ints\nStrParameter[] strs\nDoubleParameter[] doubles\n\
         GroupState[] groups\n"
    };
}

/// The types of these fields.
macro_rules! config_types {
    () => {
        concat!(
            part!("BoolParameter"),
            "string name\nbool value\n",
            part!("IntParameter"),
            "string name\nint32 value\n",
            part!("StrParameter"),
            "string name\nstring value\n",
            part!("DoubleParameter"),
            "string name\nfloat64 value\n",
            part!("GroupState"),
            "string name\nbool state\nint32 id\nint32 parent\n"
        )
    };
}

/// A type of message.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageType {
    pub(super) name: &'static str,
    pub(super) md5: &'static str,
    pub(super) definition: &'static str,
}

/// The values of parameters.
pub(super) const CONFIG: MessageType = MessageType {
    name: "dynamic_reconfigure/Config",
    md5: "958f16a05573709014982821e6822580",
    definition: concat!(config_fields!(), config_types!()),
};
/// Which parameters there are.
pub(super) const CONFIG_DESCRIPTION: MessageType = MessageType {
    name: "dynamic_reconfigure/ConfigDescription",
    md5: "757ce9d44ba8ddd801bb30bc456f946f",
    definition: concat!(
        "Group[] groups\nConfig max\nConfig min\nConfig dflt\n",
        part!("Group"),
        "string name\nstring type\nParamDescription[] parameters\nint32 parent\nint32 id\n",
        part!("ParamDescription"),
        "string name\nstring type\nuint32 level\nstring description\nstring edit_method\n",
        part!("Config"),
        config_fields!(),
        config_types!()
    ),
};

/// The values of the parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Values {
    pub(super) rate: f64,
    pub(super) paused: bool,
}

/// What a request sets.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Change {
    pub(super) rate: Option<f64>,
    pub(super) paused: Option<bool>,
}

/// A request that sets nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum InvalidRequest {
    /// It ends too early.
    #[error("the request is cut off")]
    CutOff,
    /// There is more than its type has.
    #[error("the request is followed by {} byte{}", .0, if *.0 == 1 { "" } else { "s" })]
    TooLong(usize),
    /// There is no parameter of this name and type.
    #[error(
        "there is no parameter `{}` of type {kind}: `{RATE}` is a double, `{PAUSED}` a bool",
        Foreign::bytes(.name).at_most(100)
    )]
    Unknown { name: Vec<u8>, kind: &'static str },
}

/// A `Config` with these values: also the response of `Reconfigure`.
pub(super) fn config(values: Values) -> Vec<u8> {
    let mut bytes = Writer::default();
    bytes.config(values);
    bytes.0
}

/// A `ConfigDescription`.
pub(super) fn description(most: Values, least: Values, usual: Values) -> Vec<u8> {
    let mut bytes = Writer::default();
    bytes.count(1);
    bytes.text(GROUP);
    bytes.text("");
    bytes.count(2);
    for (name, kind, about) in [
        (
            RATE,
            "double",
            "How fast it plays; 1 as recorded, negative backwards, inf as fast as possible",
        ),
        (PAUSED, "bool", "Whether playback is paused"),
    ] {
        bytes.text(name);
        bytes.text(kind);
        bytes.number(0);
        bytes.text(about);
        bytes.text("");
    }
    let (parent, id) = (0, 0);
    bytes.number(parent);
    bytes.number(id);
    for values in [most, least, usual] {
        bytes.config(values);
    }
    bytes.0
}

#[derive(Debug, Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn count(&mut self, count: usize) {
        self.0.extend(length(count));
    }

    fn number(&mut self, number: i32) {
        self.0.extend(number.to_le_bytes());
    }

    fn bool(&mut self, value: bool) {
        self.0.push(value.into());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend(text.as_bytes());
    }

    fn config(&mut self, values: Values) {
        self.count(1);
        self.text(PAUSED);
        self.bool(values.paused);
        let (ints, strs) = (0, 0);
        self.count(ints);
        self.count(strs);
        self.count(1);
        self.text(RATE);
        self.0.extend(values.rate.to_le_bytes());
        self.count(1);
        self.text(GROUP);
        let (is_open, id, parent) = (true, 0, 0);
        self.bool(is_open);
        self.number(id);
        self.number(parent);
    }
}

/// What a request of `Reconfigure` sets. Of several values of a parameter, the last one counts. Groups, which clients
/// send back as they got them, change nothing.
pub(super) fn read_change(request: &[u8]) -> Result<Change, InvalidRequest> {
    let mut rest = Reader(request);
    let mut change = Change::default();
    let unknown = |name: &[u8], kind| InvalidRequest::Unknown {
        name: name.to_vec(),
        kind,
    };
    // Nothing is kept of an element, so its count may be anything.
    for _ in 0..rest.count()? {
        let (name, [value]) = (rest.text()?, rest.array()?);
        if name != PAUSED.as_bytes() {
            return Err(unknown(name, "bool"));
        }
        change.paused = Some(value != 0);
    }
    if rest.count()? > 0 {
        return Err(unknown(rest.text()?, "int"));
    }
    if rest.count()? > 0 {
        return Err(unknown(rest.text()?, "str"));
    }
    for _ in 0..rest.count()? {
        let (name, value) = (rest.text()?, rest.array()?);
        if name != RATE.as_bytes() {
            return Err(unknown(name, "double"));
        }
        change.rate = Some(f64::from_le_bytes(value));
    }
    for _ in 0..rest.count()? {
        rest.text()?;
        // State, number, number of the parent.
        rest.array::<9>()?;
    }
    match rest.0.len() {
        0 => Ok(change),
        more => Err(InvalidRequest::TooLong(more)),
    }
}

/// The part of a request that is not read yet.
#[derive(Debug)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], InvalidRequest> {
        let split = self.0.split_first_chunk();
        let (taken, rest) = split.ok_or(InvalidRequest::CutOff)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn count(&mut self) -> Result<u32, InvalidRequest> {
        self.array().map(u32::from_le_bytes)
    }

    fn text(&mut self) -> Result<&'a [u8], InvalidRequest> {
        let length = self.count()? as usize;
        let split = self.0.split_at_checked(length);
        let (text, rest) = split.ok_or(InvalidRequest::CutOff)?;
        self.0 = rest;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros1::data::md5::md5_of;

    const USUAL: Values = Values {
        rate: 1.0,
        paused: false,
    };

    /// A `Config` as `genpy` writes it: lists of bools, ints, texts and doubles with their names.
    fn request(bools: &[(&str, u8)], ints: &[(&str, i32)], doubles: &[(&str, f64)]) -> Vec<u8> {
        let mut bytes = Writer::default();
        bytes.count(bools.len());
        for (name, value) in bools {
            bytes.text(name);
            bytes.0.push(*value);
        }
        bytes.count(ints.len());
        for (name, value) in ints {
            bytes.text(name);
            bytes.number(*value);
        }
        bytes.count(0);
        bytes.count(doubles.len());
        for (name, value) in doubles {
            bytes.text(name);
            bytes.0.extend(value.to_le_bytes());
        }
        bytes.count(0);
        bytes.0
    }

    #[test]
    fn the_definitions_have_the_known_sums() {
        for kind in [CONFIG, CONFIG_DESCRIPTION] {
            let sum = md5_of(kind.name, kind.definition.as_bytes()).unwrap();
            assert_eq!(sum, kind.md5, "{}", kind.name);
        }
    }

    #[test]
    fn values_are_written_as_genpy_writes_them() {
        let expected = b"\x01\0\0\0\x06\0\0\0paused\x01\
            \0\0\0\0\0\0\0\0\
            \x01\0\0\0\x04\0\0\0rate\0\0\0\0\0\0\xf8\x3f\
            \x01\0\0\0\x07\0\0\0Default\x01\0\0\0\0\0\0\0\0";
        let values = Values {
            rate: 1.5,
            paused: true,
        };
        assert_eq!(config(values), expected);
        let both = Change {
            rate: Some(1.5),
            paused: Some(true),
        };
        assert_eq!(read_change(expected), Ok(both));
        let described = description(values, USUAL, USUAL);
        assert!(described.starts_with(
            b"\x01\0\0\0\x07\0\0\0Default\0\0\0\0\x02\0\0\0\x04\0\0\0rate\x06\0\0\0double\0\0\0\0"
        ));
        let end = [config(values), config(USUAL), config(USUAL)].concat();
        assert!(described.ends_with(&end));
    }

    #[test]
    fn a_request_sets_what_it_names() {
        assert_eq!(read_change(&request(&[], &[], &[])), Ok(Change::default()));
        let last = request(&[("paused", 0), ("paused", 7)], &[], &[("rate", 2.0)]);
        let change = read_change(&last).unwrap();
        assert_eq!((change.rate, change.paused), (Some(2.0), Some(true)));
    }

    #[test]
    fn other_parameters_and_broken_requests_are_refused() {
        for (request, says) in [
            (
                request(&[("rate", 1)], &[], &[]),
                "there is no parameter `rate` of type bool: `rate` is a double, `paused` a bool",
            ),
            (
                request(&[], &[("rate", 1)], &[]),
                "there is no parameter `rate` of type int: `rate` is a double, `paused` a bool",
            ),
            (
                request(&[], &[], &[("a\u{1b}b", 1.0)]),
                "there is no parameter `a\\u{1b}b` of type double: `rate` is a double, `paused` a bool",
            ),
            (
                [config(USUAL), vec![1, 2]].concat(),
                "the request is followed by 2 bytes",
            ),
        ] {
            assert_eq!(read_change(&request).unwrap_err().to_string(), says);
        }
        let whole = config(USUAL);
        for end in 0..whole.len() {
            assert_eq!(
                read_change(&whole[..end]),
                Err(InvalidRequest::CutOff),
                "{end}"
            );
        }
        // The number of bools, with one bool, and the length of its name announce more than there is.
        for (at, end) in [(0, 15), (4, whole.len())] {
            let mut huge = whole[..end].to_vec();
            huge[at..at + 4].fill(0xff);
            assert_eq!(read_change(&huge), Err(InvalidRequest::CutOff), "{at}");
        }
    }
}
