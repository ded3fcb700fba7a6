//! Searches a recording for the screen: for an expression, and for the warnings and errors that nodes report.

use std::time::{Duration, Instant};

use crate::bag::{Bag, Direction};
use crate::find::{Conditions, Expression, Found, Hit, Search, Severity, alerts};
use crate::time::TimeRange;
use crate::tui::model::found::{FoundMessage, FoundMessages, MOST_FOUND};

/// The shortest interval between reports of a search that goes on.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);
/// How long alerts are looked for: they are not asked for, so they must not read for minutes.
const LONGEST_FOR_ALERTS: Duration = Duration::from_secs(20);

/// Reports the messages that satisfy an expression, as they are found and at the end, unless the search is no longer
/// wanted.
pub(super) fn for_expression(
    bag: &Bag,
    expression: String,
    is_wanted: impl FnMut() -> bool,
    report: impl FnMut(FoundMessages),
) {
    let Ok(parsed) = expression.parse::<Expression>() else {
        return;
    };
    let Ok(conditions) = Conditions::new(bag.topics(), &[parsed]) else {
        return;
    };
    let found = FoundMessages {
        expression,
        ..FoundMessages::default()
    };
    run(bag, conditions, found, &[], None, is_wanted, report);
}

/// The same for alerts; false if the search has to be made again.
pub(super) fn for_alerts(
    bag: &Bag,
    is_wanted: impl FnMut() -> bool,
    mut report: impl FnMut(FoundMessages),
) -> bool {
    let (severities, expressions): (Vec<Severity>, Vec<Expression>) = alerts().into_iter().unzip();
    let conditions = Conditions::that_fit(bag.topics(), &expressions);
    if conditions.topics().next().is_none() {
        report(FoundMessages {
            has_ended: true,
            ..FoundMessages::default()
        });
        return true;
    }
    let until = Some(now() + LONGEST_FOR_ALERTS);
    let found = FoundMessages::default();
    run(
        bag,
        conditions,
        found,
        &severities,
        until,
        is_wanted,
        report,
    )
}

/// Whether the search has come to an end.
fn run(
    bag: &Bag,
    conditions: Conditions,
    mut found: FoundMessages,
    severities: &[Severity],
    until: Option<Instant>,
    mut is_wanted: impl FnMut() -> bool,
    mut report: impl FnMut(FoundMessages),
) -> bool {
    let range = bag.range().unwrap_or(TimeRange::ALL);
    let mut search = Search::new(bag, conditions, range, Direction::Forward);
    let (mut goes_on, mut is_late, mut unreadable) = (true, false, 0_u64);
    let (mut reported, mut count) = (now(), 0);
    while let Some(next) = search.next_while(|_| {
        goes_on = is_wanted();
        is_late = until.is_some_and(|until| now() >= until);
        goes_on && !is_late
    }) {
        match next {
            Found::Hit(hit) => found.messages.push(message(&hit, severities)),
            Found::Unreadable(_) | Found::Damage(_) => unreadable += 1,
        }
        if found.messages.len() == MOST_FOUND {
            found.problem = Some(format!("only the first {MOST_FOUND} are kept"));
            break;
        }
        if found.messages.len() > count && now() - reported >= REPORT_INTERVAL {
            (reported, count) = (now(), found.messages.len());
            report(found.clone());
        }
    }
    if !goes_on {
        return false;
    }
    if is_late {
        let part = search.progress().share * 100.0;
        found.problem = Some(format!(
            "only the first {part:.0} % of the recording was searched"
        ));
    } else if unreadable > 0 && found.problem.is_none() {
        found.problem = Some(format!("{unreadable} messages or chunks could not be read"));
    }
    found.has_ended = true;
    report(found);
    true
}

fn message(hit: &Hit, severities: &[Severity]) -> FoundMessage {
    FoundMessage {
        topic: hit.topic,
        time: hit.time,
        severity: severities.get(hit.matched.expression).copied(),
        text: hit.matched.text(),
    }
}

#[expect(clippy::disallowed_methods, reason = "reads are reported in wall time")]
pub(super) fn now() -> Instant {
    Instant::now()
}
