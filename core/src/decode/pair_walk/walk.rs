//! [`Walk`]: two payloads, walked over side by side.
//!
//! What has a fixed size and equal bytes on both sides is passed in one step. If the definitions differ, the fields
//! that both have are compared, wherever they are.

use std::collections::BTreeMap;

use super::arrays::{Numbers, differences};
use super::field_rules::{FieldRules, Scope};
use super::path::FieldPath;
use super::scalar::Scalar;
use super::side::{Side, Work};
use crate::decode::decoded::Stop;
use crate::decode::decoder::MAX_PADDING;
use crate::decode::text::quoted;
use crate::decode::type_layout::{ElementType, FieldLayout};
use crate::ros::definition::{Array, Primitive};

/// What differs in a field.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference<'a> {
    /// Both values; of an array of numbers the first that differ.
    pub values: Values<'a>,
    /// How many values differ: those of an array, else 1.
    pub count: u64,
    /// The largest distance of two numbers that differ, if it is finite; of stamps, in seconds.
    pub largest: Option<f64>,
}

/// Two values that differ: of the first and of the second payload.
#[derive(Clone, PartialEq, Debug)]
pub enum Values<'a> {
    /// Two values.
    Scalars(Scalar<'a>, Scalar<'a>),
    /// The numbers of elements of two arrays, whose elements are not compared.
    Lengths(u64, u64),
    /// The bytes from the first one on that differs, and the lengths of all bytes.
    Bytes((&'a [u8], usize), (&'a [u8], usize)),
    /// A payload that cannot be read on, told in words.
    Unreadable(String, String),
}

impl Values<'_> {
    /// Both values for display, each in at most so many characters.
    pub fn texts(&self, characters: usize) -> (String, String) {
        let cut = |text: &String| text.chars().take(characters).collect();
        let lengths = |count: &u64| format!("{count} elements");
        let bytes = |(bytes, length): &(&[u8], usize)| {
            let text = quoted(bytes, characters.min(48));
            format!("{text} of {length} bytes")
        };
        match self {
            Self::Scalars(left, right) => (left.text(characters), right.text(characters)),
            Self::Lengths(left, right) => (lengths(left), lengths(right)),
            Self::Bytes(left, right) => (bytes(left), bytes(right)),
            Self::Unreadable(left, right) => (cut(left), cut(right)),
        }
    }
}

/// What both walks of a topic have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms<'a> {
    pub(super) rules: &'a FieldRules,
    /// For each message of the second layout its fields by name; `None` if the layouts are equal.
    pub(super) by_name: Option<&'a [BTreeMap<String, usize>]>,
    /// Whether equal bytes are equal values.
    pub(super) passes_equal_bytes: bool,
}

/// Which payload cannot be read on, and why.
#[derive(Debug)]
enum Broken {
    Left(Stop),
    Right(Stop),
}

/// Two payloads and the place in both.
pub(super) struct Walk<'a, 'o> {
    left: Side<'a>,
    right: Side<'a>,
    terms: Terms<'a>,
    path: FieldPath,
    work: Work,
    out: &'o mut dyn FnMut(&FieldPath, &Difference<'_>),
}

impl<'a, 'o> Walk<'a, 'o> {
    pub(super) fn new(
        left: Side<'a>,
        right: Side<'a>,
        terms: Terms<'a>,
        out: &'o mut dyn FnMut(&FieldPath, &Difference<'_>),
    ) -> Self {
        Self {
            work: Work::for_bytes(left.left().saturating_add(right.left())),
            left,
            right,
            terms,
            path: FieldPath::default(),
            out,
        }
    }

    /// Walks over both payloads, which have so many bytes; what differs goes to `out`.
    pub(super) fn compare_all(mut self, sizes: (usize, usize)) {
        let roots = (self.left.layout.root(), self.right.layout.root());
        let scope = self.terms.rules.root();
        let whole = if scope.is_ignored {
            return;
        } else {
            self.message(roots.0, roots.1, &scope)
        };
        let (left, right) = match whole.and_then(|()| self.rest()) {
            Ok(()) => return,
            Err(Broken::Left(stop)) => (words(sizes.0, Some(stop)), words(sizes.1, None)),
            Err(Broken::Right(stop)) => (words(sizes.0, None), words(sizes.1, Some(stop))),
        };
        self.tell(Values::Unreadable(left, right), 1, None);
    }

    /// What follows the last field, other than padding.
    fn rest(&mut self) -> Result<(), Broken> {
        if self.left.left() <= MAX_PADDING && self.right.left() <= MAX_PADDING {
            return Ok(());
        }
        let left = self.left.rest().map_err(Broken::Left)?;
        let right = self.right.rest().map_err(Broken::Right)?;
        if left != right {
            let words = |bytes: &[u8]| format!("{} bytes after the last field", bytes.len());
            self.tell(Values::Unreadable(words(left), words(right)), 1, None);
        }
        Ok(())
    }

    fn message(&mut self, left: usize, right: usize, scope: &Scope<'_>) -> Result<(), Broken> {
        let (left_fields, right_fields) = (self.left.fields(left), self.right.fields(right));
        let Some(by_name) = self.terms.by_name else {
            for field in left_fields {
                self.field(field, field, scope)?;
            }
            return Ok(());
        };
        let mut starts = Vec::with_capacity(right_fields.len());
        for field in right_fields {
            starts.push(self.right.clone());
            let skipped = self.right.skip_field(field, &mut self.work);
            skipped.map_err(Broken::Right)?;
        }
        let end = self.right.clone();
        for field in left_fields {
            if let Some(other) = by_name[right].get(&field.name) {
                self.right = starts[*other].clone();
                self.field(field, &right_fields[*other], scope)?;
            } else {
                let skipped = self.left.skip_field(field, &mut self.work);
                skipped.map_err(Broken::Left)?;
            }
        }
        self.right = end;
        Ok(())
    }

    /// Compares a field; both sides are after it then.
    fn field(
        &mut self,
        left: &'a FieldLayout,
        right: &'a FieldLayout,
        scope: &Scope<'_>,
    ) -> Result<(), Broken> {
        self.work.step().map_err(Broken::Left)?;
        let fixed = match (left.array, right.array) {
            (Array::One, Array::One) => Some(1),
            (Array::Fixed(a), Array::Fixed(b)) if a == b => Some(a),
            _ => None,
        };
        if let Some(count) = fixed
            && self.pass_equal_bytes(left.element_type, right.element_type, count)
        {
            return Ok(());
        }
        let scope = scope.field(&left.name);
        let is_array = left.array != Array::One;
        let is_comparable = is_array == (right.array != Array::One)
            && are_comparable(left.element_type, right.element_type);
        if scope.is_ignored || !is_comparable || left.is_placeholder {
            let skipped = self.left.skip_field(left, &mut self.work);
            skipped.map_err(Broken::Left)?;
            let skipped = self.right.skip_field(right, &mut self.work);
            return skipped.map_err(Broken::Right);
        }
        self.path.enter_field(&left.name);
        let types = (left.element_type, right.element_type);
        if is_array {
            let counts = (
                self.left.count(left).map_err(Broken::Left)?,
                self.right.count(right).map_err(Broken::Right)?,
            );
            self.array(types, counts, &scope)?;
        } else {
            self.one(types, &scope)?;
        }
        self.path.leave();
        Ok(())
    }

    fn array(
        &mut self,
        types: (ElementType, ElementType),
        counts: (u64, u64),
        scope: &Scope<'_>,
    ) -> Result<(), Broken> {
        if counts.0 != counts.1 {
            self.tell(Values::Lengths(counts.0, counts.1), 1, None);
            return self.skip_both(types, counts);
        }
        let count = counts.0;
        let every = scope.every_element();
        if let (ElementType::Primitive(left), ElementType::Primitive(right), Some(scope)) =
            (types.0, types.1, &every)
        {
            return self.numbers((left, right), count, scope);
        }
        if self.pass_equal_bytes(types.0, types.1, count) {
            return Ok(());
        }
        for index in 0..count {
            self.work.step().map_err(Broken::Left)?;
            if self.pass_equal_bytes(types.0, types.1, 1) {
                continue;
            }
            let named = every.is_none().then(|| scope.element(index));
            let scope = every.as_ref().or(named.as_ref()).unwrap_or(scope);
            if scope.is_ignored {
                self.skip_both(types, (1, 1))?;
                continue;
            }
            self.path.enter_element(index);
            self.one(types, scope)?;
            self.path.leave();
        }
        Ok(())
    }

    /// An array of numbers of one length on both sides.
    fn numbers(
        &mut self,
        primitives: (Primitive, Primitive),
        count: u64,
        scope: &Scope<'_>,
    ) -> Result<(), Broken> {
        let left = Numbers {
            order: self.left.order(),
            raw: self
                .left
                .numbers(primitives.0, count)
                .map_err(Broken::Left)?,
            primitive: primitives.0,
        };
        let right = Numbers {
            order: self.right.order(),
            raw: self
                .right
                .numbers(primitives.1, count)
                .map_err(Broken::Right)?,
            primitive: primitives.1,
        };
        if scope.is_ignored {
            return Ok(());
        }
        let passes_equal = self.terms.passes_equal_bytes;
        if let Some(found) = differences(left, right, scope.tolerance, passes_equal) {
            self.path.enter_element(found.first as u64);
            let values = Values::Scalars(found.values.0, found.values.1);
            self.tell(values, found.count, found.largest);
            self.path.leave();
        }
        Ok(())
    }

    /// One element: a message or a value.
    fn one(&mut self, types: (ElementType, ElementType), scope: &Scope<'_>) -> Result<(), Broken> {
        if let (ElementType::Message(left), ElementType::Message(right)) = types {
            return self.message(left, right, scope);
        }
        let left = self.left.scalar(types.0).map_err(Broken::Left)?;
        let right = self.right.scalar(types.1).map_err(Broken::Right)?;
        if let (Some(left), Some(right)) = (left, right)
            && !scope.tolerance.allows(&left, &right)
        {
            self.tell(Values::Scalars(left, right), 1, left.distance(&right));
        }
        Ok(())
    }

    /// Passes elements of fixed size if their bytes are equal.
    fn pass_equal_bytes(&mut self, left: ElementType, right: ElementType, count: u64) -> bool {
        let is_same_type = match (left, right) {
            (ElementType::Message(left), ElementType::Message(right)) => {
                self.terms.by_name.is_none() && left == right
            }
            _ => left == right,
        };
        let is_alike = self.terms.passes_equal_bytes
            && is_same_type
            && self.left.order() == self.right.order()
            && self.left.phase() == self.right.phase()
            && self.left.layout.wire_format == self.right.layout.wire_format;
        if !is_alike {
            return false;
        }
        let (mut a, mut b) = (self.left.clone(), self.right.clone());
        match (a.raw(left, count), b.raw(right, count)) {
            (Ok(Some(left)), Ok(Some(right))) if left == right => {
                (self.left, self.right) = (a, b);
                true
            }
            _ => false,
        }
    }

    fn skip_both(
        &mut self,
        types: (ElementType, ElementType),
        counts: (u64, u64),
    ) -> Result<(), Broken> {
        let skipped = self.left.skip(types.0, counts.0, &mut self.work);
        skipped.map_err(Broken::Left)?;
        let skipped = self.right.skip(types.1, counts.1, &mut self.work);
        skipped.map_err(Broken::Right)
    }

    fn tell(&mut self, values: Values<'_>, count: u64, largest: Option<f64>) {
        let difference = Difference {
            values,
            count,
            largest,
        };
        (self.out)(&self.path, &difference);
    }
}

/// Whether values of these types can be equal.
fn are_comparable(left: ElementType, right: ElementType) -> bool {
    matches!(
        (left, right),
        (ElementType::Primitive(_), ElementType::Primitive(_))
            | (ElementType::Text, ElementType::Text)
            | (ElementType::WideText, ElementType::WideText)
            | (ElementType::Stamp(_), ElementType::Stamp(_))
            | (ElementType::Message(_), ElementType::Message(_))
    )
}

fn words(size: usize, stop: Option<Stop>) -> String {
    match stop {
        None => format!("{size} bytes"),
        Some(Stop::Cut) => format!("{size} bytes: too many fields to compare them all"),
        Some(Stop::TooShort(short)) => format!("{size} bytes, cannot be read on: {short}"),
        Some(Stop::Problem(problem)) => format!("{size} bytes, cannot be read on: {problem}"),
    }
}
