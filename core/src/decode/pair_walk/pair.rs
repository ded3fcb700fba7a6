//! [`PairWalk`]: compares the messages of a topic of one recording with those of a topic of another.

use std::collections::BTreeMap;

use super::field_rules::FieldRules;
use super::path::FieldPath;
use super::pattern::FieldPattern;
use super::side::Side;
use super::types::{names_a_field, type_differences};
use super::walk::{Difference, Terms, Values, Walk};
use crate::bag::Topic;
use crate::decode::decoder::{Method, method};
use crate::decode::text::escaped_text;
use crate::decode::type_layout::{FieldLayout, TypeLayout};

/// The most characters of a reason.
const MAX_CHARACTERS: usize = 200;

/// Compares payloads of two topics, field by field if both have a definition, else byte by byte. Definitions are parsed
/// once, when it is made.
#[derive(Clone, Debug)]
pub struct PairWalk {
    form: Form,
    rules: FieldRules,
    type_differences: Vec<String>,
}

#[derive(Clone, Debug)]
enum Form {
    Fields {
        left: Box<TypeLayout>,
        right: Box<TypeLayout>,
        /// For each message of the right layout its fields by name; `None` if the layouts are equal.
        by_name: Option<Vec<BTreeMap<String, usize>>>,
    },
    /// Why there are no fields.
    Bytes(String),
}

impl PairWalk {
    /// The first payloads will be those of `left`, called the reference; the second those of `right`, called the run.
    pub fn new(left: &Topic, right: &Topic, rules: FieldRules) -> Self {
        let (a, b) = (left.type_name(), right.type_name());
        let mut differing = Vec::new();
        if a != b {
            let (a, b) = (escaped_text(a, 100), escaped_text(b, 100));
            differing.push(format!(
                "the type is `{a}` in the reference and `{b}` in the run"
            ));
        }
        let mut methods = (method(left), method(right));
        if is_same_type(left, right) {
            match &methods {
                (Ok(known), Err(_)) => methods.1 = Ok(known.clone()),
                (Err(_), Ok(known)) => methods.0 = Ok(known.clone()),
                _ => {}
            }
        }
        let form = match methods {
            (Ok(Method::Ros(left)), Ok(Method::Ros(right))) => {
                let by_name = (left != right).then(|| {
                    differing.extend(type_differences(&left, &right, &rules));
                    names(&right)
                });
                Form::Fields {
                    left: Box::new(left),
                    right: Box::new(right),
                    by_name,
                }
            }
            (Ok(Method::Json), Ok(Method::Json)) => Form::Bytes("JSON is compared as text".into()),
            (Ok(Method::Protobuf(_)), Ok(Method::Protobuf(_))) => {
                Form::Bytes("protobuf is compared byte by byte".into())
            }
            (Err(reason), Err(_)) => Form::Bytes(escaped_text(&reason, MAX_CHARACTERS)),
            (left, right) => {
                let words = |method: Result<Method, String>| match method {
                    Ok(Method::Ros(_)) => "a definition".to_owned(),
                    Ok(Method::Protobuf(_)) => "protobuf".to_owned(),
                    Ok(Method::Json) => "JSON".to_owned(),
                    Err(reason) => escaped_text(&reason, MAX_CHARACTERS),
                };
                let (left, right) = (words(left), words(right));
                differing.push(format!("in the reference: {left}; in the run: {right}"));
                Form::Bytes("only one side has a definition that can be used".into())
            }
        };
        Self {
            form,
            rules,
            type_differences: differing,
        }
    }

    /// In what the types differ, one sentence each, at most about twenty; fields that the rules ignore do not count.
    pub fn type_differences(&self) -> &[String] {
        &self.type_differences
    }

    /// Why payloads are compared byte by byte; `None` if they are compared by field.
    pub fn as_bytes(&self) -> Option<&str> {
        match &self.form {
            Form::Bytes(reason) => Some(reason),
            Form::Fields { .. } => None,
        }
    }

    /// Whether the pattern names a field of either type.
    pub fn has(&self, pattern: &FieldPattern) -> bool {
        match &self.form {
            Form::Bytes(_) => false,
            Form::Fields { left, right, .. } => {
                names_a_field(left, pattern) || names_a_field(right, pattern)
            }
        }
    }

    /// Compares two payloads; `out` gets each field that differs, in the order of the first definition. If it is not
    /// called, the payloads are equal. A payload that cannot be read to its end differs from all others.
    pub fn compare(
        &self,
        left: &[u8],
        right: &[u8],
        out: &mut dyn FnMut(&FieldPath, &Difference<'_>),
    ) {
        let Form::Fields {
            left: left_layout,
            right: right_layout,
            by_name,
        } = &self.form
        else {
            return compare_bytes(left, right, out);
        };
        let passes_equal_bytes = !self.rules.equal_bytes_may_differ();
        if passes_equal_bytes && by_name.is_none() && left == right {
            return;
        }
        let sizes = (left.len(), right.len());
        match (Side::new(left_layout, left), Side::new(right_layout, right)) {
            (Ok(left), Ok(right)) => {
                let terms = Terms {
                    rules: &self.rules,
                    by_name: by_name.as_deref(),
                    passes_equal_bytes,
                };
                Walk::new(left, right, terms, out).compare_all(sizes);
            }
            _ => compare_bytes(left, right, out),
        }
    }
}

/// Whether both have the same definition, also if only one was recorded.
fn is_same_type(left: &Topic, right: &Topic) -> bool {
    left.type_hash.is_some()
        && left.type_hash == right.type_hash
        && left.type_name() == right.type_name()
        && left.encoding == right.encoding
}

/// Payloads as arrays of bytes.
fn compare_bytes(left: &[u8], right: &[u8], out: &mut dyn FnMut(&FieldPath, &Difference<'_>)) {
    let pairs = || left.iter().zip(right);
    let common = left.len().min(right.len());
    let first = pairs().position(|(a, b)| a != b).unwrap_or(common);
    if first == common && left.len() == right.len() {
        return;
    }
    let differing = pairs().filter(|(a, b)| a != b).count() + left.len().abs_diff(right.len());
    let mut path = FieldPath::default();
    path.enter_field("bytes");
    path.enter_element(first as u64);
    let difference = Difference {
        values: Values::Bytes((&left[first..], left.len()), (&right[first..], right.len())),
        count: differing as u64,
        largest: None,
    };
    out(&path, &difference);
}

fn names(layout: &TypeLayout) -> Vec<BTreeMap<String, usize>> {
    let of_message = |fields: &[FieldLayout]| {
        let names = fields.iter().map(|field| field.name.clone());
        names.zip(0..).collect()
    };
    let messages = layout.messages.iter();
    messages
        .map(|message| of_message(&message.fields))
        .collect()
}
