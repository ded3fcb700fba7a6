//! [`HoleInfo`]: a time without messages, for programs and as a line for people.

use std::fmt::Write as _;

use serde::Serialize;

use crate::bag::{Bag, Hole, Silent};
use crate::cli::report::units::count;
use crate::time::{Ros, Time, seconds_text, signed_seconds_text};
use crate::untrusted::Foreign;

/// More holes than these are not listed.
const MOST_HOLES: usize = 100;
/// Longer names are shortened when shown.
const LONGEST: usize = 200;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct HoleInfo {
    /// The topic that is silent; `None` if nothing was recorded.
    topic: Option<String>,
    start_ns: i64,
    end_ns: i64,
    duration_s: f64,
    /// The mean time between messages of the topic outside of its holes.
    period_s: Option<f64>,
}

impl HoleInfo {
    pub(crate) fn new(bag: &Bag, hole: Hole) -> Self {
        let (topic, period_s) = match hole.silent {
            Silent::Recording => (None, None),
            Silent::Topic { id, period } => {
                let topic = bag.topics().get(id.index());
                let name = topic.map(|topic| topic.name.clone());
                (name, Some(period.as_secs_f64()))
            }
        };
        Self {
            topic,
            start_ns: hole.range.start().as_nanos(),
            end_ns: hole.range.stop().as_nanos(),
            duration_s: hole.range.duration().as_secs_f64(),
            period_s,
        }
    }
}

/// Adds the holes, with their times relative to the start, as `--start` accepts them. `is_checked`: everything was
/// read.
pub(crate) fn hole_lines(
    page: &mut String,
    holes: Option<&[HoleInfo]>,
    start_ns: Option<i64>,
    is_checked: bool,
) {
    let Some(holes) = holes else {
        page.push_str(if is_checked {
            "holes     not searched for: there are too many long times between messages\n"
        } else {
            "holes     not searched for: there are too many messages, or the indexes do not list them; hint: --check\n"
        });
        return;
    };
    if holes.is_empty() {
        page.push_str("holes     none\n");
        return;
    }
    // Writing into a string does not fail.
    let _ = writeln!(page, "holes     {}", count(holes.len() as u64));
    let start: Time<Ros> = Time::from_nanos(start_ns.unwrap_or(0));
    for hole in holes.iter().take(MOST_HOLES) {
        let time = Time::from_nanos(hole.start_ns);
        let into = signed_seconds_text(time.saturating_since(start));
        let silent = match (&hole.topic, hole.period_s) {
            (Some(topic), Some(period)) => {
                let topic = Foreign::text(topic).at_most(LONGEST);
                format!("{topic}, otherwise every {period:.3} s")
            }
            _ => "all topics".to_owned(),
        };
        let length = seconds_text(Time::from_nanos(hole.end_ns).saturating_since(time));
        let _ = writeln!(page, "          {into:>12} s  {length:>8} s  {silent}");
    }
    if let Some(more @ 1..) = holes.len().checked_sub(MOST_HOLES) {
        let _ = writeln!(page, "          and {} more", count(more as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hole(topic: Option<&str>, start_ns: i64) -> HoleInfo {
        HoleInfo {
            topic: topic.map(str::to_owned),
            start_ns,
            end_ns: start_ns + 1_500_000_000,
            duration_s: 1.5,
            period_s: topic.map(|_| 0.1),
        }
    }

    fn page(holes: Option<&[HoleInfo]>, is_checked: bool) -> String {
        let mut page = String::new();
        hole_lines(&mut page, holes, Some(2_000_000_000), is_checked);
        page
    }

    #[test]
    fn holes_are_listed_with_their_times_after_the_start() {
        let holes = [
            hole(Some("/a\x1b"), 2_000_000_000),
            hole(None, 14_000_000_000),
        ];
        let expected = "holes     2\n                +0.000 s     1.500 s  /a\\u{1b}, otherwise every 0.100 s\n               \
                        +12.000 s     1.500 s  all topics\n";
        assert_eq!(page(Some(&holes), false), expected);
        assert_eq!(page(Some(&[]), false), "holes     none\n");
        let many = vec![hole(None, 0); MOST_HOLES + 1_100];
        let last = page(Some(&many), true);
        assert_eq!(last.lines().last(), Some("          and 1,100 more"));
        assert_eq!(last.lines().count(), MOST_HOLES + 2);
    }

    #[test]
    fn a_page_says_why_holes_were_not_looked_for() {
        assert!(page(None, false).contains("hint: --check"));
        assert!(!page(None, true).contains("--check"));
    }
}
