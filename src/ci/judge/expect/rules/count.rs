//! How many messages a topic has.

use std::fmt;

use crate::ci::judge::expect::rule::{Outcome, Role, Rule, Scope, Seen, messages};
use crate::time::{Ros, Time};

/// The numbers of messages that are allowed, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CountSpec {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
}

impl CountSpec {
    /// There must not be any.
    pub(crate) const NONE: Self = Self {
        min: 0,
        max: Some(0),
    };
}

impl fmt::Display for CountSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (0, Some(0)) => write!(f, "absent"),
            (min, None) => write!(f, "count >= {min}"),
            (0, Some(max)) => write!(f, "count <= {max}"),
            (min, Some(max)) if min == max => write!(f, "count = {min}"),
            (min, Some(max)) => write!(f, "count {min} to {max}"),
        }
    }
}

pub(crate) struct Count {
    pub(crate) spec: CountSpec,
    pub(crate) scope: Scope,
    found: u64,
    first: Option<Time<Ros>>,
}

impl Count {
    pub(crate) fn new(spec: CountSpec, scope: Scope) -> Self {
        Self {
            spec,
            scope,
            found: 0,
            first: None,
        }
    }
}

impl Rule for Count {
    fn message(&mut self, _: Role, seen: &Seen) {
        if self.scope.window.contains(seen.at) {
            self.found += 1;
            self.first.get_or_insert(seen.at);
        }
    }

    fn finish(self: Box<Self>) -> Outcome {
        let Self { spec, scope, .. } = &*self;
        let found = format!("{}{}", messages(self.found), scope.within);
        let expected = match (spec.min, spec.max) {
            (min, _) if self.found < min && spec.max == Some(min) => format!("exactly {min}"),
            (min, _) if self.found < min => format!("at least {min}"),
            (_, Some(0)) if self.found > 0 => {
                let first = self.first.map_or(String::new(), |at| scope.at(at));
                let what = format!("{found}, none is expected; the first at {first}");
                return Outcome::Fails(scope.says(what));
            }
            (min, Some(max)) if self.found > max && min == max => format!("exactly {max}"),
            (_, Some(max)) if self.found > max => format!("at most {max}"),
            _ => return Outcome::Holds(scope.says(found)),
        };
        Outcome::Fails(scope.says(format!("{found}, {expected} are expected")))
    }
}
