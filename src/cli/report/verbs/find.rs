//! What `play find` prints: a line for each message that it finds, and the totals of the search.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::bag::{Bag, Damage, TopicId};
use crate::cli::report::missing::findings::Findings;
use crate::cli::report::units::{count, plural};
use crate::decode::FieldValue;
use crate::find::{Conditions, Hit, MatchedValue, Unreadable};
use crate::time::{Ros, Time, TimeRange, signed_span_text};
use crate::untrusted::Foreign;

/// The version of the form of all JSON lines of `play find`.
const SCHEMA: u64 = 1;
/// Longer names are not aligned.
const WIDEST: usize = 40;

/// The names and times by which hits are shown.
#[derive(Debug)]
pub struct FindReport<'a> {
    bag: &'a Bag,
    start: Time<Ros>,
    zone: TimeZone,
    /// How many columns the names of topics take.
    width: usize,
    hits: u64,
    damage: Findings,
    unreadable: BTreeMap<TopicId, UnreadableTopic>,
}

#[derive(Debug)]
struct UnreadableTopic {
    messages: u64,
    first: Unreadable,
}

/// A hit, as `play find --format json` writes it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HitLine<'a> {
    schema: u64,
    time_ns: i64,
    topic: &'a str,
    /// The first expression that the message satisfies, from 0.
    expression: usize,
    values: Vec<ValueOfHit<'a>>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct ValueOfHit<'a> {
    field: &'a str,
    #[serde(flatten)]
    value: JsonValue<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// A time has a member of its own, because it is no plain number.
#[derive(Clone, PartialEq, Debug, Serialize)]
enum JsonValue<'a> {
    #[serde(rename = "value")]
    Bool(bool),
    #[serde(rename = "value")]
    Signed(i64),
    #[serde(rename = "value")]
    Unsigned(u64),
    #[serde(rename = "value")]
    Float(f64),
    /// Also of numbers that JSON does not have: `NaN`, `inf`, `-inf`.
    #[serde(rename = "value")]
    Text(&'a str),
    #[serde(rename = "value_ns")]
    Time(i64),
}

/// The totals of a search, the last line of `play find --format json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FindTotals<'a> {
    schema: u64,
    hits: u64,
    /// How many messages were judged, the unreadable ones among them.
    messages: u64,
    ended: FindEnd,
    unreadable: Vec<UnreadableLine<'a>>,
    damage: &'a Findings,
}

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindEnd {
    /// At the end of the range.
    End,
    /// With as many hits as were wanted.
    Limit,
    /// By a signal.
    Interrupted,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct UnreadableLine<'a> {
    topic: &'a str,
    messages: u64,
    /// The first of them.
    time_ns: i64,
    problem: String,
}

impl<'a> FindReport<'a> {
    /// For a search with these conditions. `zone`: that of the times that people read.
    pub fn new(bag: &'a Bag, conditions: &Conditions, zone: TimeZone) -> Self {
        let widths = conditions
            .topics()
            .map(|id| shown_name(bag, id).chars().count());
        let range = bag.range();
        Self {
            bag,
            start: range.map_or(Time::ZERO, TimeRange::start),
            zone,
            width: widths.filter(|width| *width <= WIDEST).max().unwrap_or(0),
            hits: 0,
            damage: Findings::of(bag.damage()),
            unreadable: BTreeMap::new(),
        }
    }

    /// Counts a hit.
    pub const fn count_hit(&mut self) {
        self.hits += 1;
    }

    /// Takes a message that could not be judged.
    pub fn take_unreadable(&mut self, message: Unreadable) {
        let of_topic = self.unreadable.entry(message.topic);
        let of_topic = of_topic.or_insert(UnreadableTopic {
            messages: 0,
            first: message,
        });
        of_topic.messages += 1;
    }

    /// Takes damage that the search came across.
    pub fn take_damage(&mut self, damage: &Damage) {
        self.damage.add(damage);
    }

    /// How many messages were found.
    pub const fn hits(&self) -> u64 {
        self.hits
    }

    /// The damage of the recording, as far as it was read.
    pub const fn damage(&self) -> &Findings {
        &self.damage
    }

    /// Whether everything could be read and judged.
    pub fn is_sound(&self) -> bool {
        self.unreadable.is_empty() && self.damage.list().is_empty()
    }

    /// A hit for people: `2026-01-31 12:00:00.123 CET  +00:12.345  /rosout  level = 40`.
    pub fn line(&self, hit: &Hit) -> String {
        let name = shown_name(self.bag, hit.topic);
        let mut line = format!(
            "{}  {name:<width$}  ",
            self.moment(hit.log_time),
            width = self.width
        );
        for (index, value) in hit.matched.values().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            // Writing into a string does not fail.
            let _ = write!(line, "{comma}{value}");
        }
        line.push('\n');
        line
    }

    /// The same for programs.
    pub fn json(&self, hit: &'a Hit) -> HitLine<'a> {
        HitLine {
            schema: SCHEMA,
            time_ns: hit.log_time.as_nanos(),
            topic: name(self.bag, hit.topic),
            expression: hit.matched.expression,
            values: hit.matched.values().map(value_of_hit).collect(),
        }
    }

    /// The totals for programs.
    pub fn totals(&self, messages: u64, ended: FindEnd) -> FindTotals<'_> {
        let line = |(id, of_topic): (&TopicId, &UnreadableTopic)| UnreadableLine {
            topic: name(self.bag, *id),
            messages: of_topic.messages,
            time_ns: of_topic.first.log_time.as_nanos(),
            problem: of_topic.first.error.to_string(),
        };
        FindTotals {
            schema: SCHEMA,
            hits: self.hits,
            messages,
            ended,
            unreadable: self.unreadable.iter().map(line).collect(),
            damage: &self.damage,
        }
    }

    /// The totals for people: `3 hits: 1,234 messages searched`.
    pub fn summary(&self, messages: u64, ended: FindEnd) -> String {
        let hits = match self.hits {
            0 if self.is_sound() => "no hits".to_owned(),
            0 => "no hits in what could be read".to_owned(),
            hits => plural(hits, "hit"),
        };
        let messages = plural(messages, "message");
        match ended {
            FindEnd::End => format!("{hits}: {messages} searched"),
            FindEnd::Limit => format!("{hits}: {messages} searched, the rest was not (--limit)"),
            FindEnd::Interrupted => format!("interrupted; {hits}: {messages} searched"),
        }
    }

    /// What could not be judged, a line for each topic.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.unreadable.iter().map(|(id, of_topic)| {
            let topic = shown_name(self.bag, *id);
            let (first, time) = (&of_topic.first, self.moment(of_topic.first.log_time));
            let messages = match of_topic.messages {
                1 => "a message does not match its type".to_owned(),
                several => format!("{} messages do not match their type", count(several)),
            };
            format!("{topic}: {messages}, the first at {time}: {}", first.error)
        })
    }

    /// A time with its date, then relative to the start of the recording.
    fn moment(&self, time: Time<Ros>) -> String {
        let into = signed_span_text(time.saturating_since(self.start));
        let stamp = Timestamp::from_nanosecond(i128::from(time.as_nanos()));
        let stamp = stamp.expect("64-bit nanoseconds are within the calendar");
        let local = stamp.to_zoned(self.zone.clone());
        format!("{}  {into}", local.strftime("%Y-%m-%d %H:%M:%S.%3f %Z"))
    }
}

fn name(bag: &Bag, id: TopicId) -> &str {
    let topic = bag.topics().get(id.index());
    topic.map_or("", |topic| &topic.name)
}

fn shown_name(bag: &Bag, id: TopicId) -> String {
    Foreign::text(name(bag, id)).to_string()
}

fn value_of_hit(value: &MatchedValue) -> ValueOfHit<'_> {
    ValueOfHit {
        field: &value.field,
        value: json_value(&value.value),
        cut: value.is_cut,
    }
}

fn json_value<'a>(value: &'a FieldValue<'static>) -> JsonValue<'a> {
    let float = |float: f64| match float {
        _ if float.is_nan() => JsonValue::Text("NaN"),
        f64::INFINITY => JsonValue::Text("inf"),
        f64::NEG_INFINITY => JsonValue::Text("-inf"),
        float => JsonValue::Float(float),
    };
    match value {
        FieldValue::Bool(value) => JsonValue::Bool(*value),
        FieldValue::Integer(value) => match (i64::try_from(*value), u64::try_from(*value)) {
            (Ok(value), _) => JsonValue::Signed(value),
            (_, Ok(value)) => JsonValue::Unsigned(value),
            _ => unreachable!("no field has more than 64 bits"),
        },
        FieldValue::Float32(value) => float(shortest(*value)),
        FieldValue::Float64(value) => float(*value),
        FieldValue::Text(value) => JsonValue::Text(value),
        FieldValue::Time(nanos) => JsonValue::Time(*nanos),
    }
}

/// The float whose shortest form is that of a value with 32 bits: 0.1, not 0.10000000149011612.
fn shortest(value: f32) -> f64 {
    let text = value.to_string();
    text.parse().unwrap_or(f64::from(value))
}
