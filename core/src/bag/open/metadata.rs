//! [`Metadata`]: what rosbag2 writes about a recording into its `metadata.yaml`.
//!
//! Reads versions 1 to 9, and files without a version. Missing and unknown fields are ignored, because the recordings
//! contain all that is needed to play them. The names of files are only text here; `rosbag2.rs` finds the files.

use crate::ros::Qos;
use crate::untrusted::YamlError;
use crate::untrusted::yaml::{self, Node};

/// The key of the document that has all the rest.
const INFORMATION: &str = "rosbag2_bagfile_information";

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
        let Some(document) = yaml::read(text)? else {
            return Err(MetadataError::Foreign);
        };
        if document.entries().is_none() {
            return Err(document.error("it is not a mapping").into());
        }
        let info = document.map_of(INFORMATION)?;
        let info = info.ok_or(MetadataError::Foreign)?;
        Ok(Self::of(info)?)
    }

    fn of(info: &Node) -> Result<Self, YamlError> {
        let text = |key| info.text_of(key).map(Option::unwrap_or_default);
        let names = info.list_of("relative_file_paths")?.iter();
        let names = names.map(|name| {
            let text = name.text().map(str::to_owned);
            text.ok_or_else(|| name.error("`relative_file_paths` is not a list of texts"))
        });
        let mut files: Vec<String> = names.collect::<Result<_, _>>()?;
        // Both lists name the same files, but only the first includes the suffix of compressed files.
        if files.is_empty() {
            let splits = info.list_of("files")?.iter();
            let paths = splits.map(|split| {
                let path = split.text_of("path")?;
                path.ok_or_else(|| split.error("a file has no `path`"))
            });
            files = paths.collect::<Result<_, _>>()?;
        }
        let topics = info.list_of("topics_with_message_count")?.iter();
        Ok(Self {
            version: info.integer_of("version")?,
            storage: text("storage_identifier")?,
            compression_mode: mode(&text("compression_mode")?),
            compression_format: text("compression_format")?,
            files,
            topics: topics
                .map(|topic| MetadataTopic::of(topic))
                .collect::<Result<_, _>>()?,
            message_count: info.integer_of("message_count")?,
            ros_distro: info.text_of("ros_distro")?.filter(|name| !name.is_empty()),
        })
    }
}

impl MetadataTopic {
    fn of(counted: &Node) -> Result<Self, YamlError> {
        let fields = counted.map_of("topic_metadata")?;
        let fields = fields.ok_or_else(|| counted.error("a topic has no `topic_metadata`"))?;
        let text = |key| fields.text_of(key).map(Option::unwrap_or_default);
        let offered = fields.get("offered_qos_profiles");
        let hash = fields.text_of("type_description_hash")?;
        Ok(Self {
            name: text("name")?,
            type_name: text("type")?,
            encoding: text("serialization_format")?,
            // Up to version 8 the profiles are YAML inside a text; from version 9 on they are nodes.
            offered_qos: offered.map_or_else(Vec::new, |offered| {
                let text = offered.text().map(Qos::parse_offers);
                text.unwrap_or_else(|| Qos::offers_in(offered))
            }),
            type_hash: hash.filter(|hash| !hash.is_empty()),
            message_count: counted.integer_of("message_count")?,
        })
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
        assert_eq!(with_profiles(&format!("[{{}}, ~, {{{words}}}]")).len(), 3);
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
            read("{version: '9', custom_data: {? [x] : 1}}").version,
            Some(9)
        );
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
