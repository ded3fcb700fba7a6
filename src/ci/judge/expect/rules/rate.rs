//! How many messages a topic has per second of log time: on average, or in each stretch of a length.

use std::fmt;

use crate::ci::judge::expect::rule::{Outcome, Role, Rule, Scope, Seen, messages};
use crate::time::{Duration, Ros, Time};

/// The rates that are allowed, in hertz, both ends included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RateSpec {
    pub(crate) min: f64,
    pub(crate) max: Option<f64>,
    /// The length of the stretches that are judged one by one; `None`: the whole window at once. More than zero.
    pub(crate) over: Option<Duration>,
}

impl RateSpec {
    /// What is expected in place of this rate; `None` if it is allowed.
    fn refuses(&self, rate: f64) -> Option<String> {
        match self.max {
            Some(max) if rate > max => Some(format!("at most {max} Hz are expected")),
            _ if rate < self.min => Some(format!("at least {} Hz are expected", self.min)),
            _ => None,
        }
    }
}

impl fmt::Display for RateSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (min, None) => write!(f, "rate >= {min} Hz")?,
            (min, Some(max)) if min <= 0.0 => write!(f, "rate <= {max} Hz")?,
            (min, Some(max)) => write!(f, "rate {min} to {max} Hz")?,
        }
        self.over.map_or(Ok(()), |over| write!(f, " over {over}"))
    }
}

pub(crate) struct Rate {
    spec: RateSpec,
    scope: Scope,
    /// Messages in the span.
    found: u64,
    /// The start of the stretch that is counted now, and its messages.
    stretch: (Time<Ros>, u64),
    /// The first stretch that is not as expected.
    wrong: Option<String>,
}

impl Rate {
    pub(crate) fn new(spec: RateSpec, scope: Scope) -> Self {
        Self {
            spec,
            found: 0,
            stretch: (scope.span.start(), 0),
            wrong: None,
            scope,
        }
    }

    /// Judges the stretches that have ended at `now`.
    fn end_stretches(&mut self, now: Time<Ros>, over: Duration) {
        // Beyond the second one all are empty, and equal.
        for _ in 0..2 {
            let (start, count) = self.stretch;
            let end = start.saturating_add(over);
            if now < end || self.wrong.is_some() {
                return;
            }
            let rate = per_second(count, over);
            if let Some(expected) = self.spec.refuses(rate) {
                let (from, to) = (self.scope.at(start), self.scope.at(end));
                let what = format!(
                    "{rate} Hz from {from} to {to} ({}), {expected}",
                    messages(count)
                );
                self.wrong = Some(self.scope.says(what));
            }
            self.stretch = (end, 0);
        }
        let behind = now.saturating_since(self.stretch.0);
        let whole = behind.as_nanos() / over.as_nanos().max(1);
        let start = self.stretch.0.saturating_add(over.saturating_mul(whole));
        self.stretch = (start, 0);
    }
}

impl Rule for Rate {
    fn message(&mut self, _: Role, seen: &Seen) {
        if !self.scope.span.contains(seen.at) {
            return;
        }
        self.found += 1;
        if let Some(over) = self.spec.over {
            self.end_stretches(seen.at, over);
            self.stretch.1 += 1;
        }
    }

    fn finish(mut self: Box<Self>) -> Outcome {
        let length = self.scope.span.duration();
        if self.found == 0 {
            return Outcome::NoMessage;
        }
        if let Some(over) = self.spec.over {
            if length < over {
                let what = format!(
                    "{length} were played{}, less than {over}",
                    self.scope.within
                );
                return Outcome::Unknown(self.scope.says(what));
            }
            self.end_stretches(self.scope.span.stop(), over);
            let count = messages(self.found);
            let fine = self.scope.says(format!("{count} in {length}"));
            return self.wrong.map_or(Outcome::Holds(fine), Outcome::Fails);
        }
        if length == Duration::ZERO {
            let what = format!("the window{} has no length", self.scope.within);
            return Outcome::Unknown(self.scope.says(what));
        }
        let rate = per_second(self.found, length);
        let found = format!("{rate:.6}");
        let found = found.trim_end_matches('0').trim_end_matches('.');
        let found = format!("{found} Hz ({} in {length})", messages(self.found));
        match self.spec.refuses(rate) {
            Some(expected) => Outcome::Fails(self.scope.says(format!("{found}, {expected}"))),
            None => Outcome::Holds(self.scope.says(found)),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate is approximate")]
fn per_second(count: u64, span: Duration) -> f64 {
    count as f64 / span.as_secs_f64()
}
