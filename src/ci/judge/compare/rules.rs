//! [`Rules`]: what counts as equal when two recordings are compared, as a person writes it in TOML.
//!
//! `docs/golden.md` describes every key.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::decode::{FieldPattern, FieldRule, FieldRules, Wildcard};
use crate::untrusted::{FileName, Foreign, read_text};

/// What counts as equal. Without rules everything has to be equal, except the times at which messages were received.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    rule: Vec<Rule>,
}

/// How the messages of a topic in two recordings are paired.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Align {
    /// By `header.stamp`; messages of one stamp in their order.
    Stamp,
    /// In their order.
    Index,
}

/// Some topics and fields, and what holds for them.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(try_from = "RuleTable")]
struct Rule {
    topics: Vec<Wildcard>,
    fields: FieldRule,
    align: Option<Align>,
    types: Option<Types>,
    log_time: Option<LogTime>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct RuleTable {
    topics: Option<Vec<String>>,
    fields: Option<Vec<Field>>,
    ignore: bool,
    absolute: Option<Distance>,
    relative: Option<Distance>,
    nan: Option<Nan>,
    align: Option<Align>,
    types: Option<Types>,
    log_time: Option<LogTime>,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Field(FieldPattern);

impl TryFrom<String> for Field {
    type Error = crate::decode::InvalidPattern;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

/// Not negative, and finite.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "Number")]
struct Distance(f64);

/// In TOML `1` is no float.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a tolerance is a number without quotes, such as 0.01"
)]
enum Number {
    Whole(u32),
    Float(f64),
}

impl TryFrom<Number> for Distance {
    type Error = &'static str;

    fn try_from(number: Number) -> Result<Self, Self::Error> {
        let value = match number {
            Number::Whole(value) => value.into(),
            Number::Float(value) => value,
        };
        let is_distance = value.is_finite() && value >= 0.0;
        is_distance
            .then_some(Self(value))
            .ok_or("a tolerance is a finite number that is not negative")
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Nan {
    Equal,
    Different,
}

/// Whether the definitions of a topic may differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Types {
    /// They have to have the same fields.
    #[default]
    Same,
    /// The fields that both have are compared.
    Common,
}

/// Whether the log times of two messages of a pair have to be equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LogTime {
    /// They do not matter.
    #[default]
    Any,
    /// They have to be equal.
    Equal,
}

impl TryFrom<RuleTable> for Rule {
    type Error = &'static str;

    fn try_from(table: RuleTable) -> Result<Self, Self::Error> {
        let of_topics = table.align.is_some() || table.types.is_some() || table.log_time.is_some();
        let of_numbers =
            table.absolute.is_some() || table.relative.is_some() || table.nan.is_some();
        if !of_topics && !of_numbers && !table.ignore {
            return Err("this rule sets nothing");
        }
        if of_topics && table.fields.is_some() {
            return Err("`align`, `types` and `log-time` hold for messages: leave out `fields`");
        }
        if table.ignore && (of_topics || of_numbers) {
            return Err("`ignore` cannot be combined with other settings");
        }
        if table.ignore && table.topics.is_none() && table.fields.is_none() {
            return Err("`ignore` needs `topics` or `fields`");
        }
        let is_empty = |list: Option<usize>| list == Some(0);
        if is_empty(table.topics.as_ref().map(Vec::len))
            || is_empty(table.fields.as_ref().map(Vec::len))
        {
            return Err("the list is empty; leave it out to select all");
        }
        Ok(Self {
            topics: match table.topics {
                None => vec![Wildcard::new("*")],
                Some(names) => names.into_iter().map(Wildcard::new).collect(),
            },
            fields: FieldRule {
                fields: table
                    .fields
                    .into_iter()
                    .flatten()
                    .map(|Field(it)| it)
                    .collect(),
                ignore: table.ignore,
                absolute: table.absolute.map(|Distance(value)| value),
                relative: table.relative.map(|Distance(value)| value),
                nan_equal: table.nan.map(|nan| nan == Nan::Equal),
            },
            align: table.align,
            types: table.types,
            log_time: table.log_time,
        })
    }
}

/// A text that does not contain rules.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}:{column}: {}", Foreign::text(reason))]
pub struct RulesError {
    /// The file.
    pub file: FileName,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub reason: String,
}

/// A file whose rules cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulesFileError {
    /// It cannot be read.
    #[error("{}: {reason}", Foreign::path(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// It does not contain rules.
    #[error(transparent)]
    Rules(#[from] RulesError),
}

impl Rules {
    /// Reads TOML; an error calls it `file_name`.
    pub fn parse(text: &str, file_name: impl Into<FileName>) -> Result<Self, RulesError> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let before = text.get(..at).unwrap_or_default();
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            RulesError {
                file: file_name.into(),
                line: 1 + before.bytes().filter(|byte| *byte == b'\n').count(),
                column: 1 + before[line_start..].chars().count(),
                reason: error.message().trim_end().to_owned(),
            }
        })
    }

    /// The file with the rules of a reference, if it has any: of `out.mcap` it is `out.toml`.
    pub fn file_beside(reference: &Path) -> PathBuf {
        reference.with_extension("toml")
    }

    /// The rules that lie beside a reference. No rules if there is no such file.
    pub fn beside(reference: &Path) -> Result<Self, RulesFileError> {
        let path = Self::file_beside(reference);
        match read_text(&path) {
            Ok(text) => Ok(Self::parse(&text, &path)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(reason) => Err(RulesFileError::Unreadable { path, reason }),
        }
    }

    /// Everything has to be equal, also the log times: two runs that are equal have equal digests.
    pub(crate) fn of_repetitions() -> Self {
        let everywhere = Rule {
            topics: vec![Wildcard::new("*")],
            fields: FieldRule::default(),
            align: None,
            types: None,
            log_time: Some(LogTime::Equal),
        };
        Self {
            rule: vec![everywhere],
        }
    }

    /// What they say of a topic: for each setting the last rule that has it. `None` if the topic is ignored.
    pub(super) fn of_topic(&self, topic: &str) -> Option<TopicRules> {
        let mut of_topic = TopicRules::default();
        let mut fields = Vec::new();
        for (index, rule) in self.rule.iter().enumerate() {
            if !rule.topics.iter().any(|name| name.matches(topic)) {
                continue;
            }
            if rule.fields.ignore && rule.fields.fields.is_empty() {
                return None;
            }
            of_topic.align = rule.align.or(of_topic.align);
            of_topic.types = rule.types.unwrap_or(of_topic.types);
            of_topic.log_time = rule.log_time.unwrap_or(of_topic.log_time);
            let patterns = rule.fields.fields.iter().cloned();
            of_topic
                .patterns
                .extend(patterns.map(|pattern| (index, pattern)));
            fields.push(rule.fields.clone());
        }
        of_topic.fields = FieldRules::new(fields);
        Some(of_topic)
    }

    /// The patterns of topics that match none of these names, with the number of their rule, from 0.
    pub(super) fn unmatched(&self, names: &[&str]) -> impl Iterator<Item = (usize, &str)> {
        let rules = self.rule.iter().enumerate();
        let patterns =
            rules.flat_map(|(index, rule)| rule.topics.iter().map(move |it| (index, it)));
        let is_unmatched =
            |(_, pattern): &(usize, &Wildcard)| !names.iter().any(|name| pattern.matches(name));
        let unmatched: Vec<_> = patterns.filter(is_unmatched).collect();
        unmatched
            .into_iter()
            .map(|(index, pattern)| (index, pattern.as_str()))
    }

    /// All patterns of fields, with the number of their rule, from 0.
    pub(super) fn patterns(&self) -> impl Iterator<Item = (usize, &FieldPattern)> {
        let rules = self.rule.iter().enumerate();
        rules.flat_map(|(index, rule)| rule.fields.fields.iter().map(move |it| (index, it)))
    }
}

/// What the rules say of one topic.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct TopicRules {
    /// `None`: by stamp if the messages have one.
    pub(super) align: Option<Align>,
    pub(super) types: Types,
    pub(super) log_time: LogTime,
    pub(super) fields: FieldRules,
    /// The patterns in `fields`, with the number of their rule.
    pub(super) patterns: Vec<(usize, FieldPattern)>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn error(text: &str) -> String {
        Rules::parse(text, "g.toml").unwrap_err().to_string()
    }

    #[test]
    fn an_error_names_line_and_column() {
        for (text, expected) in [
            ("[[rule]\n", "g.toml:1:8: "),
            ("rules = 1\n", "g.toml:1:1: unknown field `rules`"),
            (
                "[[rule]]\nabsolute = 1\n\n  [[rule]]\n  topic = [\"/a\"]\n",
                "g.toml:5:3: unknown field `topic`",
            ),
            (
                "[[rule]]\nalign = \"time\"\n",
                "g.toml:2:9: unknown variant `time`",
            ),
            ("[[rule]]\nabsolute = -1.0\n", "g.toml:2:12: "),
            (
                "[[rule]]\nabsolute = nan\n",
                "g.toml:2:12: a tolerance is a finite number",
            ),
            ("[[rule]]\nabsolute = \"1\"\n", "g.toml:2:12: "),
            (
                "[[rule]]\nfields = [\"a\", \"b..c\"]\nignore = true\n",
                "g.toml:2:10: `b..c` names no field",
            ),
            (
                "[[rule]]\ntopics = [\"/a\"]\n",
                "g.toml:1:1: this rule sets nothing",
            ),
            (
                "[[rule]]\nignore = true\n",
                "g.toml:1:1: `ignore` needs `topics` or `fields`",
            ),
            (
                "[[rule]]\nfields = [\"a\"]\nalign = \"index\"\n",
                "g.toml:1:1: `align`, `types` and `log-time` hold for messages",
            ),
            (
                "[[rule]]\ntopics = [\"/a\"]\nignore = true\nabsolute = 1\n",
                "g.toml:1:1: `ignore` cannot be combined with other settings",
            ),
            (
                "[[rule]]\ntopics = []\nignore = true\n",
                "g.toml:1:1: the list is empty",
            ),
            (
                "[[rule]]\nabsolute = 1\nabsolute = 2\n",
                "g.toml:3:1: duplicate key",
            ),
        ] {
            let shown = error(text);
            assert!(shown.starts_with(expected), "{text}: {shown}");
        }
    }

    #[test]
    fn the_last_rule_for_a_topic_holds() {
        let rules = Rules::parse(
            "rule = [\n\
               { align = 'index' },\n\
               { topics = ['/tf*'], types = 'common' },\n\
               { topics = ['/tf_static'], align = 'stamp', log-time = 'equal' },\n\
               { topics = ['/rosout', '/debug/*'], ignore = true },\n\
             ]\n",
            "g.toml",
        )
        .unwrap();
        let of = |topic| {
            rules
                .of_topic(topic)
                .map(|it| (it.align, it.types, it.log_time))
        };
        let (index, stamp) = (Some(Align::Index), Some(Align::Stamp));
        assert_eq!(of("/odom"), Some((index, Types::Same, LogTime::Any)));
        assert_eq!(of("/tf"), Some((index, Types::Common, LogTime::Any)));
        assert_eq!(
            of("/tf_static"),
            Some((stamp, Types::Common, LogTime::Equal))
        );
        assert_eq!((of("/rosout"), of("/debug/a/b")), (None, None));
    }

    #[test]
    fn rules_lie_beside_the_reference() {
        let dir = tempfile::tempdir().unwrap();
        let golden = dir.path().join("out.mcap");
        assert_eq!(Rules::beside(&golden).unwrap(), Rules::default());
        let file = dir.path().join("out.toml");
        std::fs::write(&file, "[[rule]]\nabsolute = 1e-6\n").unwrap();
        assert_ne!(Rules::beside(&golden).unwrap(), Rules::default());
        std::fs::write(&file, "[[rule]]\nabsolut = 1e-6\n").unwrap();
        let error = Rules::beside(&golden).unwrap_err().to_string();
        assert!(error.contains("out.toml:2:1: unknown field"), "{error}");
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        let error = Rules::beside(&golden).unwrap_err().to_string();
        assert!(error.ends_with("out.toml: not a file"), "{error}");
    }

    #[test]
    fn the_page_describes_every_key() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/golden.md");
        let page = std::fs::read_to_string(page).unwrap();
        let row = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
        let described: BTreeSet<String> = page.lines().filter_map(row).collect();
        // The parser names all keys when it refuses one.
        let refused = error("[[rule]]\nx = 1\n");
        let keys = refused.split("expected one of ").nth(1).unwrap();
        let keys: BTreeSet<String> = keys
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        assert!(keys.len() > 5, "{refused}");
        assert_eq!(described, keys);
        let mut examples = 0;
        for example in page.split("```toml\n").skip(1) {
            let example = example.split("```").next().unwrap();
            Rules::parse(example, "golden.md").unwrap();
            examples += 1;
        }
        assert!(examples > 0);
    }
}
