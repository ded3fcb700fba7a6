//! A [`Comparison`] as a person reads it in the log of a run: first divergence, then counts for each field.

use std::fmt;

use super::comparison::{Comparison, FieldCounts, TopicComparison, Unpaired, counted, seconds};
use crate::ci::report::Divergence;
use crate::untrusted::Foreign;

/// How many fields of a topic are shown.
const FIELDS: usize = 20;
/// How many messages without a partner are shown.
const UNPAIRED: usize = 3;

impl fmt::Display for Comparison {
    /// Lines, each with its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reference, run) = (Foreign::text(&self.reference), Foreign::text(&self.run));
        let differing = self.topics.iter().filter(|topic| !topic.is_equal()).count();
        match (self.topics.len(), differing) {
            (0, _) => writeln!(f, "{reference} and {run}: there is nothing to compare")?,
            (_, 0) => writeln!(f, "{reference} and {run} are equal")?,
            (all, differing) => {
                let topics = if all == 1 { "topic" } else { "topics" };
                writeln!(
                    f,
                    "{reference} and {run} differ in {differing} of {all} {topics}"
                )?;
            }
        }
        if let Some(first) = &self.first {
            write_first(f, first, self.sides)?;
            if let Some((topic, time)) = &first.input {
                let time = seconds(*time);
                writeln!(f, "  {:<9}  at {time}  {}", "input", Foreign::text(topic))?;
            }
            for racing in &first.racing {
                writeln!(f, "  {:<9}  {}", "racing", Foreign::text(racing))?;
            }
        }
        for topic in self.topics.iter().filter(|topic| !topic.is_equal()) {
            write_topic(f, topic)?;
        }
        for topic in self.topics.iter().filter(|topic| topic.is_equal()) {
            let equal = counted(topic.equal, "message", "messages");
            writeln!(f, "{}: equal, {equal}", Foreign::text(&topic.topic))?;
        }
        for damage in &self.damage {
            writeln!(f, "damage: {}", Foreign::text(damage))?;
        }
        for note in &self.notes {
            writeln!(f, "note: {}", Foreign::text(note))?;
        }
        Ok(())
    }
}

fn write_first(
    f: &mut fmt::Formatter<'_>,
    first: &Divergence,
    sides: [&'static str; 2],
) -> fmt::Result {
    let topic = Foreign::text(&first.topic);
    let index = first.index;
    match first.times_ns {
        (Some(time), None) => {
            let time = seconds(time);
            writeln!(
                f,
                "first difference: {topic}, message {index} at {time} is missing"
            )
        }
        (None, Some(time)) => {
            let time = seconds(time);
            writeln!(
                f,
                "first difference: {topic}, message {index} at {time} is extra"
            )
        }
        (reference, run) => {
            let field = Foreign::text(&first.field);
            writeln!(f, "first difference: {topic}, message {index}, {field}")?;
            let values = [&first.values.0, &first.values.1];
            for ((name, value), time) in sides.iter().zip(values).zip([reference, run]) {
                let time = time.map(seconds).unwrap_or_default();
                writeln!(f, "  {name:<9}  at {time}  {}", Foreign::text(value))?;
            }
            Ok(())
        }
    }
}

fn write_topic(f: &mut fmt::Formatter<'_>, topic: &TopicComparison) -> fmt::Result {
    writeln!(f, "{}: {}", Foreign::text(&topic.topic), topic.counts())?;
    for difference in &topic.types {
        writeln!(f, "  {}", Foreign::text(difference))?;
    }
    let shown = &topic.fields[..topic.fields.len().min(FIELDS)];
    let width = shown
        .iter()
        .map(|field| field.path.len())
        .max()
        .unwrap_or(0);
    for field in shown {
        writeln!(f, "  {:<1$}  {2}", field.path, width.min(60), words(field))?;
    }
    let more = (topic.fields.len() - shown.len()) as u64;
    match (more, topic.other_fields) {
        (0, 0) => {}
        (more, 0) => writeln!(f, "  and {}", counted(more, "more field", "more fields"))?,
        (more, _) => writeln!(f, "  and over {more} more fields")?,
    }
    write_unpaired(f, "missing", &topic.missing_at, topic.missing)?;
    write_unpaired(f, "extra", &topic.extra_at, topic.extra)
}

fn words(field: &FieldCounts) -> String {
    let mut words = vec![counted(field.messages, "message", "messages")];
    if field.values != field.messages {
        words.push(counted(field.values, "value", "values"));
    }
    if let Some(largest) = field.largest {
        let index = field.largest_in;
        words.push(format!("largest difference {largest:?} in message {index}"));
    }
    words.join(", ")
}

fn write_unpaired(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    messages: &[Unpaired],
    all: u64,
) -> fmt::Result {
    for message in messages.iter().take(UNPAIRED) {
        let index = message.index;
        let time = message.stamp_ns.map_or_else(
            || format!("log time {}", seconds(message.log_time_ns)),
            |stamp| format!("stamp {}", seconds(stamp)),
        );
        writeln!(f, "  {what}: message {index}, {time}")?;
    }
    let more = all.saturating_sub(messages.len().min(UNPAIRED) as u64);
    if more > 0 && !messages.is_empty() {
        writeln!(f, "  {what}: {more} more")?;
    }
    Ok(())
}
