//! [`Definitions`]: finds the definition of a type that is received: in the recording that is played, by the node that
//! publishes it, or in the installed packages. [`Known`] keeps what was found, for all threads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::ament::AmentIndex;
use crate::bag::{Schema, Topic};
use crate::decode::HeaderStamp;
use crate::ros::{PublishedTopic, Qos};
use crate::untrusted::Foreign;

/// What is known of a received topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// The definition of its type; `None` if none was found.
    pub schema: Option<Schema>,
    /// How to read the stamp with which its messages begin, if they do.
    pub stamp: Option<HeaderStamp>,
    /// The profiles that its publishers offered when this was looked up, one for each.
    pub offers: Vec<Qos>,
    /// Why there is no definition, in a sentence.
    pub note: Option<String>,
}

/// How long a node may take to describe one of its types.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(2);

/// Where definitions are looked for.
#[derive(Clone, Debug)]
pub struct Definitions {
    recorded: Vec<(Schema, Option<String>)>,
    installed: AmentIndex,
    describe_limit: Duration,
}

impl Default for Definitions {
    /// Only nodes are asked.
    fn default() -> Self {
        Self::new([], AmentIndex::default())
    }
}

impl Definitions {
    /// In the topics of the recording that is played, and in installed packages.
    pub fn new<'a>(recorded: impl IntoIterator<Item = &'a Topic>, installed: AmentIndex) -> Self {
        let with_schema = |topic: &Topic| Some((topic.schema.clone()?, topic.type_hash.clone()));
        Self {
            recorded: recorded.into_iter().filter_map(with_schema).collect(),
            installed,
            describe_limit: DESCRIBE_LIMIT,
        }
    }

    /// The same, with the time that a node may take to describe one of its types; otherwise that is 2 s.
    #[must_use]
    pub const fn with_describe_limit(mut self, limit: Duration) -> Self {
        self.describe_limit = limit;
        self
    }

    pub(super) const fn describe_limit(&self) -> Duration {
        self.describe_limit
    }

    /// Looks up a topic without a request to a node: in the recording, then in installed packages. `None`: it is in
    /// neither.
    pub fn find_here(
        &self,
        topic: &PublishedTopic,
        offers: impl FnOnce() -> Vec<Qos>,
    ) -> Option<Definition> {
        let found = self
            .in_recording(topic)
            .or_else(|_| self.in_packages(topic));
        found.ok().map(|schema| Definition {
            stamp: HeaderStamp::of(&schema),
            schema: Some(schema),
            offers: offers(),
            note: None,
        })
    }

    /// Looks up a topic; `described` asks the nodes that publish it. A definition whose hash is not the published one
    /// is not used: messages would be misread.
    pub fn find(
        &self,
        topic: &PublishedTopic,
        described: impl FnOnce() -> Result<Schema, String>,
        offers: Vec<Qos>,
    ) -> Definition {
        let mut problems = Vec::new();
        let schema = self
            .in_recording(topic)
            .map_err(|problem| problems.push(problem))
            .or_else(|()| {
                let found = described().map_err(|problem| format!("its node: {problem}"));
                found
                    .and_then(|schema| checked(schema, topic, "its node"))
                    .map_err(|problem| problems.push(problem))
            })
            .or_else(|()| {
                let found = self.in_packages(topic);
                found.map_err(|problem| problems.push(problem))
            })
            .ok();
        let note = schema.is_none().then(|| {
            format!(
                "{} ({}) has no definition, so its messages cannot be decoded ({})",
                Foreign::text(&topic.name),
                Foreign::text(&topic.type_name),
                problems.join("; ")
            )
        });
        Definition {
            stamp: schema.as_ref().and_then(HeaderStamp::of),
            schema,
            offers,
            note,
        }
    }

    fn in_packages(&self, topic: &PublishedTopic) -> Result<Schema, String> {
        let found = self.installed.find(&topic.type_name);
        found
            .map_err(|error| format!("installed packages: {error}"))
            .and_then(|schema| checked(schema, topic, "installed packages"))
    }

    fn in_recording(&self, topic: &PublishedTopic) -> Result<Schema, String> {
        let mut problem = "the recording does not have the type".to_owned();
        for (schema, recorded_hash) in &self.recorded {
            // Recorders write an empty schema if they did not find the definition; few types have an empty one.
            let is_empty = schema.data.is_empty() && schema.name != "std_msgs/msg/Empty";
            if schema.name != topic.type_name || is_empty {
                continue;
            }
            if schema.encoding != "ros2msg" {
                // Its hash cannot be computed.
                if recorded_hash.is_some() && *recorded_hash == topic.type_hash {
                    return Ok(schema.clone());
                }
                continue;
            }
            match checked(schema.clone(), topic, "the recording") {
                Ok(schema) => return Ok(schema),
                Err(other) => problem = other,
            }
        }
        Err(problem)
    }
}

/// The definition, if it has the published hash, or if that is not known.
#[cfg(feature = "wire")]
fn checked(schema: Schema, topic: &PublishedTopic, whose: &str) -> Result<Schema, String> {
    let Some(published) = &topic.type_hash else {
        return Ok(schema);
    };
    match crate::ros::message_hash(&schema.name, &schema.data) {
        Ok(computed) if computed.hash == *published => Ok(schema),
        Ok(_) => Err(format!("{whose}: the definition has another type hash")),
        Err(error) => Err(format!("{whose}: {error}")),
    }
}

/// Without a network there are no published hashes.
#[cfg(not(feature = "wire"))]
#[expect(clippy::unnecessary_wraps, reason = "with a network there are errors")]
fn checked(schema: Schema, _: &PublishedTopic, _: &str) -> Result<Schema, String> {
    Ok(schema)
}

/// The definitions found so far, by the number of their topic. Cheap to clone; all clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Known(Arc<Mutex<HashMap<usize, Arc<Definition>>>>);

impl Known {
    /// Adds what was found for a topic.
    pub fn add(&self, number: usize, found: Definition) {
        self.all().insert(number, Arc::new(found));
    }

    /// What was found for a topic; `None` while it is looked up.
    pub fn get(&self, number: usize) -> Option<Arc<Definition>> {
        self.all().get(&number).cloned()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<usize, Arc<Definition>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRING: &str = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

    fn schema(encoding: &str, text: &'static str) -> Schema {
        Schema {
            name: "std_msgs/msg/String".to_owned(),
            encoding: encoding.to_owned(),
            data: text.into(),
        }
    }

    fn recorded(schema: Schema, type_hash: Option<&str>) -> Topic {
        Topic {
            name: "/other".to_owned(),
            schema: Some(schema),
            encoding: "cdr".to_owned(),
            offered_qos: Vec::new(),
            type_hash: type_hash.map(str::to_owned),
            ros1_md5: None,
            is_latched: false,
            message_count: None,
        }
    }

    fn find(topics: &[Topic], described: Result<Schema, String>) -> Definition {
        let topic = PublishedTopic {
            number: 0,
            name: "/a".to_owned(),
            type_name: "std_msgs/msg/String".to_owned(),
            type_hash: Some(STRING.to_owned()),
            qos: Qos::default(),
        };
        let definitions = Definitions::new(topics, AmentIndex::default());
        definitions.find(&topic, || described, vec![Qos::default()])
    }

    #[test]
    fn the_recording_comes_first_and_its_hash_is_checked() {
        let right = schema("ros2msg", "string data\n");
        let none = || Err("no answer".to_owned());
        let found = find(&[recorded(right.clone(), None)], none());
        assert_eq!((found.schema, found.note), (Some(right.clone()), None));
        let empty = recorded(schema("ros2msg", ""), Some(STRING));
        let found = find(&[empty], Ok(right.clone()));
        assert_eq!(found.schema, Some(right.clone()));
        let idl = schema("ros2idl", "module");
        assert_eq!(
            find(&[recorded(idl.clone(), Some(STRING))], none()).schema,
            Some(idl)
        );
    }

    #[cfg(feature = "wire")]
    #[test]
    fn a_definition_with_another_hash_is_not_used_and_that_is_said() {
        let other = schema("ros2msg", "string text\n");
        let right = schema("ros2msg", "string data\n");
        let found = find(&[recorded(other.clone(), None)], Ok(right.clone()));
        assert_eq!(found.schema, Some(right));
        let found = find(&[recorded(other.clone(), None)], Ok(other));
        assert_eq!(found.schema, None);
        let note = "/a (std_msgs/msg/String) has no definition, so its messages cannot be decoded (the recording: the \
                    definition has another type hash; its node: the definition has another type hash; installed packages: \
                    AMENT_PREFIX_PATH is not set)";
        assert_eq!(found.note.unwrap(), note);
    }
}
