//! RIHS01: the type hash of REP 2011, computed from the text of a schema.
//!
//! It is the SHA-256 of a JSON text in which every byte counts: separators `", "` and `": "`, the order of keys, and
//! referenced types sorted by name. All names are ASCII words that the parser has checked, so nothing needs escaping.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::definition::{Definitions, Dialect, SchemaError, read_message, read_service};
use super::type_description::{FieldType, IndividualTypeDescription, TypeDescription};

/// A computed hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ComputedHash {
    /// `RIHS01_` and 64 hexadecimal digits.
    pub hash: String,
    /// Whether a bare `Header` was taken for `std_msgs/msg/Header`, as in definitions converted from ROS 1. In ROS 2 it
    /// refers to the package of the definition.
    pub is_header_guessed: bool,
}

/// The hash of a message type, from its `ros2msg` schema text.
pub fn message_hash(name: &str, text: &[u8]) -> Result<ComputedHash, SchemaError> {
    hash(&read_message(Dialect::Ros2, name, text)?)
}

/// The hash of a service type, from the text of its `.srv` file and the messages it refers to, separated by lines of 80
/// `=`.
pub fn service_hash(name: &str, text: &[u8]) -> Result<ComputedHash, SchemaError> {
    hash(&read_service(name, text)?)
}

fn hash(definitions: &Definitions) -> Result<ComputedHash, SchemaError> {
    let description = TypeDescription::of(definitions)?;
    let mut hash = String::from("RIHS01_");
    for byte in Sha256::digest(json(&description).as_bytes()) {
        write!(hash, "{byte:02x}").expect("a string takes everything");
    }
    Ok(ComputedHash {
        hash,
        is_header_guessed: definitions.is_header_guessed,
    })
}

/// The text whose hash it is.
fn json(description: &TypeDescription) -> String {
    let mut json = String::from("{\"type_description\": ");
    write_type(&mut json, &description.type_description);
    json.push_str(", \"referenced_type_descriptions\": [");
    for (index, referenced) in description.referenced_type_descriptions.iter().enumerate() {
        if index > 0 {
            json.push_str(", ");
        }
        write_type(&mut json, referenced);
    }
    json.push_str("]}");
    json
}

fn write_type(json: &mut String, described: &IndividualTypeDescription) {
    write!(
        json,
        "{{\"type_name\": \"{}\", \"fields\": [",
        described.type_name
    )
    .expect("a string takes everything");
    for (index, field) in described.fields.iter().enumerate() {
        let FieldType {
            type_id,
            capacity,
            string_capacity,
            nested_type_name,
        } = &field.field_type;
        write!(
            json,
            "{}{{\"name\": \"{}\", \"type\": {{\"type_id\": {type_id}, \"capacity\": {capacity}, \
             \"string_capacity\": {string_capacity}, \"nested_type_name\": \"{nested_type_name}\"}}}}",
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
        std::fs::read(format!("{root}/../tests/data/ros2msg/{file}.{extension}")).unwrap()
    }

    #[test]
    fn message_hashes_equal_those_of_the_official_generator() {
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
    fn service_hashes_equal_those_of_the_official_generator() {
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
    fn the_hash_of_a_service_event_comes_from_the_service() {
        let text = fixture("example_interfaces/srv/AddTwoInts", "srv");
        let computed = message_hash("example_interfaces/srv/AddTwoInts_Event", &text).unwrap();
        // The hash that rosbag2 recorded with this schema.
        let hash = "RIHS01_32c1d140259c71e5c355115942bcb31df98b4330e4d906b1b75ccb1c9b3ce6c8";
        assert_eq!(computed.hash, hash);
    }

    #[test]
    fn a_bare_header_without_definition_counts_as_std_msgs_header() {
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
    fn hostile_text_is_refused_or_hashed() {
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
