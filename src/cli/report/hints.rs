//! [`Hints`]: adds to network events and errors what the user can do about them, in terms of this program's flags.
//!
//! The wire reports topics by the names on the network; flags take recorded names. This file converts between the two.

use std::collections::HashMap;

use crate::bag::Topic;
use crate::cli::args::flags::PlayArgs;
use crate::cli::plan::Plan;
use crate::wire::{SkipReason, Skipped, WireError, WireEvent};

/// A hint about more topics than this names none of them.
const MOST_NAMED: usize = 5;

/// The hints for one run.
#[derive(Clone, Debug)]
pub struct Hints {
    /// The recorded names of the topics that are sent under a name; that name is without slashes at its ends.
    recorded: HashMap<String, Vec<String>>,
    /// The flags that requested the clock.
    clock: Vec<&'static str>,
}

impl Hints {
    /// The hints for the run of a plan, for a recording of these topics.
    pub fn new(args: &PlayArgs, plan: &Plan, topics: &[Topic]) -> Self {
        let mut recorded: HashMap<String, Vec<String>> = HashMap::new();
        for chosen in &plan.chosen {
            let names = recorded.entry(bare(&chosen.name)).or_default();
            names.push(topics[chosen.id.index()].name.clone());
        }
        let clock = [
            ("--clock", args.clock.clock.is_some()),
            ("--clock-topics", !args.clock.clock_topics.is_empty()),
            ("--clock-topics-all", args.clock.clock_topics_all),
        ];
        let clock = clock.into_iter().filter(|(_, is_given)| *is_given);
        Self {
            recorded,
            clock: clock.map(|(flag, _)| flag).collect(),
        }
    }

    /// The hints for a clock without a recording.
    pub fn of_clock() -> Self {
        Self {
            recorded: HashMap::new(),
            clock: Vec::new(),
        }
    }

    /// The event, and what can be done about it.
    pub fn event(&self, event: &WireEvent) -> String {
        with(&event.to_string(), self.about(event))
    }

    fn about(&self, event: &WireEvent) -> Option<String> {
        let hint = match event {
            WireEvent::ForeignClock { .. } if self.clock.is_empty() => {
                "stop it, or this clock server".into()
            }
            WireEvent::ForeignClock { .. } => {
                format!("stop it, or play without {}", self.clock_flags())
            }
            WireEvent::ForeignPublisher { topics, .. } => {
                let names = topics.iter().flat_map(|topic| self.recorded(topic));
                match &names.cloned().collect::<Vec<_>>()[..] {
                    [] => "stop it, or give this player another name with --node-name".into(),
                    names if names.len() > MOST_NAMED => {
                        "stop it, or play with --exclude-topics, or with --prefix".into()
                    }
                    names => format!(
                        "stop it, --exclude-topics {}, or --remap {}",
                        words(names),
                        renamed(&names[0])
                    ),
                }
            }
            WireEvent::SameNodeName { .. } => "--node-name gives this player another name".into(),
            WireEvent::TypeMismatch {
                topic,
                is_same_type,
                ..
            } => match (is_same_type, self.recorded(topic)) {
                (true, []) => "play with --any-type-hash".into(),
                (true, _) => {
                    "rebuild it with the recorded definition, or play with --any-type-hash".into()
                }
                (false, []) => return None,
                (false, names) => {
                    format!("if these are two topics, --remap {}", renamed(&names[0]))
                }
            },
            WireEvent::UnknownTypeHash { .. } => {
                "start the subscriber first, or play with --any-type-hash".into()
            }
            WireEvent::MixedProfiles { topic, .. } => format!(
                "--qos-profile-overrides-path FILE gives {} another profile",
                words(self.recorded(topic))
            ),
            WireEvent::Stalled { .. } => "--congestion drop never waits".into(),
            _ => return None,
        };
        Some(hint)
    }

    /// Why a topic is not played, and what can be done about it.
    pub fn skipped(&self, skipped: &Skipped) -> String {
        let hint = match &skipped.reason {
            SkipReason::Name(_) | SkipReason::RosName(_) | SkipReason::OtherType(_) => {
                format!("rename it with --remap {}", renamed(&skipped.topic))
            }
            SkipReason::OwnClock => format!(
                "play without {} to replay the recorded one",
                self.clock_flags()
            ),
            SkipReason::Encoding(encoding) if encoding == "ros1" => {
                "without --transcode off they are sent as ROS 2 messages".into()
            }
            SkipReason::NoRos2Form(_) => "--wire zenoh plays them as recorded".into(),
            SkipReason::Encoding(_) => "--wire zenoh plays any encoding".into(),
            SkipReason::Type(_) => "--wire zenoh plays messages of any type".into(),
        };
        with(&skipped.reason.to_string(), Some(hint))
    }

    /// What can be done about a network error, if a flag helps.
    pub fn error(&self, error: &WireError) -> Option<String> {
        match error {
            WireError::Name { name, .. } => {
                let recorded = self.recorded(name).first()?;
                Some(format!("rename it with --remap {}", renamed(recorded)))
            }
            _ => None,
        }
    }

    /// The recorded names of what is sent as `name`; empty for what was not recorded, such as the served clock.
    fn recorded(&self, name: &str) -> &[String] {
        self.recorded.get(&bare(name)).map_or(&[], Vec::as_slice)
    }

    fn clock_flags(&self) -> String {
        self.clock.join(" and ")
    }
}

fn with(what: &str, hint: Option<String>) -> String {
    match hint {
        Some(hint) => format!("{what}; hint: {hint}"),
        None => what.to_owned(),
    }
}

fn bare(name: &str) -> String {
    name.trim_matches('/').to_owned()
}

/// A remapping rule that gives a recorded topic a name that is always valid.
fn renamed(recorded: &str) -> String {
    word(&format!("{recorded}:=/other"))
}

fn words(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| word(name)).collect();
    names.join(" ")
}

/// Quoted for a shell.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_-.:=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::TopicId;
    use crate::cli::fixtures::{parse_args, topics};
    use crate::cli::plan::plan;
    use crate::ros::{Qos, QosOverrides};
    use crate::time::{Time, TimeRange};

    fn hints(line: &str) -> (Hints, PlayArgs, Vec<Topic>) {
        let topics = topics(&["/imu", "odd*'name", "/clock"]);
        let args = parse_args(line);
        let recording = TimeRange::between(Time::from_nanos(1), Time::from_nanos(2));
        let plan = plan(&args, &QosOverrides::default(), recording, &topics).unwrap();
        (Hints::new(&args, &plan, &topics), args, topics)
    }

    /// Every hint that names a topic, for a topic that is sent as `sent`.
    fn about(hints: &Hints, sent: &str) -> Vec<String> {
        let (topic, node) = (sent.to_owned(), "/them".to_owned());
        let mismatch = |is_same_type| WireEvent::TypeMismatch {
            topic: topic.clone(),
            ours: "a/A".into(),
            theirs: "b/B".into(),
            node: node.clone(),
            is_same_type,
        };
        let events = [
            WireEvent::ForeignPublisher {
                topics: vec![topic.clone()],
                node: node.clone(),
            },
            WireEvent::MixedProfiles {
                topic: topic.clone(),
                qos: Qos::default(),
            },
            mismatch(true),
            mismatch(false),
        ];
        let hints = events.iter().filter_map(|event| hints.about(event));
        hints.collect()
    }

    #[test]
    fn a_hint_names_the_recorded_topic_and_the_flags_take_what_it_says() {
        for (line, sent) in [
            ("", "/imu"),
            ("--prefix robot1", "/robot1/imu"),
            ("--remap /imu:=/a", "/a"),
            ("--remap /imu:=/a --prefix robot1", "/robot1/a"),
        ] {
            let (hints, _, topics) = hints(line);
            let said = about(&hints, sent);
            assert_eq!(said.len(), 4, "{line}");
            for (hint, named) in [(0, 2), (1, 1), (3, 1)].map(|(at, n)| (&said[at], n)) {
                assert_eq!(hint.matches("/imu").count(), named, "{line}: {hint}");
                assert!(!hint.contains("/robot1"), "{line}: {hint}");
            }
            // The rule that the hint suggests is accepted.
            let flags = said[0].strip_prefix("stop it, ").unwrap();
            let (exclude, remap) = flags.split_once(", or ").unwrap();
            for flag in [exclude, remap] {
                let args = parse_args(flag);
                crate::cli::plan::select::choose(&topics, &args.topics, &args.ros).unwrap();
            }
        }
    }

    #[test]
    fn what_was_not_recorded_is_not_excluded_nor_renamed() {
        let (hints, ..) = hints("--clock");
        let state = "/rosbag2_player/clock_state";
        let event = WireEvent::ForeignPublisher {
            topics: vec![state.into()],
            node: "/rosbag2_player".into(),
        };
        let said = hints.event(&event);
        assert!(said.contains("--node-name"), "{said}");
        assert!(
            !said.contains("--exclude") && !said.contains("--remap"),
            "{said}"
        );
        for topic in ["/clock", state] {
            let said = about(&hints, topic).join("\n");
            assert!(
                !said.contains("--remap") && !said.contains("recorded"),
                "{said}"
            );
        }
    }

    #[test]
    fn two_recorded_topics_under_one_name_are_both_named() {
        let (hints, ..) = hints("--remap /imu:=/a odd*'name:=/a");
        let said = about(&hints, "/a");
        assert!(
            said[0].contains(r"--exclude-topics /imu 'odd*'\''name',"),
            "{said:?}"
        );
    }

    #[test]
    fn the_clock_is_given_up_by_the_flags_it_was_asked_for_with() {
        for (line, said) in [
            ("--clock", "without --clock"),
            ("--clock-topics-all", "without --clock-topics-all"),
            (
                "--clock --clock-topics /imu",
                "without --clock and --clock-topics",
            ),
        ] {
            let (hints, ..) = hints(line);
            let event = WireEvent::ForeignClock { node: "/x".into() };
            assert!(hints.event(&event).ends_with(said), "{line}");
            let skipped = Skipped {
                id: TopicId(2),
                topic: "/clock".into(),
                reason: SkipReason::OwnClock,
            };
            assert!(hints.skipped(&skipped).contains(said), "{line}");
        }
    }

    #[test]
    fn a_name_that_zenoh_cannot_carry_is_renamed_from_the_recorded_one() {
        let (hints, ..) = hints("--prefix robot1");
        let name = "/robot1/odd*'name".to_owned();
        let error = WireError::Name { name, reason: "" };
        let rule = r"rename it with --remap 'odd*'\''name:=/other'";
        assert_eq!(hints.error(&error).as_deref(), Some(rule));
        let skipped = Skipped {
            id: TopicId(1),
            topic: "odd*'name".into(),
            reason: SkipReason::Name("why"),
        };
        let said = "zenoh cannot carry such a name: why; hint: ".to_owned() + rule;
        assert_eq!(hints.skipped(&skipped), said);
    }
}
