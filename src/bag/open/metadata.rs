//! [`Metadata`]: what rosbag2 writes about a recording into its `metadata.yaml`.
//!
//! Reads versions 1 to 9, and files without a version. Missing and unknown fields are ignored, because the recordings
//! contain all that is needed to play them. The names of files are only text here; `rosbag2.rs` finds the files.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::ros::Qos;
use crate::ros::RecordedProfile;
use crate::untrusted::{YamlError, yaml};

/// Why a `metadata.yaml` cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MetadataError {
    /// It is not valid YAML.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// It is YAML about something else.
    #[error("it has no `rosbag2_bagfile_information`")]
    Foreign,
}

/// What was compressed when a rosbag2 recording was written, apart from MCAP's own compression of chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CompressionMode {
    /// Nothing.
    #[default]
    None,
    /// Whole files; the name of the format is added as a suffix.
    File,
    /// Each message.
    Message,
    /// A mode unknown to this program.
    Other,
}

/// A topic in `metadata.yaml`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MetadataTopic {
    /// The name as recorded.
    pub name: String,
    /// The message type, `package/msg/Name`.
    pub type_name: String,
    /// How payloads are encoded: `cdr`.
    pub encoding: String,
    /// The QoS profiles that its publishers offered, one for each publisher, as far as recorded.
    pub offered_qos: Vec<Qos>,
    /// The RIHS01 hash of its type, if it was recorded.
    pub type_hash: Option<String>,
    /// How many messages were recorded.
    pub message_count: Option<u64>,
}

/// The contents of a `metadata.yaml`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// The version of its format: 1 to 9 so far.
    pub version: Option<u64>,
    /// The storage plugin: `mcap` or `sqlite3`; empty if not given.
    pub storage: String,
    /// What was compressed.
    pub compression_mode: CompressionMode,
    /// The compression format: `zstd`; empty if nothing was compressed.
    pub compression_format: String,
    /// The files in order, as written in `metadata.yaml`: neither checked nor looked for yet.
    pub files: Vec<String>,
    /// The topics, including those without messages.
    pub topics: Vec<MetadataTopic>,
    /// How many messages were recorded.
    pub message_count: Option<u64>,
    /// The ROS distribution that recorded it, if given.
    pub ros_distro: Option<String>,
}

impl Metadata {
    /// Parses the text of a `metadata.yaml`. Time and memory are bounded for any text.
    pub fn parse(text: &str) -> Result<Self, MetadataError> {
        let document: Option<Document> = yaml::read(text)?;
        let info = document.and_then(|document| document.rosbag2_bagfile_information);
        info.map(BagInfo::metadata).ok_or(MetadataError::Foreign)
    }
}

#[derive(Deserialize)]
struct Document {
    rosbag2_bagfile_information: Option<BagInfo>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct BagInfo {
    version: Option<u64>,
    storage_identifier: Option<String>,
    relative_file_paths: Option<Vec<String>>,
    files: Option<Vec<Split>>,
    compression_format: Option<String>,
    compression_mode: Option<String>,
    topics_with_message_count: Option<Vec<TopicCount>>,
    message_count: Option<u64>,
    ros_distro: Option<String>,
}

#[derive(Deserialize)]
struct Split {
    path: String,
}

#[derive(Deserialize)]
struct TopicCount {
    topic_metadata: TopicFields,
    #[serde(default)]
    message_count: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TopicFields {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    serialization_format: String,
    offered_qos_profiles: OfferedProfiles,
    type_description_hash: Option<String>,
}

/// Up to version 8 the profiles are YAML inside a string; from version 9 on they are nodes.
#[derive(Deserialize, Default)]
#[serde(untagged)]
enum OfferedProfiles {
    Nodes(Vec<RecordedProfile>),
    Text(String),
    #[default]
    Nothing,
    Other(IgnoredAny),
}

impl BagInfo {
    fn metadata(self) -> Metadata {
        let listed = self.relative_file_paths.unwrap_or_default();
        let files = self.files.unwrap_or_default();
        let topics = self.topics_with_message_count.unwrap_or_default();
        Metadata {
            version: self.version,
            storage: self.storage_identifier.unwrap_or_default(),
            compression_mode: mode(&self.compression_mode.unwrap_or_default()),
            compression_format: self.compression_format.unwrap_or_default(),
            // Both lists name the same files, but only the first includes the suffix of compressed files.
            files: if listed.is_empty() {
                files.into_iter().map(|file| file.path).collect()
            } else {
                listed
            },
            topics: topics.into_iter().map(TopicCount::topic).collect(),
            message_count: self.message_count,
            ros_distro: self.ros_distro.filter(|name| !name.is_empty()),
        }
    }
}

impl TopicCount {
    fn topic(self) -> MetadataTopic {
        let recorded = self.topic_metadata;
        MetadataTopic {
            name: recorded.name,
            type_name: recorded.type_name,
            encoding: recorded.serialization_format,
            offered_qos: match recorded.offered_qos_profiles {
                OfferedProfiles::Nodes(profiles) => {
                    profiles.iter().map(RecordedProfile::qos).collect()
                }
                OfferedProfiles::Text(text) => Qos::parse_offers(&text),
                OfferedProfiles::Nothing | OfferedProfiles::Other(_) => Vec::new(),
            },
            type_hash: recorded
                .type_description_hash
                .filter(|hash| !hash.is_empty()),
            message_count: self.message_count,
        }
    }
}

fn mode(name: &str) -> CompressionMode {
    match name.to_ascii_lowercase().as_str() {
        "" | "none" => CompressionMode::None,
        "file" => CompressionMode::File,
        "message" => CompressionMode::Message,
        _ => CompressionMode::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::{Durability, History, Reliability};

    const HASH: &str = "RIHS01_10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8";

    fn with_profiles(profiles: &str) -> Vec<Qos> {
        let text = format!(
            "rosbag2_bagfile_information:\n  topics_with_message_count:\n  - topic_metadata:\n      \
             name: /a\n      type: x/msg/Y\n      serialization_format: cdr\n      \
             offered_qos_profiles: {profiles}\n    message_count: 5\n"
        );
        let metadata = Metadata::parse(&text).unwrap();
        let topic = &metadata.topics[0];
        assert_eq!((topic.name.as_str(), topic.message_count), ("/a", Some(5)));
        topic.offered_qos.clone()
    }

    #[test]
    fn profiles_are_read_in_every_spelling() {
        let latched = Qos {
            reliability: Reliability::BestEffort,
            durability: Durability::TransientLocal,
            history: History::KeepLast(3),
            ..Qos::default()
        };
        let numbers = "history: 1, depth: 3, reliability: 2, durability: 1";
        let words =
            "history: keep_last, depth: 3, reliability: best_effort, durability: transient_local";
        for one in [numbers, words] {
            assert_eq!(with_profiles(&format!("[{{{one}}}]")), [latched]);
            assert_eq!(with_profiles(&format!("\"- {{{one}}}\"")), [latched]);
            assert_eq!(with_profiles(&format!("\"- {{{one}}}\\n- {{}}\"")).len(), 2);
        }
        for nothing in ["", "''", "[]", "~", "7", "{a: b}", "[7]", "nonsense"] {
            assert_eq!(with_profiles(nothing), [], "{nothing}");
        }
    }

    #[test]
    fn known_fields_are_kept_and_others_are_ignored() {
        let text = format!(
            "rosbag2_bagfile_information:\n  version: 9\n  storage_identifier: mcap\n  \
             relative_file_paths: [a.mcap.zstd, b.mcap.zstd]\n  files:\n  - path: a.mcap\n    \
             duration: {{nanoseconds: 1}}\n  compression_mode: FILE\n  compression_format: zstd\n  \
             message_count: 12\n  ros_distro: jazzy\n  custom_data: ~\n  news: [1, {{a: b}}]\n  \
             topics_with_message_count:\n  - topic_metadata:\n      name: /a\n      \
             type_description_hash: {HASH}\n"
        );
        let found = Metadata::parse(&text).unwrap();
        let topic = MetadataTopic {
            name: "/a".into(),
            type_name: String::new(),
            encoding: String::new(),
            offered_qos: vec![],
            type_hash: Some(HASH.into()),
            message_count: None,
        };
        let expected = Metadata {
            version: Some(9),
            storage: "mcap".into(),
            compression_mode: CompressionMode::File,
            compression_format: "zstd".into(),
            files: vec!["a.mcap.zstd".into(), "b.mcap.zstd".into()],
            topics: vec![topic],
            message_count: Some(12),
            ros_distro: Some("jazzy".into()),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn metadata_of_every_version_is_read() {
        let read =
            |body: &str| Metadata::parse(&format!("rosbag2_bagfile_information: {body}")).unwrap();
        let first =
            read("{version: 1, relative_file_paths: [bag/bag_0.mcap], storage_identifier: mcap}");
        assert_eq!(
            (first.version, first.files),
            (Some(1), vec!["bag/bag_0.mcap".into()])
        );
        assert_eq!(read("{storage_identifier: mcap}").version, None);
        assert_eq!(read("{version: 77}").version, Some(77));
        assert_eq!(
            read("{relative_file_paths: [], files: [{path: b}]}").files,
            ["b"]
        );
        assert_eq!(
            read("{relative_file_paths: ~, files: ~, topics_with_message_count: ~}").files,
            [""; 0]
        );
        for (word, mode) in [
            ("''", CompressionMode::None),
            ("~", CompressionMode::None),
            ("FILE", CompressionMode::File),
            ("message", CompressionMode::Message),
            ("COSMIC", CompressionMode::Other),
        ] {
            let found = read(&format!("{{compression_mode: {word}}}"));
            assert_eq!(found.compression_mode, mode, "{word}");
        }
    }

    #[test]
    fn text_that_is_no_metadata_is_an_error() {
        for foreign in ["", "~", "{}", "a: b", "rosbag2_bagfile_information:"] {
            assert_eq!(
                Metadata::parse(foreign),
                Err(MetadataError::Foreign),
                "{foreign}"
            );
        }
        for broken in [
            "text",
            "- a",
            "rosbag2_bagfile_information: [",
            "rosbag2_bagfile_information: text",
            "rosbag2_bagfile_information: {version: nine}",
            "rosbag2_bagfile_information: {relative_file_paths: [{}]}",
            "\u{0}",
        ] {
            let error = Metadata::parse(broken).unwrap_err();
            assert!(matches!(error, MetadataError::Yaml(_)), "{broken}: {error}");
        }
    }
}
