//! [`LeftOutMessages`]: messages that were not sent or written, by the reason and by topic.

use std::collections::BTreeMap;

use crate::cli::report::units::count;
use crate::untrusted::Foreign;

/// More topics of one reason than these are not named.
const MOST_NAMED: usize = 8;
/// The maximum number of characters of a reason.
const LONGEST: usize = 500;

/// Messages that were left out: of each reason the topics, and how many messages of each, if that is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LeftOutMessages<'a>(BTreeMap<&'a str, BTreeMap<&'a str, Option<u64>>>);

impl<'a> LeftOutMessages<'a> {
    /// Adds messages of a topic; `None`: their number is not known.
    pub(crate) fn add(&mut self, reason: &'a str, topic: &'a str, messages: Option<u64>) {
        let topics = self.0.entry(reason).or_default();
        let all = topics.entry(topic).or_insert(Some(0));
        *all = all.zip(messages).map(|(a, b)| a.saturating_add(b));
    }

    /// How many topics there are.
    pub(crate) fn topics(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// A line for each reason: `/a 12, /b 3: reason`.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(reason, topics)| {
            let one = |(name, messages): (&&str, &Option<u64>)| match messages {
                Some(messages) => format!("{} {}", Foreign::text(name), count(*messages)),
                None => format!("{} (number unknown)", Foreign::text(name)),
            };
            let named: Vec<String> = topics.iter().take(MOST_NAMED).map(one).collect();
            let named = named.join(", ");
            let reason = Foreign::text(reason).at_most(LONGEST);
            match topics.len().saturating_sub(MOST_NAMED) {
                0 => format!("{named}: {reason}"),
                more => format!("{named} and {more} more topics: {reason}"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_of_one_reason_are_one_line() {
        let names: Vec<String> = (0..10).map(|n| format!("/n{n}")).collect();
        let mut all = LeftOutMessages::default();
        for (reason, topic, messages) in [
            ("b", "/x\u{1b}", Some(2)),
            ("a", "/y", None),
            ("b", "/x\u{1b}", Some(1000)),
            ("a", "/y", Some(3)),
        ] {
            all.add(reason, topic, messages);
        }
        for name in &names {
            all.add("c", name, Some(1));
        }
        let lines: Vec<String> = all.lines().collect();
        let eight = "/n0 1, /n1 1, /n2 1, /n3 1, /n4 1, /n5 1, /n6 1, /n7 1";
        let due = [
            "/y (number unknown): a".to_owned(),
            "/x\\u{1b} 1,002: b".to_owned(),
            format!("{eight} and 2 more topics: c"),
        ];
        assert_eq!((lines, all.topics()), (due.to_vec(), 12));
    }
}
