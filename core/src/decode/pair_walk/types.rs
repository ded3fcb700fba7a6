//! [`type_differences`]: in what two definitions differ, told once for all messages of a topic.

use std::collections::BTreeSet;

use super::field_rules::{FieldRules, Scope};
use super::path::FieldPath;
use super::pattern::{FieldPattern, Step};
use crate::decode::type_layout::{ElementType, FieldLayout, Stamp, TypeLayout};
use crate::ros::definition::Array;

/// How many differences are told.
const MOST: usize = 20;
/// How many pairs of messages are looked at.
const MOST_PAIRS: usize = 4096;
/// The most characters of a path.
const PATH_CHARACTERS: usize = 200;

/// One sentence for each field that only one definition has, or that has another type. Ignored fields do not count.
pub(super) fn type_differences(
    left: &TypeLayout,
    right: &TypeLayout,
    rules: &FieldRules,
) -> Vec<String> {
    let mut comparison = Comparison {
        layouts: (left, right),
        seen: BTreeSet::new(),
        path: FieldPath::default(),
        found: Vec::new(),
    };
    comparison.messages(left.root(), right.root(), &rules.root());
    comparison.found
}

struct Comparison<'a> {
    layouts: (&'a TypeLayout, &'a TypeLayout),
    seen: BTreeSet<(usize, usize)>,
    path: FieldPath,
    found: Vec<String>,
}

impl Comparison<'_> {
    fn messages(&mut self, left: usize, right: usize, scope: &Scope<'_>) {
        let is_full = self.seen.len() >= MOST_PAIRS || self.found.len() >= MOST;
        if is_full || !self.seen.insert((left, right)) {
            return;
        }
        let (left_layout, right_layout) = self.layouts;
        let left_fields = &left_layout.messages[left].fields;
        let right_fields = &right_layout.messages[right].fields;
        for field in left_fields.iter().filter(|field| !field.is_placeholder) {
            let other = right_fields.iter().find(|other| other.name == field.name);
            self.field(Some(field), other, scope);
        }
        for field in right_fields.iter().filter(|field| !field.is_placeholder) {
            if !left_fields.iter().any(|other| other.name == field.name) {
                self.field(None, Some(field), scope);
            }
        }
    }

    fn field(
        &mut self,
        left: Option<&FieldLayout>,
        right: Option<&FieldLayout>,
        scope: &Scope<'_>,
    ) {
        let Some(name) = left.or(right).map(|field| field.name.as_str()) else {
            return;
        };
        let scope = scope.field(name);
        if scope.is_ignored || self.found.len() >= MOST {
            return;
        }
        self.path.enter_field(name);
        let path: String = self.path.general().chars().take(PATH_CHARACTERS).collect();
        match (left, right) {
            (Some(left), None) => {
                let found = format!("`{path}` ({}) is only in the reference", type_text(left));
                self.found.push(found);
            }
            (None, Some(right)) => {
                let found = format!("`{path}` ({}) is only in the run", type_text(right));
                self.found.push(found);
            }
            (Some(left), Some(right)) => {
                let (a, b) = (type_text(left), type_text(right));
                if a != b {
                    let found = format!("`{path}` is {a} in the reference and {b} in the run");
                    self.found.push(found);
                }
                if let (ElementType::Message(a), ElementType::Message(b)) =
                    (left.element_type, right.element_type)
                {
                    let is_array = left.array != Array::One;
                    if is_array {
                        self.path.enter_element(0);
                    }
                    self.messages(a, b, &scope);
                    if is_array {
                        self.path.leave();
                    }
                }
            }
            (None, None) => {}
        }
        self.path.leave();
    }
}

fn type_text(field: &FieldLayout) -> String {
    let element = match field.element_type {
        ElementType::Primitive(primitive) => primitive.ros2_name(),
        ElementType::Text => "string",
        ElementType::WideText => "wstring",
        ElementType::Stamp(Stamp::Ros1Duration) => "a duration",
        ElementType::Stamp(_) => "a time",
        ElementType::Message(_) => "a message",
    };
    match field.array {
        Array::One => element.to_owned(),
        Array::Fixed(count) => format!("{element}[{count}]"),
        Array::Bounded(count) => format!("{element}[<={count}]"),
        Array::Unbounded => format!("{element}[]"),
    }
}

/// Whether the pattern names a field of the definition.
pub(super) fn names_a_field(layout: &TypeLayout, pattern: &FieldPattern) -> bool {
    let mut messages = BTreeSet::from([layout.root()]);
    let mut fields: Vec<&FieldLayout> = Vec::new();
    for step in pattern.steps() {
        match step {
            Step::Name(name) => {
                let all = messages.iter().flat_map(|at| &layout.messages[*at].fields);
                fields = all.filter(|field| name.matches(&field.name)).collect();
            }
            Step::Element(_) => fields.retain(|field| field.array != Array::One),
        }
        let inner = fields.iter().filter_map(|field| match field.element_type {
            ElementType::Message(index) => Some(index),
            _ => None,
        });
        messages = inner.collect();
    }
    !fields.is_empty()
}
