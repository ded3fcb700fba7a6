//! [`Decoded`], what comes out, and the counting of what may: every form of decoding writes through an [`Out`].
//!
//! A [`Stop`] ends decoding early; the lines that are there stay.

use super::bytes::Short;
use super::text::plain;

/// How long a problem may be.
const PROBLEM: usize = 200;

/// How much of a message is shown, and how much work that may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Lines.
    pub lines: usize,
    /// Characters of a name or a value.
    pub characters: usize,
    /// Elements of an array, from its first one.
    pub elements: usize,
    /// The largest [`Line::depth`].
    pub depth: usize,
    /// Fields and elements that are looked at, shown or not.
    pub steps: usize,
}

impl Limits {
    /// A few screens full, a few milliseconds.
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

/// A field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// How deep the field is nested; 0 at the top.
    pub depth: usize,
    /// Its name, `[3]` for an element, an offset for bytes.
    pub name: String,
    /// Its value on one line; empty for a nested message, whose fields follow.
    pub value: String,
}

/// What a message was decoded as.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum How {
    /// CDR by a `ros2msg` definition.
    Cdr,
    /// ROS 1 serialization by a `ros1msg` definition.
    Ros1,
    /// JSON text.
    Json,
    /// Its bytes; [`Decoded::problem`] says why.
    Hex,
}

/// A message as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decoded {
    /// Its fields in order, as far as the limits allow.
    pub lines: Vec<Line>,
    /// What it was decoded as.
    pub how: How,
    /// Why it is shown as bytes, why it ends where it does, or that bytes were left over: one line, ready for
    /// a terminal.
    pub problem: Option<String>,
    /// Whether fields are missing that the limits left no room for. Arrays and values that are shown in part
    /// say so themselves.
    pub is_cut: bool,
}

/// Why decoding ended early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// A limit is reached.
    Cut,
    /// The payload is too short for what should come.
    Short(Short),
    /// Something else is wrong with it.
    Problem(String),
}

impl Stop {
    /// Says in which field it was, if nobody did.
    pub(super) fn in_field(self, name: &str) -> Self {
        match self {
            Self::Short(Short { at, needed, left }) => Self::Problem(format!(
                "`{name}` at byte {at} needs {needed} bytes, {left} are left"
            )),
            other => other,
        }
    }
}

impl From<Short> for Stop {
    fn from(short: Short) -> Self {
        Self::Short(short)
    }
}

/// The lines so far.
#[derive(Debug)]
pub(super) struct Out {
    pub(super) limits: Limits,
    pub(super) lines: Vec<Line>,
    pub(super) is_cut: bool,
    steps: usize,
}

impl Out {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            lines: Vec::new(),
            is_cut: false,
            steps: 0,
        }
    }

    /// Counts a field or an element that is looked at.
    pub(super) fn step(&mut self) -> Result<(), Stop> {
        if self.steps >= self.limits.steps {
            return Err(Stop::Cut);
        }
        self.steps += 1;
        Ok(())
    }

    /// Adds a line. `value` is ready; the name is escaped and shortened here.
    pub(super) fn line(&mut self, depth: usize, name: &str, value: String) -> Result<(), Stop> {
        if self.lines.len() >= self.limits.lines {
            return Err(Stop::Cut);
        }
        let name = plain(name, self.limits.characters);
        self.lines.push(Line { depth, name, value });
        Ok(())
    }

    /// The end of it, however it came.
    pub(super) fn finish(self, how: How, end: Result<(), Stop>) -> Decoded {
        let is_cut = self.is_cut || end == Err(Stop::Cut);
        let problem = match end {
            Ok(()) | Err(Stop::Cut) => None,
            Err(Stop::Short(short)) => Some(short.to_string()),
            Err(Stop::Problem(problem)) => Some(problem),
        };
        Decoded {
            lines: self.lines,
            how,
            problem: problem.map(|problem| plain(&problem, PROBLEM)),
            is_cut,
        }
    }
}
