//! [`Decoded`], the result, and [`LineWriter`], which counts lines and steps: all formats write through it.
//!
//! A [`Stop`] ends decoding early; the lines written so far are kept.

use super::payload_reader::TooShort;
use super::text::escaped_text;

/// The longest problem text, in characters.
const MAX_PROBLEM_CHARACTERS: usize = 200;

/// How much of a message is shown, and how much work decoding may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The most lines.
    pub lines: usize,
    /// The most characters of a name or a value.
    pub characters: usize,
    /// The most elements of an array, from the first one on.
    pub elements: usize,
    /// The largest [`FieldLine::depth`].
    pub depth: usize,
    /// The most fields and elements that are processed, shown or not.
    pub steps: usize,
}

impl Limits {
    /// A few screens of text, decoded in a few milliseconds.
    pub const SCREENS: Self = Self {
        lines: 400,
        characters: 160,
        elements: 8,
        depth: 12,
        steps: 1 << 16,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::SCREENS
    }
}

/// A line: one field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldLine {
    /// How deep the field is nested; 0 at the top.
    pub depth: usize,
    /// Its name; `[3]` for an element; an offset for bytes.
    pub name: String,
    /// Its value on one line; empty for a nested message, whose fields follow.
    pub value: String,
}

/// The format from which a message was decoded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PayloadFormat {
    /// CDR with a `ros2msg` definition.
    Cdr,
    /// ROS 1 serialization with a `ros1msg` definition.
    Ros1,
    /// Protobuf with a descriptor set.
    Protobuf,
    /// JSON text.
    Json,
    /// Not decoded, shown as bytes; [`Decoded::problem`] gives the reason.
    Hex,
}

/// A message as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decoded {
    /// Its fields in order, as far as the limits allow.
    pub lines: Vec<FieldLine>,
    /// The format.
    pub format: PayloadFormat,
    /// Why the message is shown as bytes, why the lines end early, or that bytes were left over. One line, fit for a
    /// terminal.
    pub problem: Option<String>,
    /// Whether fields are missing because of the limits. Arrays and values that are shown in part indicate that
    /// themselves.
    pub is_cut: bool,
}

/// Why decoding ended early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// A limit is reached.
    Cut,
    /// The payload is too short for the next field.
    TooShort(TooShort),
    /// Something else is wrong with it.
    Problem(String),
}

impl Stop {
    /// Adds the name of the field, if the reason does not have one.
    pub(super) fn in_field(self, name: &str) -> Self {
        match self {
            Self::TooShort(TooShort { at, needed, left }) => Self::Problem(format!(
                "byte {at}: `{name}` needs {needed} bytes, {left} are left"
            )),
            other => other,
        }
    }
}

impl From<TooShort> for Stop {
    fn from(short: TooShort) -> Self {
        Self::TooShort(short)
    }
}

/// The lines so far.
#[derive(Debug)]
pub(super) struct LineWriter {
    pub(super) limits: Limits,
    pub(super) lines: Vec<FieldLine>,
    pub(super) is_cut: bool,
    steps: usize,
}

impl LineWriter {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            lines: Vec::new(),
            is_cut: false,
            steps: 0,
        }
    }

    /// Counts a field or element that is processed.
    pub(super) fn step(&mut self) -> Result<(), Stop> {
        if self.steps >= self.limits.steps {
            return Err(Stop::Cut);
        }
        self.steps += 1;
        Ok(())
    }

    /// Adds a line. `value` is complete; the name is escaped and shortened here.
    pub(super) fn line(&mut self, depth: usize, name: &str, value: String) -> Result<(), Stop> {
        if self.lines.len() >= self.limits.lines {
            return Err(Stop::Cut);
        }
        let name = escaped_text(name, self.limits.characters);
        self.lines.push(FieldLine { depth, name, value });
        Ok(())
    }

    /// The result, however decoding ended.
    pub(super) fn finish(self, format: PayloadFormat, end: Result<(), Stop>) -> Decoded {
        let is_cut = self.is_cut || end == Err(Stop::Cut);
        let problem = match end {
            Ok(()) | Err(Stop::Cut) => None,
            Err(Stop::TooShort(short)) => Some(short.to_string()),
            Err(Stop::Problem(problem)) => Some(problem),
        };
        Decoded {
            lines: self.lines,
            format,
            problem: problem.map(|problem| escaped_text(&problem, MAX_PROBLEM_CHARACTERS)),
            is_cut,
        }
    }
}
