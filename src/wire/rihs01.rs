//! RIHS01: the type hash of REP 2011, computed from a schema's text.
//!
//! SHA-256 over a JSON text whose every byte counts (separators `", "` and `": "`, key order, types that
//! are referred to sorted by name). Names are ASCII words by the time they come here, so nothing needs
//! escaping.

use std::collections::BTreeSet;
use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::ros2msg::{Definitions, Field, FieldType, SchemaError, fields, full_name, sections};

/// A computed hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Computed {
    /// `RIHS01_` and 64 hexadecimal digits.
    pub hash: String,
    /// Whether a bare `Header` was taken for `std_msgs/msg/Header`, as in definitions that came from ROS 1;
    /// in ROS 2 it means the definition's own package.
    pub is_header_guessed: bool,
}

/// The hash of a message type from its `ros2msg` schema text.
pub fn message_hash(name: &str, text: &[u8]) -> Result<Computed, SchemaError> {
    let text = std::str::from_utf8(text).map_err(|_| SchemaError::NoText)?;
    let root = full_name(name)?;
    // A recorder writes the service's own text for the events of service introspection.
    if let Some(service) = root.strip_suffix("_Event")
        && root.contains("/srv/")
        && text.lines().any(|line| line.trim() == "---")
    {
        return finish(&root, service_definitions(service, text)?);
    }
    let (body, others) = sections(text)?;
    let mut definitions = definitions(others)?;
    definitions.insert(root.clone(), fields(&root, &body)?);
    finish(&root, definitions)
}

/// The hash of a service type from the text of its `.srv` file, followed, after lines of 80 `=`, by the
/// messages it refers to.
pub fn service_hash(name: &str, text: &[u8]) -> Result<Computed, SchemaError> {
    let text = std::str::from_utf8(text).map_err(|_| SchemaError::NoText)?;
    let root = full_name(name)?;
    let definitions = service_definitions(&root, text)?;
    finish(&root, definitions)
}

fn service_definitions(root: &str, text: &str) -> Result<Definitions, SchemaError> {
    const EVENT_INFO: &str = "uint8 event_type\nbuiltin_interfaces/Time stamp\nchar[16] client_gid\nint64 sequence_number\n";
    const TIME: &str = "int32 sec\nuint32 nanosec\n";
    let (body, others) = sections(text)?;
    let cut = body
        .lines()
        .position(|line| line.trim() == "---")
        .ok_or(SchemaError::NoText)?;
    let request: String = body
        .lines()
        .take(cut)
        .flat_map(|line| [line, "\n"])
        .collect();
    let response: String = body
        .lines()
        .skip(cut + 1)
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut definitions = definitions(others)?;
    for (name, text) in [
        ("service_msgs/msg/ServiceEventInfo", EVENT_INFO),
        ("builtin_interfaces/msg/Time", TIME),
    ] {
        definitions.insert(name.to_owned(), fields(name, text)?);
    }
    let part = |suffix: &str| format!("{root}_{suffix}");
    definitions.insert(part("Request"), fields(root, &request)?);
    definitions.insert(part("Response"), fields(root, &response)?);
    definitions.insert(
        part("Event"),
        vec![
            nested("info", 1, 0, "service_msgs/msg/ServiceEventInfo".to_owned()),
            nested("request", 97, 1, part("Request")),
            nested("response", 97, 1, part("Response")),
        ],
    );
    definitions.insert(
        root.to_owned(),
        vec![
            nested("request_message", 1, 0, part("Request")),
            nested("response_message", 1, 0, part("Response")),
            nested("event_message", 1, 0, part("Event")),
        ],
    );
    Ok(definitions)
}

fn nested(name: &str, id: u8, capacity: u64, nested: String) -> Field {
    Field {
        name: name.to_owned(),
        kind: FieldType {
            id,
            capacity,
            string_capacity: 0,
            nested,
        },
    }
}

fn definitions(sections: Vec<(String, String)>) -> Result<Definitions, SchemaError> {
    let mut definitions = Definitions::new();
    for (name, body) in sections {
        let read = fields(&name, &body)?;
        definitions.entry(name).or_insert(read);
    }
    Ok(definitions)
}

fn finish(root: &str, mut definitions: Definitions) -> Result<Computed, SchemaError> {
    let is_header_guessed = guess_header(&mut definitions);
    let referred = closure(root, &definitions)?;
    let mut json = String::from("{\"type_description\": ");
    write_definition(&mut json, root, &definitions);
    json.push_str(", \"referenced_type_descriptions\": [");
    for (index, name) in referred.iter().enumerate() {
        if index > 0 {
            json.push_str(", ");
        }
        write_definition(&mut json, name, &definitions);
    }
    json.push_str("]}");
    let mut hash = String::from("RIHS01_");
    for byte in Sha256::digest(json.as_bytes()) {
        write!(hash, "{byte:02x}").expect("a string takes everything");
    }
    Ok(Computed {
        hash,
        is_header_guessed,
    })
}

/// Lets `pkg/msg/Header`, which nobody defined, mean `std_msgs/msg/Header`, which somebody did.
fn guess_header(definitions: &mut Definitions) -> bool {
    const HEADER: &str = "std_msgs/msg/Header";
    if !definitions.contains_key(HEADER) {
        return false;
    }
    let defined: BTreeSet<String> = definitions.keys().cloned().collect();
    let mut is_guessed = false;
    for field in definitions.values_mut().flatten() {
        let nested = &mut field.kind.nested;
        if nested.ends_with("/msg/Header") && !defined.contains(nested) {
            HEADER.clone_into(nested);
            is_guessed = true;
        }
    }
    is_guessed
}

/// The names of all types referred to from `root`, itself excluded.
fn closure(root: &str, definitions: &Definitions) -> Result<BTreeSet<String>, SchemaError> {
    let mut found = BTreeSet::new();
    let mut open = vec![root.to_owned()];
    while let Some(name) = open.pop() {
        let fields = definitions
            .get(&name)
            .ok_or_else(|| SchemaError::Missing(name.clone()))?;
        for field in fields {
            let nested = &field.kind.nested;
            if !nested.is_empty() && nested != root && found.insert(nested.clone()) {
                open.push(nested.clone());
            }
        }
    }
    Ok(found)
}

fn write_definition(json: &mut String, name: &str, definitions: &Definitions) {
    write!(json, "{{\"type_name\": \"{name}\", \"fields\": [").expect("a string takes everything");
    for (index, field) in definitions[name].iter().enumerate() {
        let FieldType {
            id,
            capacity,
            string_capacity,
            nested,
        } = &field.kind;
        write!(
            json,
            "{}{{\"name\": \"{}\", \"type\": {{\"type_id\": {id}, \"capacity\": {capacity}, \
             \"string_capacity\": {string_capacity}, \"nested_type_name\": \"{nested}\"}}}}",
            if index > 0 { ", " } else { "" },
            field.name,
        )
        .expect("a string takes everything");
    }
    json.push_str("]}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str, extension: &str) -> Vec<u8> {
        let file = name.replace("/msg/", ".").replace("/srv/", ".");
        let root = env!("CARGO_MANIFEST_DIR");
        std::fs::read(format!("{root}/tests/data/ros2msg/{file}.{extension}")).unwrap()
    }

    #[test]
    fn messages_hash_as_the_official_generator_has_them() {
        for (name, hash) in [
            (
                "std_msgs/msg/String",
                "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
            ),
            (
                "std_msgs/msg/Empty",
                "20b625256f32d5dbc0d04fee44f43c41e51c70d3502f84b4a08e7a9c26a96312",
            ),
            (
                "std_msgs/msg/Char",
                "3ad2d04dd29ba19d04b16659afa3ccaedd691914b02a64e82e252f2fa6a586a9",
            ),
            (
                "std_msgs/msg/Header",
                "f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01",
            ),
            (
                "builtin_interfaces/msg/Time",
                "b106235e25a4c5ed35098aa0a61a3ee9c9b18d197f398b0e4206cea9acf9c197",
            ),
            (
                "rosgraph_msgs/msg/Clock",
                "692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564",
            ),
            (
                "tf2_msgs/msg/TFMessage",
                "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
            ),
            (
                "sensor_msgs/msg/Image",
                "d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47",
            ),
            (
                "sensor_msgs/msg/PointCloud2",
                "9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5",
            ),
            (
                "sensor_msgs/msg/Imu",
                "7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b",
            ),
            (
                "sensor_msgs/msg/CameraInfo",
                "b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275",
            ),
            (
                "nav_msgs/msg/Odometry",
                "3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0",
            ),
            (
                "geometry_msgs/msg/TransformStamped",
                "0a241f87d04668d94099cbb5ba11691d5ad32c2f29682e4eb5653424bd275206",
            ),
            (
                "rcl_interfaces/msg/Log",
                "e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac",
            ),
            (
                "rcl_interfaces/msg/ParameterEvent",
                "043e627780fcad87a22d225bc2a037361dba713fca6a6b9f4b869a5aa0393204",
            ),
            (
                "rosbag2_interfaces/msg/ReadSplitEvent",
                "6f21c9b52d788338b0775ceccb49f38e7a8baad7b954f79dd280baed91145ad7",
            ),
            (
                "service_msgs/msg/ServiceEventInfo",
                "41bcbbe07a75c9b52bc96bfd5c24d7f0fc0a08c0cb7921b3373c5732345a6f45",
            ),
        ] {
            let computed = message_hash(name, &fixture(name, "msg")).unwrap();
            assert_eq!(computed.hash, format!("RIHS01_{hash}"), "{name}");
            assert!(!computed.is_header_guessed);
        }
    }

    #[test]
    fn services_hash_as_the_official_generator_has_them() {
        for (name, hash) in [
            (
                "std_srvs/srv/Empty",
                "5888399dedec5ccc85ea6451949fd2c9f97bfdf963f9a588821639fcd31b5d19",
            ),
            (
                "std_srvs/srv/Trigger",
                "eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f",
            ),
            (
                "std_srvs/srv/SetBool",
                "abe9e4bb6b41b40e6789712c00ec8871923e089af3f667a79992a428cff2da0a",
            ),
            (
                "example_interfaces/srv/AddTwoInts",
                "e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a",
            ),
        ] {
            let computed = service_hash(name, &fixture(name, "srv")).unwrap();
            assert_eq!(computed.hash, format!("RIHS01_{hash}"), "{name}");
        }
    }

    #[test]
    fn events_of_a_service_hash_from_the_service() {
        let text = fixture("example_interfaces/srv/AddTwoInts", "srv");
        let computed = message_hash("example_interfaces/srv/AddTwoInts_Event", &text).unwrap();
        // As recorded by rosbag2 with this very schema.
        let hash = "RIHS01_32c1d140259c71e5c355115942bcb31df98b4330e4d906b1b75ccb1c9b3ce6c8";
        assert_eq!(computed.hash, hash);
    }

    #[test]
    fn a_bare_header_without_definition_is_taken_for_the_usual_one() {
        let rule = "=".repeat(80);
        let rest = format!("string name\n{rule}\nMSG: std_msgs/Header\nuint32 seq\n");
        let bare = message_hash("p/msg/T", format!("Header header\n{rest}").as_bytes()).unwrap();
        let full = message_hash(
            "p/msg/T",
            format!("std_msgs/Header header\n{rest}").as_bytes(),
        )
        .unwrap();
        assert_eq!((bare.hash, bare.is_header_guessed), (full.hash, true));
    }

    #[test]
    fn hostile_text_is_refused_or_hashed_in_no_time() {
        let rule = "=".repeat(80);
        let missing = message_hash("p/msg/T", b"q/Other x\n").unwrap_err();
        assert_eq!(missing, SchemaError::Missing("q/msg/Other".to_owned()));
        let cycle = format!("A a\n{rule}\nMSG: p/A\nT t\nA a\n");
        assert!(message_hash("p/msg/T", cycle.as_bytes()).is_ok());
        let mut chain = String::from("p/N0 x\n");
        for n in 0..2000 {
            write!(chain, "{rule}\nMSG: p/N{n}\np/N{} x\n", (n + 1) % 2000).unwrap();
        }
        assert!(message_hash("p/msg/T", chain.as_bytes()).is_ok());
        for text in [
            &b"\xff\xfe"[..],
            b"a\n",
            rule.as_bytes(),
            &vec![b'#'; 5 << 20],
        ] {
            assert!(message_hash("p/msg/T", text).is_err());
        }
        assert!(message_hash("p/msg/T\"", b"int32 a\n").is_err());
        assert!(service_hash("p/srv/T", b"int32 a\n").is_err());
    }
}
