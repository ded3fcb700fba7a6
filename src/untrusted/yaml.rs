//! [`read`]: parses YAML from untrusted files, under limits. [`write`]: YAML that any parser reads back.
//!
//! Reading is used for the `metadata.yaml` of a rosbag2 directory, for recorded QoS profiles and for QoS overrides. A
//! text that is too long is refused before it is parsed. Aliases that multiply, deep nesting and huge numbers of nodes
//! are refused during parsing, after bounded time and memory.

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_saphyr::{DoubleQuoted, MessageFormatter as _, SerializeError};

/// The longest text that is parsed, in bytes. A profile takes about 400 bytes, a thousand splits 200 kB.
pub(crate) const MAX_TEXT: usize = 4 << 20;
/// The most nodes in a text, including those that aliases repeat.
const MAX_NODES: usize = 250_000;

/// Why a YAML text cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum YamlError {
    /// It is longer than any text that this program has a use for.
    #[error("it is longer than the {MAX_TEXT} bytes that are read")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// It is not YAML, does not have the expected form, or expands to too much.
    #[error("line {line}: {reason}")]
    Malformed {
        /// The line, from 1; 0 if it is not known.
        line: u64,
        /// The message of the parser.
        reason: String,
    },
}

/// Parses a text. Whether unknown fields are allowed is up to the type.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    if text.len() > MAX_TEXT {
        return Err(YamlError::TooLong { bytes: text.len() });
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 3 * MAX_NODES,
            max_nodes: MAX_NODES,
            max_total_scalar_bytes: MAX_TEXT,
            max_recorded_anchor_events: MAX_NODES,
            max_recorded_anchor_bytes: MAX_TEXT,
            max_depth: 32,
            max_aliases: 10_000,
            max_anchors: 1_000,
            // Writers of YAML define a profile that a hundred topics share only once. The limits on what aliases expand
            // to are the effective ones.
            enforce_alias_anchor_ratio: false,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_NODES,
            max_replay_stack_depth: 8,
        },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(0, |location| location.line());
        let words = serde_saphyr::UserMessageFormatter.format_message(error.without_snippet());
        let reason = words.lines().next().unwrap_or_default();
        let reason = reason.replace(char::is_control, " ");
        YamlError::Malformed { line, reason }
    })
}

/// A value as YAML. Fields of text use [`quoted`].
pub(crate) fn write(value: &impl Serialize) -> Result<String, SerializeError> {
    let options = serde_saphyr::ser_options! { compact_list_indent: false };
    serde_saphyr::to_string_with_options(value, options)
}

/// For `serialize_with`: text in double quotes, on one line, with control characters escaped.
pub(crate) fn quoted<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    DoubleQuoted(text).serialize(to)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Tree = BTreeMap<String, anything::Any>;

    /// A type without limits of its own: any value is built in memory.
    mod anything {
        #[derive(serde::Deserialize, Debug)]
        #[serde(untagged)]
        #[expect(dead_code, reason = "built, not looked at")]
        pub(crate) enum Any {
            List(Vec<Any>),
            Map(std::collections::BTreeMap<String, Any>),
            Text(String),
        }
    }

    #[test]
    fn hostile_texts_are_refused() {
        let bomb = (1..40).fold("a0: &a0 [x, x, x, x]\n".to_owned(), |text, n| {
            let before = format!("*a{}", n - 1);
            let nine = vec![before; 9].join(", ");
            format!("{text}a{n}: &a{n} [{nine}]\n")
        });
        let wide = format!("a: [{}]", "x,".repeat(MAX_NODES));
        let deep = format!("a: {}", "[".repeat(10_000));
        let nested = (0..2_000).fold(String::new(), |text, n| text + &" ".repeat(n) + "a:\n");
        let documents = "a: b\n---\n".repeat(10_000);
        let heavy = format!("a: [&x {}{}]", "y".repeat(100_000), ", *x".repeat(100));
        for text in [&bomb, &wide, &deep, &nested, &documents, &heavy] {
            let error = read::<Tree>(text).unwrap_err();
            assert!(matches!(error, YamlError::Malformed { .. }), "{error}");
        }
        let long = "#".repeat(MAX_TEXT + 1);
        let bytes = MAX_TEXT + 1;
        assert_eq!(
            read::<Tree>(&long).unwrap_err(),
            YamlError::TooLong { bytes }
        );
    }

    #[test]
    fn yaml_of_common_writers_is_parsed() {
        type Lists = BTreeMap<String, Vec<String>>;
        let expected = Lists::from([("a".to_owned(), vec!["b".to_owned()])]);
        for text in [
            "a: [b]",
            "---\na: [b]\n",
            "%YAML 1.2\n---\na:\n- b\n...\n",
            "\u{feff}a: ['b']\r\n",
            "# of an older kind\na: [!!str \"b\"]\n",
        ] {
            assert_eq!(read::<Lists>(text), Ok(expected.clone()), "{text:?}");
        }
        let shared = (0..500).fold("a: &x [b]\n".to_owned(), |text, n| {
            format!("{text}t{n}: *x\n")
        });
        assert_eq!(read::<Lists>(&shared).unwrap()["t499"], ["b"]);
    }

    #[test]
    fn errors_name_the_line() {
        let error = read::<BTreeMap<String, u8>>("a: 1\nb: 2\nc: x\n").unwrap_err();
        assert!(error.to_string().starts_with("line 3: "), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }

    #[derive(serde::Deserialize, Serialize, PartialEq, Debug)]
    struct Note {
        #[serde(serialize_with = "quoted")]
        name: String,
    }

    #[test]
    fn every_character_is_read_back_and_none_that_is_written_controls_anything() {
        let others = [
            "", "yes", "1e3", "~", "- x", "# x", "'", "\"", "\\", " a ", "---",
        ];
        let others = others.map(str::to_owned).into_iter();
        let characters = (0..=u32::from(char::MAX)).filter_map(char::from_u32);
        // In parts that are within the limits of reading.
        let characters: Vec<char> = characters.collect();
        let parts = characters.chunks(100_000).map(String::from_iter);
        for name in others.chain(parts) {
            let text = write(&[Note { name: name.clone() }]).unwrap();
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(!text.trim_end().contains(char::is_control));
            assert_eq!(read::<Vec<Note>>(&text), Ok(vec![Note { name }]));
        }
    }
}
