//! [`QosOverrides`]: QoS profiles from the user, used instead of the recorded ones.
//!
//! The file format is that of `ros2 bag play --qos-profile-overrides-path`: a YAML mapping of topics to policies.
//! Unlike a recording, the file was written by hand for this run, so whatever is not understood is an error that names
//! topic, field and line.

use std::collections::BTreeMap;

use super::qos::{Durability, History, Liveliness, Qos, QosDuration, Reliability};
use crate::untrusted::YamlError;
use crate::untrusted::yaml::{self, Entry, Node};

/// Why overrides cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QosOverridesError {
    /// It is not YAML, or not a mapping of topics to profiles.
    #[error("not a mapping of topics to QoS profiles")]
    Yaml(#[from] YamlError),
    /// The value of a topic is not a profile.
    #[error(
        "line {line}: {}: not a profile; hint: a profile is as {{depth: 10, reliability: reliable}}",
        shown(topic)
    )]
    NoProfile {
        /// The topic, as written in the file.
        topic: String,
        /// The line, from 1.
        line: u64,
    },
    /// Two entries for one topic.
    #[error(
        "line {line}: {}: given twice; hint: names with and without a leading slash are the same",
        shown(topic)
    )]
    Twice {
        /// The topic, as written the second time.
        topic: String,
        /// The line of the second entry, from 1.
        line: u64,
    },
    /// A profile has an unknown field.
    #[error(
        "line {line}: {}: unknown policy `{}`; hint: the policies are {FIELDS}",
        shown(topic),
        shown(field)
    )]
    Unknown {
        /// The topic, as written in the file.
        topic: String,
        /// The field.
        field: String,
        /// The line, from 1.
        line: u64,
    },
    /// A policy has an invalid value.
    #[error(
        "line {line}: {}: {field}: {found} is not a valid value; hint: {allowed}",
        shown(topic)
    )]
    Value {
        /// The topic, as written in the file.
        topic: String,
        /// The field.
        field: String,
        /// The value.
        found: String,
        /// The valid values.
        allowed: &'static str,
        /// The line, from 1.
        line: u64,
    },
}

/// A name as an error shows it: on one line, and shortened if it is very long.
fn shown(name: &str) -> String {
    name.escape_debug().take(256).collect()
}

const FIELDS: &str = "history, depth, reliability, durability, deadline, lifespan, liveliness, \
                      liveliness_lease_duration, avoid_ros_namespace_conventions";

/// Profiles by topic.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QosOverrides {
    /// By the names as written, without leading slash.
    by_topic: BTreeMap<String, (String, Qos)>,
}

impl QosOverrides {
    /// Parses a text. Policies are words in any case or the middleware's integers. Policies that are not given have
    /// rclcpp's defaults: reliable, volatile, keep last 10, no deadline, no lifespan. An empty text has no overrides.
    /// Time and memory are bounded.
    pub fn parse(text: &str) -> Result<Self, QosOverridesError> {
        let mut by_topic = BTreeMap::new();
        let Some(written) = yaml::read(text)? else {
            return Ok(Self { by_topic });
        };
        let Some(entries) = written.entries() else {
            return Err(written.error("it is not a mapping").into());
        };
        // In the order of the file, so that the first of several mistakes is reported.
        for entry in entries {
            let (topic, line) = (entry.key.clone(), entry.line);
            let Some(fields) = entry.value.entries() else {
                return Err(QosOverridesError::NoProfile { topic, line });
            };
            let qos = profile(&topic, fields)?;
            let key = without_slash(&topic).to_owned();
            if by_topic.insert(key, (topic.clone(), qos)).is_some() {
                return Err(QosOverridesError::Twice { topic, line });
            }
        }
        Ok(Self { by_topic })
    }

    /// The profile for a topic by its recorded name, with or without leading slash.
    pub fn get(&self, topic: &str) -> Option<Qos> {
        self.by_topic.get(without_slash(topic)).map(|(_, qos)| *qos)
    }

    /// The names that have profiles, as written.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_topic.values().map(|(name, _)| name.as_str())
    }
}

fn without_slash(topic: &str) -> &str {
    topic.strip_prefix('/').unwrap_or(topic)
}

#[derive(Clone, Copy)]
enum HistoryKind {
    Last,
    All,
}

/// The values of a policy: the word, the middleware's integer, and the value here. "Best available" becomes the value
/// that is compatible with every subscriber.
type Policy<T> = [(&'static str, u64, T)];

const HISTORY: &Policy<HistoryKind> = &[
    ("system_default", 0, HistoryKind::Last),
    ("keep_last", 1, HistoryKind::Last),
    ("keep_all", 2, HistoryKind::All),
    ("unknown", 3, HistoryKind::Last),
];
const RELIABILITY: &Policy<Reliability> = &[
    ("system_default", 0, Reliability::Reliable),
    ("reliable", 1, Reliability::Reliable),
    ("best_effort", 2, Reliability::BestEffort),
    ("unknown", 3, Reliability::Reliable),
    ("best_available", 4, Reliability::Reliable),
];
const DURABILITY: &Policy<Durability> = &[
    ("system_default", 0, Durability::Volatile),
    ("transient_local", 1, Durability::TransientLocal),
    ("volatile", 2, Durability::Volatile),
    ("unknown", 3, Durability::Volatile),
    ("best_available", 4, Durability::TransientLocal),
];
const LIVELINESS: &Policy<Liveliness> = &[
    ("system_default", 0, Liveliness::Automatic),
    ("automatic", 1, Liveliness::Automatic),
    ("manual_by_topic", 3, Liveliness::ManualByTopic),
    ("unknown", 4, Liveliness::Automatic),
    ("best_available", 5, Liveliness::Automatic),
];

/// Builds a profile from its fields.
fn profile(topic: &str, fields: &[Entry]) -> Result<Qos, QosOverridesError> {
    let mut qos = Qos::default();
    let (mut kept, mut depth) = (HistoryKind::Last, None);
    for Entry { key, line, value } in fields {
        let value = Given(value);
        let valid = |set: Option<()>, allowed| {
            set.ok_or_else(|| QosOverridesError::Value {
                topic: topic.to_owned(),
                field: key.clone(),
                found: value.shown(),
                allowed,
                line: *line,
            })
        };
        match key.as_str() {
            // A field without a value counts as absent.
            _ if value.0.is_null() => {}
            "history" => valid(
                value.set(HISTORY, &mut kept),
                "keep_last (1) or keep_all (2)",
            )?,
            "depth" => valid(value.count(&mut depth), "a number up to 4294967295")?,
            "reliability" => valid(
                value.set(RELIABILITY, &mut qos.reliability),
                "reliable (1) or best_effort (2)",
            )?,
            "durability" => valid(
                value.set(DURABILITY, &mut qos.durability),
                "transient_local (1) or volatile (2)",
            )?,
            "liveliness" => valid(
                value.set(LIVELINESS, &mut qos.liveliness),
                "automatic (1) or manual_by_topic (3)",
            )?,
            "deadline" => valid(value.span(&mut qos.deadline), DURATION_FORM)?,
            "lifespan" => valid(value.span(&mut qos.lifespan), DURATION_FORM)?,
            "liveliness_lease_duration" => valid(value.span(&mut qos.lease), DURATION_FORM)?,
            // It would change topic names; here they are always as recorded.
            "avoid_ros_namespace_conventions" => {
                valid(value.0.flag().map(|_| ()), "true or false")?;
            }
            _ => {
                return Err(QosOverridesError::Unknown {
                    topic: topic.to_owned(),
                    field: key.clone(),
                    line: *line,
                });
            }
        }
    }
    qos.history = match (kept, depth) {
        (HistoryKind::All, _) => History::KeepAll,
        // Zero is "system default", for which rclcpp's default is used.
        (HistoryKind::Last, None | Some(0)) => Qos::default().history,
        (HistoryKind::Last, Some(depth)) => History::KeepLast(depth),
    };
    Ok(qos)
}

const DURATION_FORM: &str = "{sec: 1, nsec: 500000000}; no limit is {sec: 0, nsec: 0}";

/// The value of a field. Each function sets a policy from it, or reports that it is invalid.
struct Given<'a>(&'a Node);

impl Given<'_> {
    fn set<T: Copy>(&self, policy: &Policy<T>, place: &mut T) -> Option<()> {
        let (text, given) = (self.0.text(), self.0.integer());
        let is_it = |(word, number, _): &&(&str, u64, T)| {
            given == Some(*number) || text.is_some_and(|text| text.eq_ignore_ascii_case(word))
        };
        let (.., value) = policy.iter().find(is_it)?;
        *place = *value;
        Some(())
    }

    fn count(&self, place: &mut Option<u32>) -> Option<()> {
        *place = Some(self.0.integer()?);
        Some(())
    }

    /// Excess nanoseconds carry into seconds; zero and the largest values of the middlewares mean no limit.
    fn span(&self, place: &mut QosDuration) -> Option<()> {
        const SECOND: u64 = 1_000_000_000;
        let (mut sec, mut nsec) = (0_u64, 0_u64);
        for part in self.0.entries()? {
            let place = match part.key.as_str() {
                "sec" => &mut sec,
                "nsec" => &mut nsec,
                _ => return None,
            };
            *place = part.value.integer()?;
        }
        let sec = sec.saturating_add(nsec / SECOND);
        *place = if sec >= 2_147_483_647 || (sec, nsec) == (0, 0) {
            QosDuration::INFINITE
        } else {
            let nsec = nsec % SECOND;
            QosDuration { sec, nsec }
        };
        Some(())
    }

    /// The value as an error shows it.
    fn shown(&self) -> String {
        match self.0.text() {
            Some(text) => format!("`{}`", text.escape_debug().take(40).collect::<String>()),
            None => "this value".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(profile: &str) -> Result<Qos, String> {
        let overrides = QosOverrides::parse(&format!("/a: {{{profile}}}"));
        let overrides = overrides.map_err(|error| error.to_string())?;
        Ok(overrides.get("/a").unwrap())
    }

    #[test]
    fn policies_are_words_in_any_case_or_integers_and_missing_ones_have_defaults() {
        let usual = Qos::default();
        let kept = |history| Qos { history, ..usual };
        let latched = Qos {
            durability: Durability::TransientLocal,
            ..usual
        };
        let lossy = Qos {
            reliability: Reliability::BestEffort,
            ..usual
        };
        let manual = Qos {
            liveliness: Liveliness::ManualByTopic,
            ..usual
        };
        for (profile, qos) in [
            ("", usual),
            (
                "history: keep_last, depth: 10, reliability: reliable, durability: volatile",
                usual,
            ),
            (
                "history: 1, depth: 10, reliability: 1, durability: 2, liveliness: 1",
                usual,
            ),
            (
                "history: SYSTEM_DEFAULT, reliability: 0, durability: 0, liveliness: 0",
                usual,
            ),
            (
                "history: 3, depth: 0, reliability: unknown, durability: 3, liveliness: 4",
                usual,
            ),
            ("history: ~, depth: , reliability: ~, deadline: ~", usual),
            ("avoid_ros_namespace_conventions: true", usual),
            ("depth: 3", kept(History::KeepLast(3))),
            (
                "history: Keep_Last, depth: 4294967295",
                kept(History::KeepLast(u32::MAX)),
            ),
            ("history: unknown, depth: 7", kept(History::KeepLast(7))),
            ("history: keep_all, depth: 7", kept(History::KeepAll)),
            ("history: 2", kept(History::KeepAll)),
            ("durability: Transient_Local", latched),
            ("durability: 1", latched),
            ("durability: best_available, reliability: 4", latched),
            ("reliability: BEST_EFFORT", lossy),
            ("reliability: 2", lossy),
            ("liveliness: manual_by_topic", manual),
            ("liveliness: 3", manual),
        ] {
            assert_eq!(one(profile), Ok(qos), "{profile}");
        }
    }

    #[test]
    fn durations_have_seconds_and_nanoseconds() {
        let span = |sec, nsec| QosDuration { sec, nsec };
        for (written, read) in [
            ("{sec: 1, nsec: 5}", span(1, 5)),
            ("{sec: 2}", span(2, 0)),
            ("{nsec: 7}", span(0, 7)),
            ("{sec: 1, nsec: 2500000000}", span(3, 500_000_000)),
            ("{sec: 0, nsec: 0}", QosDuration::INFINITE),
            ("{}", QosDuration::INFINITE),
            ("{sec: 9223372036, nsec: 854775807}", QosDuration::INFINITE),
            ("{sec: 2147483647, nsec: 4294967295}", QosDuration::INFINITE),
            (
                "{sec: 18446744073709551615, nsec: 18446744073709551615}",
                QosDuration::INFINITE,
            ),
        ] {
            let usual = Qos::default();
            let [deadline, lifespan, lease] = [read; 3];
            let both = one(&format!("deadline: {written}")).unwrap();
            assert_eq!(both, Qos { deadline, ..usual }, "{written}");
            let both = one(&format!("lifespan: {written}")).unwrap();
            assert_eq!(both, Qos { lifespan, ..usual }, "{written}");
            let both = one(&format!("liveliness_lease_duration: {written}")).unwrap();
            assert_eq!(both, Qos { lease, ..usual }, "{written}");
        }
    }

    #[test]
    fn a_leading_slash_of_a_topic_makes_no_difference() {
        let overrides = QosOverrides::parse(
            "/a: {depth: 1}\nb/c: {depth: 2}\nshared: &s\n  durability: transient_local\n/d:\n  <<: *s\n  depth: 3\n",
        )
        .unwrap();
        let depth = |name| overrides.get(name).map(|qos| qos.history);
        for (name, kept) in [
            ("/a", 1),
            ("a", 1),
            ("/b/c", 2),
            ("b/c", 2),
            ("/d", 3),
            ("shared", 10),
        ] {
            assert_eq!(depth(name), Some(History::KeepLast(kept)), "{name}");
        }
        assert_eq!((depth("/c"), depth("//a"), depth("")), (None, None, None));
        assert_eq!(
            overrides.get("/d").unwrap().durability,
            Durability::TransientLocal
        );
        assert_eq!(
            overrides.names().collect::<Vec<_>>(),
            ["/a", "b/c", "/d", "shared"]
        );
        for empty in ["", "# nothing yet\n", "~", "{}"] {
            assert_eq!(
                QosOverrides::parse(empty),
                Ok(QosOverrides::default()),
                "{empty}"
            );
        }
    }

    #[test]
    fn errors_name_topic_field_and_line() {
        for (text, expected) in [
            (
                "/a:\n  depth: 1\n  reliability: maybe\n",
                "line 3: /a: reliability: `maybe` is not",
            ),
            ("/a:\n  depth: -1\n", "line 2: /a: depth: "),
            (
                "/a:\n  depth: 4294967296\n",
                "line 2: /a: depth: `4294967296` is not",
            ),
            ("/a:\n  depth: ten\n", "line 2: /a: depth: `ten` is not"),
            ("/a:\n  depth: 1.5\n", "line 2: /a: depth: "),
            ("/a:\n  history: 9\n", "line 2: /a: history: `9` is not"),
            (
                "/a:\n  durability: [volatile]\n",
                "line 2: /a: durability: ",
            ),
            (
                "/a:\n  liveliness: true\n",
                "line 2: /a: liveliness: `true` is not",
            ),
            (
                "/a:\n  liveliness: manual_by_node\n",
                "line 2: /a: liveliness: `manual_by_node`",
            ),
            ("/a:\n  deadline: 5\n", "line 2: /a: deadline: `5` is not"),
            (
                "/a:\n  deadline: {sec: -1, nsec: 0}\n",
                "line 2: /a: deadline: ",
            ),
            ("/a:\n  lifespan: {seconds: 1}\n", "line 2: /a: lifespan: "),
            (
                "/a:\n  avoid_ros_namespace_conventions: 2\n",
                "line 2: /a: avoid_ros_",
            ),
            (
                "/a: {depth: 1}\n\n/b:\n  color: red\n",
                "line 4: /b: unknown policy `color`",
            ),
            ("/a: {depth: 1}\n/b: 7\n", "line 2: /b: not a profile"),
            ("/a: {depth: 1}\n/b:\n", "/b: not a profile"),
            ("/a: [{depth: 1}]\n", "line 1: /a: not a profile"),
            ("/a: {depth: 1}\na: {depth: 2}\n", "line 2: a: given twice"),
            ("/a: {color: red}\n/b: {depth: -1}\n", "line 1: /a: "),
            ("/b: {color: red}\n/a: {depth: -1}\n", "line 1: /b: "),
        ] {
            let error = QosOverrides::parse(text).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
            assert!(
                error.contains("; hint: ") && error.lines().count() == 1,
                "{error}"
            );
        }
    }

    #[test]
    fn other_yaml_and_hostile_yaml_is_refused() {
        let bomb = (1..40).fold("a0: &a0 {x: y}\n".to_owned(), |text, n| {
            let before = format!("*a{}", n - 1);
            let fields = (0..9)
                .map(|i| format!("f{i}: {before}"))
                .collect::<Vec<_>>();
            format!("{text}a{n}: &a{n} {{{}}}\n", fields.join(", "))
        });
        let wide = "/a: {}\n".repeat(100_000);
        let deep = format!("/a: {}", "{a: ".repeat(10_000));
        let long = "#".repeat(5 << 20);
        let twice = "/a: {depth: 1}\n/a: {depth: 2}\n";
        let many = (0..200_000).fold(String::new(), |text, n| text + &format!("/a{n}: {{}}\n"));
        for text in [
            "text", "[]", "- /a: {}", "/a: {", twice, &bomb, &wide, &deep, &long, &many,
        ] {
            let error = QosOverrides::parse(text).unwrap_err();
            assert!(error.to_string().len() < 400, "{error}");
            assert!(
                matches!(error, QosOverridesError::Yaml(_)),
                "{text:.20}: {error}"
            );
        }
    }

    #[test]
    fn errors_are_one_line_whatever_a_name_holds() {
        let name = r#""a\n\e[31mb""#;
        for text in [
            format!("{name}: 7"),
            format!("{name}: {{depth: x}}"),
            format!("{name}: {{color: red}}"),
            format!("/x: {{{name}: 1}}"),
            format!("{name}: {{}}\n\"/a\\n\\e[31mb\": {{}}"),
        ] {
            let error = QosOverrides::parse(&text).unwrap_err().to_string();
            assert!(!error.contains(char::is_control), "{text}: {error:?}");
            assert!(
                error.contains(r"\n\u{1b}[31mb") || error.contains("/x"),
                "{text}: {error}"
            );
        }
        let long = format!("/a: {{{}: 1}}", "x".repeat(10_000));
        assert!(QosOverrides::parse(&long).unwrap_err().to_string().len() < 1000);
    }
}
