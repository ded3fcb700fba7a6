//! Chooses the type hash with which a topic is published. The hash is part of the key: with a wrong one
//! subscribers receive no data and see no error.

use crate::bag::Topic;

use super::graph::Graph;
use super::token::NO_HASH;
use crate::ros::{is_type_hash, message_hash};
use crate::wire::event::WireEvent;
use crate::wire::options::Distro;

/// The form of type hashes on the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HashForm {
    /// [`NO_HASH`] for all types.
    Humble,
    /// RIHS01.
    Rihs01,
    /// A put matches every hash.
    Any,
}

impl HashForm {
    /// As the options say; otherwise as the nodes that are there use it.
    pub(crate) fn choose(distro: Distro, any_type_hash: bool, graph: &Graph) -> Self {
        match distro {
            _ if any_type_hash => Self::Any,
            Distro::Humble => Self::Humble,
            Distro::Auto if graph.is_humble() => Self::Humble,
            _ => Self::Rihs01,
        }
    }
}

/// A topic's hash, and the warning to send about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Resolved {
    pub(crate) hash: String,
    pub(crate) warning: Option<WireEvent>,
}

/// The first of: the recorded hash; the hash computed from the schema's text; the hash that a present
/// subscriber of the same topic and type uses; [`NO_HASH`], with a warning.
pub(crate) fn resolve(
    form: HashForm,
    graph: &Graph,
    name: &str,
    dds_type: &str,
    topic: &Topic,
) -> Resolved {
    let plain = |hash: String| Resolved {
        hash,
        warning: None,
    };
    if form == HashForm::Humble {
        return plain(NO_HASH.to_owned());
    }
    if let Some(hash) = topic.type_hash.as_deref().filter(|hash| is_type_hash(hash)) {
        return plain(hash.to_owned());
    }
    let why = match computed(topic) {
        Ok(resolved) => return resolved,
        Err(why) => why,
    };
    if let Some(hash) = graph.wanted_hash(name, dds_type) {
        let warning = format!("type hash of {name} taken from its subscriber: {why}");
        return Resolved {
            hash,
            warning: Some(WireEvent::Warning(warning)),
        };
    }
    Resolved {
        hash: NO_HASH.to_owned(),
        warning: Some(WireEvent::UnknownTypeHash {
            topic: name.to_owned(),
            type_name: topic.type_name().to_owned(),
            why,
        }),
    }
}

fn computed(topic: &Topic) -> Result<Resolved, String> {
    let schema = topic.schema.as_ref().ok_or("it has no schema")?;
    if schema.encoding != "ros2msg" {
        return Err(format!("its schema is {}, not ros2msg", schema.encoding));
    }
    // Recorders write an empty schema if they did not find the definition; few types have an empty one.
    if schema.data.is_empty() && schema.name != "std_msgs/msg/Empty" {
        return Err("its schema is empty".to_owned());
    }
    let computed = message_hash(&schema.name, &schema.data).map_err(|error| error.to_string())?;
    let warning = computed.is_header_guessed.then(|| {
        WireEvent::Warning(format!(
            "{} has a bare `Header`, taken for std_msgs/msg/Header",
            schema.name
        ))
    });
    Ok(Resolved {
        hash: computed.hash,
        warning,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::Schema;
    use crate::wire::dialect::notation::Notation;

    fn topic(type_hash: Option<&str>, text: &'static str) -> Topic {
        Topic {
            name: "/t".to_owned(),
            schema: Some(Schema {
                name: "std_msgs/msg/String".to_owned(),
                encoding: "ros2msg".to_owned(),
                data: text.into(),
            }),
            encoding: "cdr".to_owned(),
            offered_qos: Vec::new(),
            type_hash: type_hash.map(str::to_owned),
            ros1_md5: None,
            is_latched: false,
            message_count: None,
        }
    }

    #[test]
    fn the_recorded_hash_comes_before_the_computed_before_none() {
        let graph = Graph::new(
            Notation::RmwZenoh { domain: 0 },
            "me".to_owned(),
            "/me".to_owned(),
        );
        let string = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
        let ones = format!("RIHS01_{}", "1".repeat(64));
        let zeros = format!("RIHS01_{}", "0".repeat(64));
        for (recorded, text, form, hash) in [
            (
                Some(ones.as_str()),
                "string data",
                HashForm::Rihs01,
                ones.as_str(),
            ),
            (
                Some(zeros.as_str()),
                "string data",
                HashForm::Rihs01,
                string,
            ),
            (Some(""), "string data", HashForm::Rihs01, string),
            (Some("a/b"), "string data", HashForm::Rihs01, string),
            (None, "string data", HashForm::Any, string),
            (None, "", HashForm::Rihs01, NO_HASH),
            (None, "q/Missing x", HashForm::Rihs01, NO_HASH),
            (
                Some(ones.as_str()),
                "string data",
                HashForm::Humble,
                NO_HASH,
            ),
        ] {
            let resolved = resolve(
                form,
                &graph,
                "/t",
                "std_msgs::msg::dds_::String_",
                &topic(recorded, text),
            );
            assert_eq!(resolved.hash, hash, "{recorded:?} {text}");
            assert_eq!(
                resolved.warning.is_some(),
                hash == NO_HASH && form != HashForm::Humble
            );
        }
    }
}
