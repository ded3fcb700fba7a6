//! [`BackgroundSearch`]: searches a recording for the screen, for an expression, or for the warnings and errors that
//! nodes report.

use std::collections::HashMap;
use std::time::Duration;

use crate::bag::{Bag, Direction, TopicId};
use crate::find::{Conditions, Expression, Found, Hit, Search, Severity, alerts};
use crate::time::TimeRange;
use crate::tui::model::found::{FoundMessage, FoundMessages, MOST_FOUND};
use crate::tui::pacing::wall_now;

/// The shortest interval between reports of a search that goes on.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);
/// The most warnings that are kept.
const MOST_WARNINGS: usize = MOST_FOUND / 2;
/// The longest search for alerts, which starts by itself.
const LONGEST_FOR_ALERTS: Duration = Duration::from_secs(20);

/// A search, and what it has found.
pub(super) struct BackgroundSearch {
    search: Search,
    found: FoundMessages,
    kind: Kind,
    /// Messages and chunks that could not be read.
    unreadable: u64,
    /// How long it has taken by itself.
    spent: Duration,
}

enum Kind {
    Expression,
    Alerts {
        /// Of each expression.
        severities: Vec<Severity>,
        /// What a topic reported last: the same again is left out.
        last: HashMap<TopicId, String>,
        /// How many warnings are kept, and how many are not: they must not take the room of errors.
        warnings: usize,
        left_out: usize,
    },
}

impl BackgroundSearch {
    /// `None` if the expression does not fit the recording.
    pub(super) fn for_expression(bag: &Bag, expression: Expression) -> Option<Self> {
        let text = expression.to_string();
        let conditions = Conditions::new(bag.topics(), &[expression]).ok()?;
        Some(Self::new(bag, conditions, Kind::Expression, text))
    }

    pub(super) fn for_alerts(bag: &Bag) -> Self {
        let (severities, expressions): (Vec<Severity>, Vec<Expression>) =
            alerts().into_iter().unzip();
        let conditions = Conditions::that_fit(bag.topics(), &expressions);
        let kind = Kind::Alerts {
            severities,
            last: HashMap::new(),
            warnings: 0,
            left_out: 0,
        };
        Self::new(bag, conditions, kind, String::new())
    }

    fn new(bag: &Bag, conditions: Conditions, kind: Kind, expression: String) -> Self {
        let range = bag.range().unwrap_or(TimeRange::ALL);
        Self {
            search: Search::new(bag, conditions, range, Direction::Forward),
            found: FoundMessages {
                expression,
                ..FoundMessages::default()
            },
            kind,
            unreadable: 0,
            spent: Duration::ZERO,
        }
    }

    /// Reports what it finds, now and then and at the end, unless it is no longer wanted. What `is_wanted` does takes
    /// no time of the search.
    pub(super) fn run(
        &mut self,
        is_wanted: &mut dyn FnMut() -> bool,
        report: &mut dyn FnMut(FoundMessages),
    ) {
        let longest = match self.kind {
            Kind::Expression => Duration::MAX,
            Kind::Alerts { .. } => LONGEST_FOR_ALERTS,
        };
        let (mut goes_on, mut is_late, mut since) = (true, false, wall_now());
        let (mut reported, mut is_due) = (since, false);
        let mut is_full = false;
        while !is_full {
            let spent = &mut self.spent;
            let next = self.search.next_while(|_| {
                *spent += since.elapsed();
                is_late = *spent >= longest;
                goes_on = is_wanted();
                since = wall_now();
                is_due = since - reported >= REPORT_INTERVAL;
                goes_on && !is_late && !is_due
            });
            match next {
                None if goes_on && !is_late && is_due => {}
                None => break,
                Some(Found::Hit(hit)) => is_full = !self.take(&hit),
                Some(Found::Unreadable(_) | Found::Damage(_)) => self.unreadable += 1,
            }
            if is_due || reported.elapsed() >= REPORT_INTERVAL {
                (reported, is_due) = (wall_now(), false);
                self.found.share = self.search.progress().share;
                report(self.found.clone());
            }
        }
        if goes_on {
            self.found.share = self.search.progress().share;
            self.found.problem = self.problem(is_full, is_late);
            self.found.has_ended = true;
            report(self.found.clone());
        }
    }

    /// What was found before the search failed.
    pub(super) fn failed(self, reason: &str) -> FoundMessages {
        FoundMessages {
            problem: Some(reason.to_owned()),
            has_ended: true,
            ..self.found
        }
    }

    /// Keeps a message; false if there is no room for another one.
    fn take(&mut self, hit: &Hit) -> bool {
        let text = hit.matched.text();
        let mut severity = None;
        if let Kind::Alerts {
            severities,
            last,
            warnings,
            left_out,
        } = &mut self.kind
        {
            severity = severities.get(hit.matched.expression).copied();
            let is_same = last.insert(hit.topic, text.clone()).as_ref() == Some(&text);
            let is_warning = severity == Some(Severity::Warning);
            if is_same {
                return true;
            }
            if is_warning && *warnings == MOST_WARNINGS {
                *left_out += 1;
                return true;
            }
            *warnings += usize::from(is_warning);
        }
        self.found.messages.push(FoundMessage {
            topic: hit.topic,
            time: hit.time,
            severity,
            text,
        });
        self.found.messages.len() < MOST_FOUND
    }

    fn problem(&self, is_full: bool, is_late: bool) -> Option<String> {
        let percent = self.found.share * 100.0;
        let s = if self.unreadable == 1 { "" } else { "s" };
        let left_out = match self.kind {
            Kind::Expression => 0,
            Kind::Alerts { left_out, .. } => left_out,
        };
        if is_full {
            Some(format!("only the first {MOST_FOUND} are kept"))
        } else if left_out > 0 {
            Some(format!("only the first {MOST_WARNINGS} warnings are kept"))
        } else if is_late {
            Some(format!(
                "only the first {percent:.0} % of the recording were searched"
            ))
        } else if self.unreadable > 0 {
            let count = self.unreadable;
            Some(format!("{count} message{s} or chunk{s} could not be read"))
        } else {
            None
        }
    }
}
