//! [`GateRule`]: what has to be answered before playback goes on, as it is written on the command line.

use std::fmt;
use std::str::FromStr;

use crate::time::Duration;
use crate::untrusted::Foreign;

/// Which messages have to be answered, and by what.
///
/// Written `IN -> OUT[, OUT] [xN] [by stamp] [within SPAN]`, with `tick SPAN` in place of the topic `IN` for nodes that
/// are driven by ROS time alone. A span is in seconds (`1.5`, `2s`) or milliseconds (`20ms`). Topics are named as they
/// are published.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateRule {
    /// What is a question.
    pub trigger: Trigger,
    /// The topics that answer; each of them has to.
    pub outputs: Vec<String>,
    /// How many messages of each output make up an answer, at least 1.
    pub times: u32,
    /// Which messages answer which question.
    pub matching: Matching,
    /// How long to wait for the answer, in wall time; `None`: as long as for all rules.
    pub within: Option<Duration>,
}

/// What is a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// Each message of a topic.
    Topic(String),
    /// Each step of the clock by this much log time, which is more than zero.
    Tick(Duration),
}

/// Which messages answer which question.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Matching {
    /// Questions are answered in the order in which they were asked.
    #[default]
    Count,
    /// A message counts for all questions whose stamp is not later than its own `header.stamp`, unless that is later
    /// than everything that was sent.
    Stamp,
}

/// A text that is no rule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{}` is not a gate: {reason}; write IN -> OUT[, OUT] [xN] [by stamp] [within SPAN], or tick SPAN -> OUT",
    Foreign::text(text)
)]
pub struct InvalidGate {
    text: String,
    reason: &'static str,
}

impl FromStr for GateRule {
    type Err = InvalidGate;

    fn from_str(text: &str) -> Result<Self, InvalidGate> {
        parse(text).map_err(|reason| InvalidGate {
            text: text.to_owned(),
            reason,
        })
    }
}

impl fmt::Display for GateRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.trigger {
            Trigger::Topic(topic) => write!(f, "{topic}")?,
            Trigger::Tick(span) => write!(f, "tick {span}")?,
        }
        write!(f, " -> {}", self.outputs.join(", "))?;
        if self.times != 1 {
            write!(f, " x{}", self.times)?;
        }
        if self.matching == Matching::Stamp {
            write!(f, " by stamp")?;
        }
        self.within
            .map_or(Ok(()), |within| write!(f, " within {within}"))
    }
}

fn parse(text: &str) -> Result<GateRule, &'static str> {
    let (trigger, answer) = text.split_once("->").ok_or("there is no `->`")?;
    let mut rule = GateRule {
        trigger: parse_trigger(trigger.trim())?,
        outputs: Vec::new(),
        times: 1,
        matching: Matching::Count,
        within: None,
    };
    let mut parts = answer.split(',').peekable();
    let mut conditions = Vec::new();
    while let Some(part) = parts.next() {
        let mut words = part.split_whitespace();
        let output = parse_topic(words.next().ok_or("a topic that answers is missing")?)?;
        if rule.outputs.contains(&output) {
            return Err("a topic that answers is named twice");
        }
        rule.outputs.push(output);
        conditions = words.collect();
        if !conditions.is_empty() && parts.peek().is_some() {
            return Err("xN, `by stamp` and `within` come after the last topic");
        }
    }
    parse_conditions(&conditions, &mut rule)?;
    if matches!(&rule.trigger, Trigger::Topic(topic) if rule.outputs.contains(topic)) {
        return Err("a topic cannot answer itself");
    }
    Ok(rule)
}

fn parse_conditions(words: &[&str], rule: &mut GateRule) -> Result<(), &'static str> {
    let mut words = words.iter();
    let mut times = None;
    while let Some(word) = words.next() {
        match *word {
            "by" if rule.matching == Matching::Count => match words.next() {
                Some(&"stamp") => rule.matching = Matching::Stamp,
                _ => return Err("`by` is followed by `stamp`"),
            },
            "within" if rule.within.is_none() => {
                let span = words.next().ok_or("`within` is followed by a span")?;
                rule.within = Some(parse_span(span)?);
            }
            _ => {
                let number = word.strip_prefix('x').map(str::parse::<u32>);
                times = match (number, times) {
                    (Some(Ok(number @ 1..)), None) => Some(number),
                    _ => return Err("xN, `by stamp` and `within SPAN` may follow, each once"),
                };
            }
        }
    }
    rule.times = times.unwrap_or(1);
    Ok(())
}

fn parse_trigger(text: &str) -> Result<Trigger, &'static str> {
    let mut words = text.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some("tick"), Some(span), None) => parse_span(span).map(Trigger::Tick),
        (Some(topic), None, None) => parse_topic(topic).map(Trigger::Topic),
        _ => Err("before `->` there is one topic, or `tick SPAN`"),
    }
}

fn parse_topic(name: &str) -> Result<String, &'static str> {
    let words = name.strip_prefix('/').unwrap_or(name);
    let is_word = |word: &str| {
        let is_named = |it: char| it.is_ascii_alphanumeric() || it == '_';
        word.chars().all(is_named) && word.starts_with(|first: char| !first.is_ascii_digit())
    };
    if words.split('/').all(is_word) {
        Ok(format!("/{words}"))
    } else {
        Err("a topic is made of words with slashes between them")
    }
}

/// More than zero.
fn parse_span(text: &str) -> Result<Duration, &'static str> {
    let span = match text.strip_suffix("ms") {
        Some(millis) => {
            let millis = millis.parse::<f64>().ok();
            millis.and_then(|millis| Duration::from_secs_f64(millis / 1e3))
        }
        None => text.parse().ok(),
    };
    span.filter(|span| *span > Duration::ZERO)
        .ok_or("a span is more than zero, in seconds (1.5s) or milliseconds (20ms)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> GateRule {
        text.parse().unwrap()
    }

    fn millis(millis: i64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_rule_is_read_in_all_its_forms() {
        let simple = GateRule {
            trigger: Trigger::Topic("/points".into()),
            outputs: vec!["/odom".into()],
            times: 1,
            matching: Matching::Count,
            within: None,
        };
        assert_eq!(rule("/points -> /odom"), simple);
        assert_eq!(rule("points->odom"), simple);
        let both = GateRule {
            outputs: vec!["/odom".into(), "/map".into()],
            times: 3,
            within: Some(millis(1500)),
            ..simple.clone()
        };
        assert_eq!(rule("/points -> /odom , /map x3 within 1.5s"), both);
        assert_eq!(rule("/points -> /odom,/map within 1.5 x3"), both);
        let by_stamp = GateRule {
            matching: Matching::Stamp,
            ..simple
        };
        assert_eq!(rule("/points -> /odom by stamp"), by_stamp);
        let both = GateRule {
            times: 2,
            ..by_stamp
        };
        for text in ["/points -> /odom x2 by stamp", "points->odom by stamp x2"] {
            assert_eq!(rule(text), both);
        }
        let tick = rule("tick 20ms -> /cmd_vel");
        assert_eq!(tick.trigger, Trigger::Tick(millis(20)));
        // A topic may have this name.
        assert_eq!(rule("tick -> /a").trigger, Trigger::Topic("/tick".into()));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "/points -> /odom",
            "/points -> /odom, /map x3 within 1.5s",
            "tick 0.02s -> /cmd_vel by stamp within 0.25s",
            "/points -> /odom, /map x2 by stamp within 0.25s",
        ] {
            assert_eq!(rule(text).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_with_the_reason() {
        for (text, reason) in [
            ("/points", "no `->`"),
            ("-> /odom", "one topic"),
            ("/a /b -> /odom", "one topic"),
            ("tick 0s -> /odom", "more than zero"),
            ("tick fast -> /odom", "more than zero"),
            ("/points ->", "is missing"),
            ("/points -> /odom,", "is missing"),
            ("/points -> /odom, /odom", "named twice"),
            ("/points -> /points", "answer itself"),
            ("/points -> /odom x2, /map", "after the last topic"),
            ("/points -> /odom x0", "each once"),
            ("/points -> /odom x2 x2", "each once"),
            ("/points -> /odom by time", "followed by `stamp`"),
            ("/points -> /odom by stamp by stamp", "each once"),
            ("/points -> /odom x2 by stamp x2", "each once"),
            ("/points -> /odom within", "followed by a span"),
            ("/points -> /odom within -1s", "more than zero"),
            ("/points -> /odom within nanms", "more than zero"),
            ("/points -> //odom", "slashes"),
            ("/points -> /2d", "slashes"),
        ] {
            let error = text.parse::<GateRule>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
            assert!(error.starts_with(&format!("`{text}`")), "{error}");
        }
    }
}
