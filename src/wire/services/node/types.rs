//! [`Types`]: the descriptions of the types that a node publishes, by their hashes.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use crate::bag::Schema;
use crate::ros::{SchemaError, TypeDescription, definition_texts, message_hash};
use crate::wire::services::messages::service::Failed;
use crate::wire::services::messages::type_description::{
    GetTypeDescription, TypeRequest, TypeResponse, TypeSource,
};
use crate::wire::services::server::handler::{Handler, Reaction};

/// The types by their schemas. Their hashes are computed when the first one is asked for.
#[derive(Debug)]
pub(crate) struct Types {
    schemas: Vec<Schema>,
    by_hash: OnceCell<HashMap<String, usize>>,
}

impl Types {
    pub(crate) fn new(schemas: Vec<Schema>) -> Self {
        Self {
            schemas,
            by_hash: OnceCell::new(),
        }
    }

    /// The description of the type with the hash of the request; its name is not used, as in `rcl`.
    pub(crate) fn describe(&self, request: &TypeRequest) -> TypeResponse {
        let hash = request.type_hash.to_ascii_lowercase();
        let Some(digits) = hash.strip_prefix("rihs01_").filter(|it| is_sha256(it)) else {
            return TypeResponse::failed("Failed to parse type hash");
        };
        let by_hash = self.by_hash.get_or_init(|| by_hash(&self.schemas));
        let found = by_hash.get(&format!("RIHS01_{digits}"));
        let Some(schema) = found.and_then(|place| self.schemas.get(*place)) else {
            return TypeResponse::failed("Type not currently in use by this node");
        };
        match response(schema, request.include_type_sources) {
            Ok(response) => response,
            Err(error) => TypeResponse::failed(&error.to_string()),
        }
    }
}

/// The service `~/get_type_description`.
pub(crate) fn handler(types: Types) -> Handler {
    Handler::new::<GetTypeDescription>("get_type_description", move |request| {
        Reaction::Respond(types.describe(&request))
    })
}

fn is_sha256(digits: &str) -> bool {
    digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// The hash of each schema for which one can be computed. A recorded hash does not count: if it were another one, the
/// description would not be that of the type.
fn by_hash(schemas: &[Schema]) -> HashMap<String, usize> {
    let (mut found, mut known) = (HashMap::new(), HashSet::new());
    for (place, schema) in schemas.iter().enumerate() {
        let is_known = !known.insert((&schema.name, &schema.data));
        // Recorders write an empty schema if they did not find the definition; few types have an empty one.
        let is_empty = schema.data.is_empty() && schema.name != "std_msgs/msg/Empty";
        if schema.encoding != "ros2msg" || is_empty || is_known {
            continue;
        }
        if let Ok(computed) = message_hash(&schema.name, &schema.data) {
            found.entry(computed.hash).or_insert(place);
        }
    }
    found
}

fn response(schema: &Schema, with_sources: bool) -> Result<TypeResponse, SchemaError> {
    let description = TypeDescription::read(&schema.name, &schema.data)?;
    let type_sources = if with_sources {
        sources(schema, &description)?
    } else {
        Vec::new()
    };
    Ok(TypeResponse {
        successful: true,
        type_description: description,
        type_sources,
        ..TypeResponse::default()
    })
}

/// The texts of the type and of all that it refers to.
fn sources(schema: &Schema, described: &TypeDescription) -> Result<Vec<TypeSource>, SchemaError> {
    let texts = definition_texts(&schema.name, &schema.data)?;
    let root = &described.type_description.type_name;
    let referenced = described.referenced_type_descriptions.iter();
    let names = std::iter::once(root).chain(referenced.map(|it| &it.type_name));
    let source = |name: &String| {
        let (_, text) = texts.iter().find(|(of, _)| of == name)?;
        Some(TypeSource {
            type_name: name.clone(),
            encoding: "msg".to_owned(),
            raw_file_contents: text.clone(),
        })
    };
    Ok(names.filter_map(source).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRING: &str = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
    const CLOCK: &str = "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564";

    fn types() -> Types {
        let schema = |name: &str, encoding: &str, text: &str| Schema {
            name: name.to_owned(),
            encoding: encoding.to_owned(),
            data: text.to_owned().into(),
        };
        let clock = crate::wire::services::messages::node_topics::CLOCK_DEFINITION;
        Types::new(vec![
            schema("std_msgs/msg/String", "ros2msg", ""),
            schema("std_msgs/msg/String", "ros2msg", "string data\n"),
            schema("std_msgs/msg/String", "ros2msg", "string data\n"),
            schema("a/msg/B", "ros2idl", "module a"),
            schema("a/msg/C", "ros2msg", "not a definition"),
            schema("rosgraph_msgs/msg/Clock", "ros2msg", clock),
        ])
    }

    fn ask(hash: &str, include_type_sources: bool) -> TypeResponse {
        types().describe(&TypeRequest {
            type_name: "any/msg/Name".to_owned(),
            type_hash: hash.to_owned(),
            include_type_sources,
        })
    }

    #[test]
    fn a_type_is_described_by_its_hash_alone() {
        let string = ask(STRING, false);
        assert!(string.successful && string.failure_reason.is_empty());
        let described = string.type_description.type_description;
        assert_eq!(described.type_name, "std_msgs/msg/String");
        assert_eq!(described.fields[0].field_type.type_id, 17);
        assert_eq!(string.type_sources, []);
        let upper = STRING.replace("df668c", "DF668C");
        assert!(ask(&upper, false).successful);
    }

    #[test]
    fn the_texts_of_all_types_come_with_it() {
        let clock = ask(CLOCK, true);
        let texts: Vec<(&str, &str)> = clock
            .type_sources
            .iter()
            .map(|it| (it.type_name.as_str(), it.raw_file_contents.as_str()))
            .collect();
        let time = ("builtin_interfaces/msg/Time", "int32 sec\nuint32 nanosec\n");
        let root = ("rosgraph_msgs/msg/Clock", "builtin_interfaces/Time clock\n");
        assert_eq!(texts, [root, time]);
        assert!(clock.type_sources.iter().all(|it| it.encoding == "msg"));
    }

    #[test]
    fn failures_have_the_words_of_rcl() {
        for hash in [
            "",
            "RIHS01_12",
            "RIHS02_aa",
            &STRING[1..],
            &format!("{STRING}0"),
        ] {
            assert_eq!(ask(hash, true).failure_reason, "Failed to parse type hash");
        }
        let other = ask(&format!("RIHS01_{}", "0".repeat(64)), true);
        let unknown = "Type not currently in use by this node";
        assert!(!other.successful && other.failure_reason == unknown);
    }
}
