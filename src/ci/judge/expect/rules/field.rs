//! The values of a field: in the first message, the last, any or every one.

use std::fmt;
use std::ops::ControlFlow;

use super::compare::Test;
use crate::ci::judge::expect::rule::{Outcome, Role, Rule, Scope, Seen, counted, messages};
use crate::ci::judge::expect::values::{Readers, unreadable};
use crate::decode::ValuePath;

/// Which messages are judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    First,
    Last,
    Any,
    Every,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "first",
            Self::Last => "last",
            Self::Any => "any",
            Self::Every => "every",
        })
    }
}

/// What is expected of a field.
#[derive(Clone, Debug)]
pub(crate) struct FieldSpec {
    pub(crate) path: ValuePath,
    pub(crate) which: Which,
    /// Whether one of the elements that `[*]` stands for is enough.
    pub(crate) any_element: bool,
    pub(crate) test: Test,
}

impl fmt::Display for FieldSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.any_element && self.which != Which::Any {
            "any of "
        } else {
            ""
        };
        write!(f, "{} {of}{} {}", self.which, self.path, self.test)
    }
}

/// What a message says.
enum Verdict {
    /// For `any`, the text says which value is as expected.
    Holds(String),
    /// The text says which is not.
    Fails(String),
    /// It has no value.
    Nothing,
    Unreadable(Outcome),
}

pub(crate) struct Field {
    spec: FieldSpec,
    scope: Scope,
    readers: Readers,
    messages: u64,
    /// How many of them are not as expected.
    wrong: u64,
    /// How many values were compared.
    compared: u64,
    /// The message to judge in the end.
    kept: Option<Seen>,
    /// The first message that is not as expected, or for `any` the last one.
    failure: Option<String>,
    /// The outcome, once it is certain.
    end: Option<Outcome>,
}

impl Field {
    pub(crate) fn new(spec: FieldSpec, scope: Scope, readers: Readers) -> Self {
        Self {
            spec,
            scope,
            readers,
            messages: 0,
            wrong: 0,
            compared: 0,
            kept: None,
            failure: None,
            end: None,
        }
    }

    fn judge(&mut self, seen: &Seen) -> Verdict {
        let Self { spec, scope, .. } = self;
        let at = || scope.at(seen.at);
        let mut verdict = Verdict::Nothing;
        let read = self.readers.read(seen, &mut |indexes, value| {
            self.compared += 1;
            let found = || format!("{} = {value} at {}", spec.path.at(indexes), at());
            match spec.test.holds(&value) {
                Ok(true) if spec.which == Which::Any => verdict = Verdict::Holds(found()),
                // Arrays may have millions of values.
                Ok(true) => verdict = Verdict::Holds(String::new()),
                Ok(false) if spec.any_element && matches!(verdict, Verdict::Fails(_)) => {}
                Ok(false) => {
                    verdict =
                        Verdict::Fails(format!("{}, expected {}", found(), spec.test.wanted()));
                }
                Err(what) => {
                    let what = format!("{} {what}", spec.path.at(indexes));
                    verdict = Verdict::Unreadable(Outcome::Unknown(scope.says(what)));
                    return ControlFlow::Break(());
                }
            }
            // One value is enough for `any element`, one failure otherwise.
            if spec.any_element == matches!(verdict, Verdict::Holds(_)) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        match (read, verdict) {
            (Err(error), _) => Verdict::Unreadable(unreadable(scope, &error, &at())),
            (Ok(()), Verdict::Nothing) if !spec.path.has_wildcard() => {
                Verdict::Fails(format!("{} does not exist at {}", spec.path, at()))
            }
            (Ok(()), Verdict::Nothing) if spec.any_element && spec.which != Which::Any => {
                Verdict::Fails(format!("{} has no element at {}", spec.path, at()))
            }
            (Ok(()), verdict) => verdict,
        }
    }

    fn take(&mut self, verdict: Verdict) {
        match (self.spec.which, verdict) {
            (_, Verdict::Unreadable(outcome)) => self.end = Some(outcome),
            (Which::Any, Verdict::Holds(found)) => {
                self.end = Some(Outcome::Holds(self.scope.says(found)));
            }
            (Which::Any, Verdict::Fails(why)) => {
                self.wrong += 1;
                self.failure = Some(why);
            }
            (_, Verdict::Fails(why)) => {
                self.wrong += 1;
                self.failure.get_or_insert(why);
            }
            (_, Verdict::Holds(_) | Verdict::Nothing) => {}
        }
    }
}

impl Rule for Field {
    fn message(&mut self, _: Role, seen: &Seen) {
        if self.end.is_some() || !self.scope.window.contains(seen.at) {
            return;
        }
        self.messages += 1;
        match self.spec.which {
            Which::Last => self.kept = Some(seen.clone()),
            Which::First if self.messages > 1 => {}
            _ => {
                let verdict = self.judge(seen);
                self.take(verdict);
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Outcome {
        if let Some(last) = self.kept.take() {
            let verdict = self.judge(&last);
            self.take(verdict);
        }
        if let Some(end) = self.end {
            return end;
        }
        if self.messages == 0 {
            return Outcome::NoMessage;
        }
        let (spec, scope) = (&self.spec, &self.scope);
        if let Some(why) = self.failure {
            let all = messages(self.messages);
            return Outcome::Fails(scope.says(match (spec.which, self.wrong) {
                (Which::Any, 2..) => format!("not in any of {all}; in the last, {why}"),
                (Which::Every, 2..) => format!("{why}; {} of {all} are wrong", self.wrong),
                _ => why,
            }));
        }
        if self.compared == 0 {
            let what = format!("no message has a value of {}{}", spec.path, scope.within);
            return Outcome::Fails(scope.says(what));
        }
        let compared = counted(self.compared, "value");
        let what = format!("{compared} in {}", messages(self.messages));
        Outcome::Holds(scope.says(what))
    }
}
