//! [`FieldRules`]: which fields are compared, and how exactly. A [`Scope`] is what they say at one place of a message.

use super::pattern::{FieldPattern, Step};
use super::tolerance::Tolerance;

/// How some fields are compared.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FieldRule {
    /// The fields; none: all fields.
    pub fields: Vec<FieldPattern>,
    /// Whether they are not compared.
    pub ignore: bool,
    /// See [`Tolerance::absolute`]; `None`: unchanged by this rule.
    pub absolute: Option<f64>,
    /// See [`Tolerance::relative`].
    pub relative: Option<f64>,
    /// See [`Tolerance::nan_equal`].
    pub nan_equal: Option<bool>,
}

/// How all fields of a message are compared. Of two rules for one field, the one holds that names it with more steps,
/// else the later one. What is ignored is not looked into.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FieldRules {
    rules: Vec<FieldRule>,
}

impl FieldRules {
    /// Rules in the order in which they were written.
    pub fn new(rules: Vec<FieldRule>) -> Self {
        Self { rules }
    }

    /// Whether equal bytes may be unequal values.
    pub(super) fn equal_bytes_may_differ(&self) -> bool {
        self.rules.iter().any(|rule| rule.nan_equal == Some(false))
    }

    /// What they say of the message as a whole.
    pub(super) fn root(&self) -> Scope<'_> {
        let mut scope = Scope {
            is_ignored: false,
            tolerance: Tolerance::EXACT,
            alive: Vec::new(),
        };
        for rule in &self.rules {
            if rule.fields.is_empty() {
                scope.apply(rule);
            }
            let steps = rule.fields.iter().map(|pattern| (rule, pattern.steps()));
            scope.alive.extend(steps);
        }
        scope
    }
}

/// What the rules say at one place: of this field, and what remains of the patterns for the fields below it.
#[derive(Clone, Debug)]
pub(super) struct Scope<'r> {
    pub(super) is_ignored: bool,
    pub(super) tolerance: Tolerance,
    alive: Vec<(&'r FieldRule, &'r [Step])>,
}

impl<'r> Scope<'r> {
    /// What they say of a field of this message.
    pub(super) fn field(&self, name: &str) -> Self {
        self.below(|step| match step {
            Step::Name(pattern) if pattern.matches(name) => Next::Taken,
            _ => Next::Elsewhere,
        })
    }

    /// What they say of an element of this array.
    pub(super) fn element(&self, index: u64) -> Self {
        self.below(|step| match step {
            // An array without brackets.
            Step::Name(_) => Next::Kept,
            Step::Element(None) => Next::Taken,
            Step::Element(Some(named)) if *named == index => Next::Taken,
            Step::Element(Some(_)) => Next::Elsewhere,
        })
    }

    /// What they say of all elements of this array; `None` if a rule names one of them by its number.
    pub(super) fn every_element(&self) -> Option<Self> {
        let names_one = |(_, steps): &(_, &[Step])| matches!(steps, [Step::Element(Some(_)), ..]);
        (!self.alive.iter().any(names_one)).then(|| self.element(0))
    }

    fn below(&self, next: impl Fn(&Step) -> Next) -> Self {
        let mut inner = Self {
            is_ignored: self.is_ignored,
            tolerance: self.tolerance,
            alive: Vec::new(),
        };
        for (rule, steps) in &self.alive {
            let Some((first, rest)) = steps.split_first() else {
                continue;
            };
            match (next(first), rest) {
                (Next::Elsewhere, _) => {}
                (Next::Kept, _) => inner.alive.push((rule, steps)),
                (Next::Taken, []) => inner.apply(rule),
                (Next::Taken, rest) => inner.alive.push((rule, rest)),
            }
        }
        inner
    }

    fn apply(&mut self, rule: &'r FieldRule) {
        self.is_ignored |= rule.ignore;
        let Tolerance {
            absolute,
            relative,
            nan_equal,
        } = self.tolerance;
        self.tolerance = Tolerance {
            absolute: rule.absolute.unwrap_or(absolute),
            relative: rule.relative.unwrap_or(relative),
            nan_equal: rule.nan_equal.unwrap_or(nan_equal),
        };
    }
}

/// Whether the next step of a pattern leads to a place.
enum Next {
    Taken,
    /// It leads to somewhere below that place.
    Kept,
    Elsewhere,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(fields: &[&str], absolute: f64) -> FieldRule {
        FieldRule {
            fields: fields.iter().map(|text| text.parse().unwrap()).collect(),
            absolute: Some(absolute),
            ..FieldRule::default()
        }
    }

    fn ignoring(field: &str) -> FieldRule {
        FieldRule {
            fields: vec![field.parse().unwrap()],
            ignore: true,
            ..FieldRule::default()
        }
    }

    /// The absolute tolerance at a path, or `None` where it is ignored. A number is an element.
    fn at(rules: &FieldRules, path: &str) -> Option<f64> {
        let mut scope = rules.root();
        for part in path.split('.') {
            scope = match part.parse() {
                Ok(index) => scope.element(index),
                Err(_) => scope.field(part),
            };
        }
        (!scope.is_ignored).then_some(scope.tolerance.absolute)
    }

    #[test]
    fn the_rule_that_names_a_field_with_more_steps_holds_else_the_later_one() {
        let rules = FieldRules::new(vec![
            rule(&["a.b"], 3.0),
            rule(&["a"], 2.0),
            rule(&[], 1.0),
            rule(&["c.*", "d.x"], 4.0),
            rule(&["c.x"], 5.0),
        ]);
        for (path, absolute) in [
            ("z", 1.0),
            ("a", 2.0),
            ("a.c", 2.0),
            ("a.b", 3.0),
            ("a.b.c", 3.0),
            ("c.x", 5.0),
            ("c.y", 4.0),
            ("d.x", 4.0),
            ("d", 1.0),
            ("b", 1.0),
        ] {
            assert_eq!(at(&rules, path), Some(absolute), "{path}");
        }
    }

    #[test]
    fn an_array_without_brackets_stands_for_all_its_elements() {
        let rules = FieldRules::new(vec![
            rule(&["p.c"], 1.0),
            rule(&["p.c[7]"], 2.0),
            rule(&["t[*].x"], 3.0),
            rule(&["t.y"], 4.0),
            rule(&["t[2].y"], 5.0),
            ignoring("t[3]"),
        ]);
        for (path, absolute) in [
            ("p.c.0", Some(1.0)),
            ("p.c.7", Some(2.0)),
            ("t.0.x", Some(3.0)),
            ("t.1.y", Some(4.0)),
            ("t.2.y", Some(5.0)),
            ("t.3.y", None),
            ("t.3", None),
            ("t.0", Some(0.0)),
        ] {
            assert_eq!(at(&rules, path), absolute, "{path}");
        }
        let root = rules.root();
        assert!(root.field("p").field("c").every_element().is_none());
        assert!(root.field("q").every_element().is_some());
    }

    #[test]
    fn below_an_ignored_field_everything_is_ignored() {
        let rules = FieldRules::new(vec![ignoring("header.*"), rule(&["header.stamp.x"], 1.0)]);
        assert_eq!(at(&rules, "header"), Some(0.0));
        assert_eq!(at(&rules, "header.stamp"), None);
        assert_eq!(at(&rules, "header.stamp.x"), None);
    }
}
