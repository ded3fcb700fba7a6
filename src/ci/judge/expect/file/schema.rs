//! The keys of a file of expectations, and what they say.

use super::field_schema;
use super::source::{ExpectationError, Source};
use super::table::{Form, Table};
use crate::ci::judge::expect::expectation::{Expectation, Spec, Window};
use crate::ci::judge::expect::rules::count::CountSpec;
use crate::ci::judge::expect::rules::gate::GateSpec;
use crate::ci::judge::expect::rules::latency::{LatencySpec, Pairing};
use crate::ci::judge::expect::rules::limits::Limits;
use crate::ci::judge::expect::rules::rate::RateSpec;
use crate::ci::judge::expect::rules::stamps::StampsSpec;
use crate::ci::judge::expect::rules::transform::TransformSpec;
use crate::time::{Duration, When, WhenRange};

const FILE: Form = ("the file", &["within", "expect", "transform", "gate"]);
const EXPECT: Form = (
    "[[expect]]",
    &[
        "topic", "name", "within", "count", "absent", "rate", "max-gap", "latency", "stamps",
        "field",
    ],
);
const COUNT: Form = ("count", &["min", "max"]);
const RATE: Form = ("rate", &["min", "max", "over"]);
const LATENCY: Form = (
    "latency",
    &["from", "by", "p50", "p99", "max", "unanswered"],
);
const STAMPS: Form = ("stamps", &["order", "path"]);
const TRANSFORM: Form = (
    "[[transform]]",
    &["target", "source", "at", "name", "within"],
);
const GATE: Form = ("[[gate]]", &["rule", "name", "p50", "p99", "max"]);

/// All tables and their keys.
pub(crate) const FORMS: [Form; 9] = [
    FILE,
    EXPECT,
    field_schema::FIELD,
    COUNT,
    RATE,
    LATENCY,
    STAMPS,
    TRANSFORM,
    GATE,
];

/// The values of `order`.
const ORDERS: [(&str, bool); 2] = [("ascending", false), ("strictly-ascending", true)];
const PERCENTILES: [(&str, u8); 3] = [("p50", 50), ("p99", 99), ("max", 100)];

/// Reads a file.
pub(crate) fn read(source: &Source<'_>) -> Result<Vec<Expectation>, ExpectationError> {
    let parsed = source.parse()?;
    let file = Table::new(source, (parsed.get_ref(), parsed.span()), FILE)?;
    let window = window(&file)?;
    let mut all = Vec::new();
    for table in file.tables("expect", EXPECT)? {
        topic(&table, window.as_ref(), &mut all)?;
    }
    for table in file.tables("transform", TRANSFORM)? {
        all.push(transform(&table, window.as_ref())?);
    }
    for table in file.tables("gate", GATE)? {
        all.push(gate(&table)?);
    }
    if all.is_empty() {
        return Err(file.error("nothing is expected; write [[expect]], [[transform]] or [[gate]]"));
    }
    Ok(all)
}

fn window(table: &Table<'_, '_>) -> Result<Option<Window>, ExpectationError> {
    let Some(range) = table.parsed::<WhenRange>("within")? else {
        return Ok(None);
    };
    if is_crossed(range) {
        return Err(table.error_at("within", "ends before it begins"));
    }
    let text = table.text("within")?.unwrap_or_default().to_owned();
    Ok(Some(Window { text, range }))
}

/// Whether it is empty in any recording.
fn is_crossed(range: WhenRange) -> bool {
    match (range.from, range.to) {
        (Some(When::At(from)), Some(When::At(to))) => from > to,
        (Some(When::AfterStart(from)), Some(When::AfterStart(to))) => from > to,
        (Some(When::BeforeEnd(from)), Some(When::BeforeEnd(to))) => from < to,
        (Some(When::Fraction(from)), Some(When::Fraction(to))) => from > to,
        _ => false,
    }
}

fn topic(
    table: &Table<'_, '_>,
    default: Option<&Window>,
    all: &mut Vec<Expectation>,
) -> Result<(), ExpectationError> {
    let topic = table.required("topic", table.text("topic")?)?;
    if topic.trim_start_matches('/').is_empty() {
        return Err(table.error_at("topic", "is empty"));
    }
    let label = table.text("name")?.unwrap_or(topic).to_owned();
    let window = window(table)?.or(default.cloned());
    let count = count(table)?;
    let mut specs = Vec::new();
    specs.extend(count.map(Spec::Count));
    specs.extend(rate(table)?.map(Spec::Rate));
    specs.extend(table.span("max-gap")?.map(Spec::MaxGap));
    specs.extend(latency(table)?.map(Spec::Latency));
    specs.extend(stamps(table)?.map(Spec::Stamps));
    for field in table.tables("field", field_schema::FIELD)? {
        specs.push(Spec::Field(field_schema::field(&field)?));
    }
    if specs.is_empty() {
        let what = "nothing is expected of the topic; add count, absent, rate, max-gap, latency, stamps or field";
        return Err(table.error(what));
    }
    let allows_none = count.is_some_and(|count| count.min == 0);
    all.extend(specs.into_iter().map(|spec| Expectation {
        label: label.clone(),
        topic: topic.to_owned(),
        window: window.clone(),
        allows_none,
        spec,
    }));
    Ok(())
}

fn count(table: &Table<'_, '_>) -> Result<Option<CountSpec>, ExpectationError> {
    let absent = table.flag("absent")?;
    if absent == Some(true) {
        let others = ["count", "rate", "max-gap", "latency", "stamps", "field"];
        if let Some(other) = others.into_iter().find(|key| table.has(key)) {
            return Err(table.error_at(other, "has no meaning beside `absent = true`"));
        }
        return Ok(Some(CountSpec::NONE));
    }
    if absent == Some(false) {
        return Err(table.error_at(
            "absent",
            "is true or left out; to expect messages, use `count`",
        ));
    }
    if table.is_integer("count") {
        let exact = table.count("count")?;
        return Ok(exact.map(|count| CountSpec {
            min: count,
            max: Some(count),
        }));
    }
    let Some(bounds) = table.table("count", COUNT)? else {
        return Ok(None);
    };
    let (min, max) = (bounds.count("min")?, bounds.count("max")?);
    if min.is_none() && max.is_none() {
        return Err(bounds.error("`count` needs min, max or both"));
    }
    let min = min.unwrap_or(0);
    if max.is_some_and(|max| max < min) {
        return Err(bounds.error_at("max", "is less than `min`"));
    }
    Ok(Some(CountSpec { min, max }))
}

fn rate(table: &Table<'_, '_>) -> Result<Option<RateSpec>, ExpectationError> {
    let Some(bounds) = table.table("rate", RATE)? else {
        return Ok(None);
    };
    let (min, max) = (bounds.size("min")?, bounds.size("max")?);
    if min.is_none() && max.is_none() {
        return Err(bounds.error("`rate` needs min, max or both, in hertz"));
    }
    let min = min.unwrap_or(0.0);
    if max.is_some_and(|max| max < min) {
        return Err(bounds.error_at("max", "is less than `min`"));
    }
    let over = bounds.span("over")?;
    if over == Some(Duration::ZERO) {
        return Err(bounds.error_at("over", "is more than zero"));
    }
    Ok(Some(RateSpec { min, max, over }))
}

/// The limits of a table, of which at least one is needed.
fn limits(table: &Table<'_, '_>, of: &str) -> Result<Limits, ExpectationError> {
    let mut limits: Vec<(u8, Duration)> = Vec::new();
    for (key, percent) in PERCENTILES {
        if let Some(most) = table.span(key)? {
            if let Some((lower, least)) = limits.last().filter(|(_, least)| *least > most) {
                let what = format!("is less than the {least} of p{lower}");
                return Err(table.error_at(key, &what));
            }
            limits.push((percent, most));
        }
    }
    if limits.is_empty() {
        return Err(table.error(&format!("{of} needs p50, p99 or max")));
    }
    Ok(Limits(limits))
}

fn latency(table: &Table<'_, '_>) -> Result<Option<LatencySpec>, ExpectationError> {
    let Some(latency) = table.table("latency", LATENCY)? else {
        return Ok(None);
    };
    let from = latency.required("from", latency.text("from")?)?.to_owned();
    let by = latency.one_of("by", &[("time", Pairing::Time), ("stamp", Pairing::Stamp)])?;
    Ok(Some(LatencySpec {
        from,
        by: by.unwrap_or(Pairing::Time),
        limits: limits(&latency, "`latency`")?,
        unanswered: latency.count("unanswered")?.unwrap_or(0),
    }))
}

fn stamps(table: &Table<'_, '_>) -> Result<Option<StampsSpec>, ExpectationError> {
    let (order, path) = if table.is_table("stamps") {
        let Some(stamps) = table.table("stamps", STAMPS)? else {
            return Ok(None);
        };
        (stamps.one_of("order", &ORDERS)?, stamps.parsed("path")?)
    } else {
        let Some(order) = table.one_of("stamps", &ORDERS)? else {
            return Ok(None);
        };
        (Some(order), None)
    };
    let header = || "header.stamp".parse().expect("it is a path");
    Ok(Some(StampsSpec {
        path: path.unwrap_or_else(header),
        is_strict: order.unwrap_or(false),
    }))
}

fn transform(
    table: &Table<'_, '_>,
    default: Option<&Window>,
) -> Result<Expectation, ExpectationError> {
    let frame = |key: &str| {
        let frame = table.required(key, table.text(key)?)?;
        if frame.is_empty() {
            return Err(table.error_at(key, "is empty"));
        }
        Ok(frame.to_owned())
    };
    let (target, source) = (frame("target")?, frame("source")?);
    let at = table.text("at")?.unwrap_or("end");
    let at = (at != "end").then(|| at.to_owned());
    let window = match (window(table)?, &at) {
        (Some(_), None) => {
            let what = "has no meaning at the end; name a topic in `at`";
            return Err(table.error_at("within", what));
        }
        (None, None) => None,
        (window, Some(_)) => window.or(default.cloned()),
    };
    Ok(Expectation {
        label: table.text("name")?.unwrap_or("tf").to_owned(),
        topic: at.clone().unwrap_or_default(),
        window,
        allows_none: false,
        spec: Spec::Transform(TransformSpec { target, source, at }),
    })
}

fn gate(table: &Table<'_, '_>) -> Result<Expectation, ExpectationError> {
    let rule = table.required("rule", table.parsed("rule")?)?;
    let text = table.text("rule")?.unwrap_or_default();
    Ok(Expectation {
        label: table.text("name")?.unwrap_or(text).to_owned(),
        topic: String::new(),
        window: None,
        allows_none: false,
        spec: Spec::Gate(GateSpec {
            rule,
            limits: limits(table, "[[gate]]")?,
        }),
    })
}
