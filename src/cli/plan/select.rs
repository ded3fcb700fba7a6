//! Selects the topics that are played, and their names on the network.

use regex::Regex;

use super::kinds::Kind;
use crate::bag::{Topic, TopicId};
use crate::cli::args::ros_flags::{KindSelection, RosArgs};
use crate::cli::args::topic_flags::{TopicArgs, TopicSelection};
use crate::ros::Qos;
use crate::untrusted::Foreign;

/// A topic that is played.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// The topic in the bag.
    pub id: TopicId,
    /// Its name on the network.
    pub name: String,
    /// The profile to publish it with; `None` = the recorded profiles, adapted.
    pub qos: Option<Qos>,
}

/// A selection that is invalid for this recording.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SelectError {
    /// A name that was not recorded.
    #[error(
        "{flag}: no {what} `{}` in the recording; recorded are: {}",
        Foreign::text(name),
        Foreign::text(recorded)
    )]
    Unknown {
        /// The flag that named it.
        flag: &'static str,
        /// The kind of the name: `topic`, `service` or `action`.
        what: &'static str,
        /// The name.
        name: String,
        /// The recorded names of that kind.
        recorded: String,
    },
    /// An expression that does not compile.
    #[error("{flag}: {}", Foreign::text(reason))]
    Regex {
        /// The flag that it was given to.
        flag: &'static str,
        /// The error in it.
        reason: String,
    },
    /// A rule that is not `A:=B`.
    #[error("--remap: `{}` is not A:=B with two topic names (letters, digits, `_` and `/`)", Foreign::text(.0))]
    Remap(String),
    /// Two rules for one topic.
    #[error("--remap: there are two rules for `{}`", Foreign::text(.0))]
    Twice(String),
    /// A prefix that is not a valid name.
    #[error("{flag}: `{}` is not a name (letters, digits, `_` and `/`)", Foreign::text(.prefix))]
    Prefix {
        /// The flag.
        flag: &'static str,
        /// What it was given.
        prefix: String,
    },
}

/// The topics that the arguments choose, in the bag's order.
pub fn choose(
    topics: &[Topic],
    args: &TopicArgs,
    ros: &RosArgs,
) -> Result<Vec<Chosen>, SelectError> {
    let selected = select(topics, &args.selection, &ros.kinds)?;
    let remaps = args
        .remap
        .iter()
        .map(|rule| remap_rule(rule))
        .collect::<Result<Vec<_>, _>>()?;
    check_prefix("--prefix", args.prefix.as_deref())?;
    for (n, (from, _)) in remaps.iter().enumerate() {
        if remaps[..n].iter().any(|(earlier, _)| earlier == from) {
            return Err(SelectError::Twice(from.clone()));
        }
        known("--remap", std::slice::from_ref(from), topics)?;
    }
    let chosen = |id: TopicId| Chosen {
        id,
        name: outgoing(&topics[id.index()].name, &remaps, args.prefix.as_deref()),
        qos: None,
    };
    Ok(selected.into_iter().map(chosen).collect())
}

/// The ids of the topics that are selected, in the bag's order.
pub fn select(
    topics: &[Topic],
    args: &TopicSelection,
    of_kinds: &KindSelection,
) -> Result<Vec<TopicId>, SelectError> {
    let wanted = known("--topics", &args.topics, topics)?;
    let unwanted = known("--exclude-topics", &args.exclude_topics, topics)?;
    let kinds = || topics.iter().map(|topic| Kind::of(&topic.name));
    let service = |flag, names: &[String]| {
        let recorded = kinds().filter_map(Kind::service).collect();
        among(flag, "service", names, recorded)
    };
    let services = service("--services", &of_kinds.services)?;
    let no_services = service("--exclude-services", &of_kinds.exclude_services)?;
    let action = |flag, names: &[String]| {
        let recorded = kinds().filter_map(Kind::action).collect();
        among(flag, "action", names, recorded)
    };
    let actions = action("--actions", &of_kinds.actions)?;
    let no_actions = action("--exclude-actions", &of_kinds.exclude_actions)?;
    let include = compile("--regex", args.regex.as_deref())?;
    let exclude = compile("--exclude-regex", args.exclude_regex.as_deref())?;
    let takes_all = wanted.is_empty() && include.is_none();
    let is_chosen = |name: &str| {
        let has = |names: &[String], name: Option<&str>| {
            name.is_some_and(|name| names.contains(&absolute(name)))
        };
        let (service, action) = (Kind::of(name).service(), Kind::of(name).action());
        // A list of services selects among services and does not affect topics; a list of actions likewise.
        let is_listed = match Kind::of(name) {
            Kind::Service(_) if !services.is_empty() => has(&services, service),
            Kind::Action(_) if !actions.is_empty() => has(&actions, action),
            _ => takes_all,
        };
        let is_included = is_listed
            || wanted.contains(&absolute(name))
            || include.as_ref().is_some_and(|re| re.is_match(name));
        is_included
            && !has(&no_services, service)
            && !has(&no_actions, action)
            && !unwanted.contains(&absolute(name))
            && !exclude.as_ref().is_some_and(|re| re.is_match(name))
    };
    let ids = (0..).map(TopicId).zip(topics);
    Ok(ids
        .filter(|(_, topic)| is_chosen(&topic.name))
        .map(|(id, _)| id)
        .collect())
}

/// The ids of the topics with these recorded names, or an error that lists the recorded names.
pub fn ids_of(
    flag: &'static str,
    names: &[String],
    topics: &[Topic],
) -> Result<Vec<TopicId>, SelectError> {
    let names = known(flag, names, topics)?;
    let ids = (0..).map(TopicId).zip(topics);
    Ok(ids
        .filter(|(_, topic)| names.contains(&absolute(&topic.name)))
        .map(|(id, _)| id)
        .collect())
}

/// The names in absolute form; all must be recorded topics.
fn known(
    flag: &'static str,
    names: &[String],
    topics: &[Topic],
) -> Result<Vec<String>, SelectError> {
    let recorded = topics.iter().map(|topic| topic.name.as_str());
    among(flag, "topic", names, recorded.collect())
}

/// The names in absolute form; all must be among those recorded, and a name may be given more than once.
fn among(
    flag: &'static str,
    what: &'static str,
    names: &[String],
    mut recorded: Vec<&str>,
) -> Result<Vec<String>, SelectError> {
    let names: Vec<String> = names.iter().map(|name| absolute(name)).collect();
    let is_recorded = |name: &String| recorded.iter().any(|one| absolute(one) == *name);
    match names.iter().find(|name| !is_recorded(name)) {
        None => Ok(names),
        Some(name) => {
            recorded.sort_unstable();
            recorded.dedup();
            let shown = recorded
                .iter()
                .take(40)
                .copied()
                .collect::<Vec<_>>()
                .join(", ");
            let rest = recorded.len().saturating_sub(40);
            let recorded = match (rest, recorded.is_empty()) {
                (_, true) => "none".into(),
                (0, _) => shown,
                _ => format!("{shown} and {rest} more"),
            };
            Err(SelectError::Unknown {
                flag,
                what,
                name: name.clone(),
                recorded,
            })
        }
    }
}

/// Adds the leading slash of ROS 2 names, which users may leave out.
fn absolute(name: &str) -> String {
    if name.starts_with('/') {
        name.into()
    } else {
        format!("/{name}")
    }
}

fn outgoing(name: &str, remaps: &[(String, String)], prefix: Option<&str>) -> String {
    let remapped = remaps
        .iter()
        .find(|(from, _)| *from == absolute(name))
        .map(|(_, to)| to.as_str());
    match (remapped, prefix) {
        (remapped, None) => remapped.unwrap_or(name).to_owned(),
        (remapped, Some(prefix)) => under(prefix, remapped.unwrap_or(name)),
    }
}

/// The name of a topic under a prefix.
pub(super) fn under(prefix: &str, name: &str) -> String {
    let prefix = absolute(prefix.trim_matches('/'));
    format!("{prefix}{}", absolute(name))
}

/// Refuses a prefix that is not a valid name.
pub(super) fn check_prefix(flag: &'static str, prefix: Option<&str>) -> Result<(), SelectError> {
    match prefix.filter(|prefix| !is_name(prefix)) {
        None => Ok(()),
        Some(prefix) => Err(SelectError::Prefix {
            flag,
            prefix: prefix.to_owned(),
        }),
    }
}

/// Whether ROS 2 accepts a name that was given by the user and not recorded.
fn is_name(name: &str) -> bool {
    let parts = name.trim_matches('/').split('/');
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    parts.into_iter().all(is_part)
}

fn remap_rule(rule: &str) -> Result<(String, String), SelectError> {
    match rule.split_once(":=") {
        Some((from, to)) if !from.trim().is_empty() && is_name(to.trim()) => {
            Ok((absolute(from.trim()), absolute(to.trim())))
        }
        _ => Err(SelectError::Remap(rule.into())),
    }
}

fn compile(flag: &'static str, pattern: Option<&str>) -> Result<Option<Regex>, SelectError> {
    let whole = pattern.map(|pattern| format!("^(?:{pattern})$"));
    let regex = whole.map(|pattern| Regex::new(&pattern)).transpose();
    regex.map_err(|error| SelectError::Regex {
        flag,
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::fixtures;

    fn topics() -> Vec<Topic> {
        fixtures::topics(&["/imu", "/camera/left", "/camera/right", "mouse"])
    }

    fn args() -> TopicArgs {
        #[derive(clap::Parser)]
        struct Only {
            #[command(flatten)]
            topics: TopicArgs,
        }
        <Only as clap::Parser>::parse_from(["play"]).topics
    }

    fn names(args: &TopicArgs) -> Vec<String> {
        choose(&topics(), args, &RosArgs::default())
            .unwrap()
            .into_iter()
            .map(|chosen| chosen.name)
            .collect()
    }

    #[test]
    fn everything_is_played_unless_something_is_named() {
        assert_eq!(
            names(&args()),
            ["/imu", "/camera/left", "/camera/right", "mouse"]
        );
        assert_eq!(
            names(&TopicArgs {
                selection: TopicSelection {
                    topics: vec!["imu".into(), "/mouse".into()],
                    ..TopicSelection::default()
                },
                ..args()
            }),
            ["/imu", "mouse"]
        );
        assert_eq!(
            names(&TopicArgs {
                selection: TopicSelection {
                    regex: Some("/camera/.*".into()),
                    topics: vec!["/imu".into()],
                    ..TopicSelection::default()
                },
                ..args()
            }),
            ["/imu", "/camera/left", "/camera/right"]
        );
        assert_eq!(
            names(&TopicArgs {
                selection: TopicSelection {
                    regex: Some("camera".into()),
                    ..TopicSelection::default()
                },
                ..args()
            }),
            [""; 0],
            "a regex matches the whole name"
        );
    }

    #[test]
    fn an_exclusion_wins() {
        let excluded = TopicArgs {
            selection: TopicSelection {
                topics: vec!["/imu".into(), "/camera/left".into()],
                exclude_topics: vec!["/imu".into()],
                ..TopicSelection::default()
            },
            ..args()
        };
        assert_eq!(names(&excluded), ["/camera/left"]);
        assert_eq!(
            names(&TopicArgs {
                selection: TopicSelection {
                    exclude_regex: Some(".*a.*".into()),
                    ..TopicSelection::default()
                },
                ..args()
            }),
            ["/imu", "mouse"]
        );
    }

    #[test]
    fn names_change_by_rule_then_prefix() {
        let renamed = TopicArgs {
            remap: vec!["/imu:=/imu/raw".into()],
            prefix: Some("robot1".into()),
            ..args()
        };
        assert_eq!(
            names(&renamed),
            [
                "/robot1/imu/raw",
                "/robot1/camera/left",
                "/robot1/camera/right",
                "/robot1/mouse"
            ]
        );
    }

    #[test]
    fn mistakes_name_the_flag_and_what_there_is() {
        let error = |args: TopicArgs| {
            choose(&topics(), &args, &RosArgs::default())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            error(TopicArgs {
                selection: TopicSelection {
                    topics: vec!["/lidar".into()],
                    ..TopicSelection::default()
                },
                ..args()
            }),
            "--topics: no topic `/lidar` in the recording; recorded are: /camera/left, /camera/right, /imu, mouse"
        );
        assert!(
            error(TopicArgs {
                selection: TopicSelection {
                    exclude_topics: vec!["/x".into()],
                    ..TopicSelection::default()
                },
                ..args()
            })
            .starts_with("--exclude-topics: no topic")
        );
        assert!(
            error(TopicArgs {
                selection: TopicSelection {
                    regex: Some("(".into()),
                    ..TopicSelection::default()
                },
                ..args()
            })
            .starts_with("--regex: ")
        );
        assert!(
            error(TopicArgs {
                remap: vec!["/imu".into()],
                ..args()
            })
            .contains("is not A:=B")
        );
        for bad in ["/imu:=/a b", "/imu:=/1a", "/imu:=/a//b", "/imu:=/*"] {
            assert!(
                error(TopicArgs {
                    remap: vec![bad.into()],
                    ..args()
                })
                .contains("is not A:=B"),
                "{bad}"
            );
        }
        assert!(
            error(TopicArgs {
                prefix: Some("**".into()),
                ..args()
            })
            .starts_with("--prefix")
        );
        let twice = vec!["/imu:=/a".into(), "imu:=/b".into()];
        assert!(
            error(TopicArgs {
                remap: twice,
                ..args()
            })
            .contains("two rules")
        );
        assert!(
            error(TopicArgs {
                remap: vec!["/no:=/b".into()],
                ..args()
            })
            .starts_with("--remap: no topic `/no`")
        );
    }
}
