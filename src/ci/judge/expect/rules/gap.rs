//! For how long a topic may be silent.

use crate::ci::judge::expect::rule::{Outcome, Role, Rule, Scope, Seen};
use crate::time::{Duration, Ros, Time};

/// Judges the longest span without a message: from the start of the window to the first, between two, and from the last
/// to the end of the window.
pub(crate) struct Gap {
    most: Duration,
    scope: Scope,
    /// The last message.
    last: Option<Time<Ros>>,
    /// The longest span without a message: its two ends.
    longest: Option<(Time<Ros>, Time<Ros>)>,
}

impl Gap {
    pub(crate) fn new(most: Duration, scope: Scope) -> Self {
        Self {
            most,
            scope,
            last: None,
            longest: None,
        }
    }

    fn gap(&mut self, from: Time<Ros>, to: Time<Ros>) {
        let length = |(from, to): (Time<Ros>, Time<Ros>)| to.saturating_since(from);
        if self
            .longest
            .is_none_or(|longest| length((from, to)) > length(longest))
        {
            self.longest = Some((from, to));
        }
    }
}

impl Rule for Gap {
    fn message(&mut self, _: Role, seen: &Seen) {
        if self.scope.window.contains(seen.at) {
            let from = self.last.unwrap_or(self.scope.span.start());
            self.gap(from, seen.at);
            self.last = Some(seen.at);
        }
    }

    fn finish(mut self: Box<Self>) -> Outcome {
        let Some(last) = self.last else {
            return Outcome::NoMessage;
        };
        self.gap(last, self.scope.span.stop());
        let (from, to) = self.longest.unwrap_or((last, last));
        let length = to.saturating_since(from);
        let (from, to) = (self.scope.at(from), self.scope.at(to));
        let found = format!("{length} without a message from {from} to {to}");
        if length > self.most {
            let most = self.most;
            return Outcome::Fails(
                self.scope
                    .says(format!("{found}, at most {most} is expected")),
            );
        }
        Outcome::Holds(self.scope.says(found))
    }
}
