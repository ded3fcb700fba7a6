//! [`read`]: parses YAML from untrusted files, under limits. `write`: YAML that any parser reads back.
//!
//! Reading is used for the `metadata.yaml` of a rosbag2 directory, for recorded QoS profiles, for QoS overrides, for
//! marks and for configurations of zenoh. A text that is too long is refused before it is parsed. Aliases that
//! multiply, deep nesting and huge numbers of nodes are refused during parsing, after bounded time and memory.

mod error;
mod limits;
mod node;
mod tree;

use std::rc::Rc;

use serde::{Serialize, Serializer};
use serde_saphyr::{DoubleQuoted, SerializeError};

pub use error::YamlError;
pub(crate) use error::shown;
pub(crate) use limits::MAX_TEXT;
pub use node::{Entry, Node};

/// Parses a text; `None` if it has no value.
pub fn read(text: &str) -> Result<Option<Rc<Node>>, YamlError> {
    if text.len() > MAX_TEXT {
        return Err(YamlError::TooLong { bytes: text.len() });
    }
    tree::build(text)
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
    use super::limits::{MAX_DEPTH, MAX_NODES};
    use super::*;

    fn root(text: &str) -> Rc<Node> {
        read(text).unwrap().unwrap()
    }

    fn error(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    /// All below the node, in brackets; keys with a colon.
    fn all(node: &Node) -> String {
        let listed = |parts: Vec<String>| format!("[{}]", parts.join(" "));
        if let Some(items) = node.items() {
            return listed(items.iter().map(|it| all(it)).collect());
        }
        let Some(entries) = node.entries() else {
            return node.text().unwrap_or("-").to_owned();
        };
        let entry = |it: &Entry| format!("{}:{}", it.key, all(&it.value));
        listed(entries.iter().map(entry).collect())
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
            let error = read(text).unwrap_err();
            assert!(matches!(error, YamlError::Malformed { .. }), "{error}");
        }
        let long = "#".repeat(MAX_TEXT + 1);
        let bytes = MAX_TEXT + 1;
        assert_eq!(read(&long).unwrap_err(), YamlError::TooLong { bytes });
    }

    #[test]
    fn what_aliases_repeat_counts_for_the_limits() {
        // As deep as allowed, and one deeper: each anchor is a list around the one before it.
        let nested = |deep: usize| {
            let chain = (1..deep).fold("- &a0 []\n".to_owned(), |text, n| {
                format!("{text}- &a{n} [*a{}]\n", n - 1)
            });
            read(&chain)
        };
        assert!(nested(MAX_DEPTH - 1).is_ok());
        let error = nested(MAX_DEPTH).unwrap_err().to_string();
        assert_eq!(error, "line 32: lists and mappings are nested too deep");
        let inside = "a: &a [*a]\n";
        assert_eq!(
            self::error(inside),
            "line 1: an alias is inside its own anchor"
        );
    }

    #[test]
    fn the_limits_hold_exactly_whether_or_not_aliases_repeat() {
        // The root, its key, the list and its items.
        let items = |items: usize| read(&format!("a: [{}]", "x,".repeat(items)));
        assert!(items(MAX_NODES - 3).is_ok());
        let reason = "line 1: there are more than 250000 values, with what aliases repeat";
        assert_eq!(items(MAX_NODES - 2).unwrap_err().to_string(), reason);
        // Ten items and their list, then as many for each alias.
        let repeated = |aliases: usize| {
            let list = "x,".repeat(10);
            read(&format!("[&a [{list}], {}]", "*a,".repeat(aliases)))
        };
        assert!(repeated((MAX_NODES - 12) / 11).is_ok());
        let error = repeated((MAX_NODES - 12) / 11 + 1).unwrap_err();
        assert_eq!(error.to_string(), reason);
        let text = |bytes: usize| {
            let half = "x".repeat(bytes / 2);
            read(&format!("[&a {half}, *a]"))
        };
        assert!(text(MAX_TEXT).is_ok());
        let error = text(MAX_TEXT + 2).unwrap_err().to_string();
        assert_eq!(
            error,
            "line 1: there are more than 4194304 bytes of text, with what aliases repeat"
        );
        let merges = (1..40).fold("a0: &a0 {x: y}\n".to_owned(), |text, n| {
            let before = format!("*a{}", n - 1);
            format!("{text}a{n}: &a{n} {{<<: [{before}, {before}], x{n}: y}}\n")
        });
        assert!(error_is_at_a_limit(&merges));
    }

    fn error_is_at_a_limit(text: &str) -> bool {
        let error = error(text);
        error.contains("there are more than") || error.contains("nested too deep")
    }

    #[test]
    fn lines_are_those_of_the_alias_and_not_of_its_anchor() {
        let list = "- &x {}\n- a: &t foo\n- b: *t\n";
        let items = root(list);
        let wrong = items.items().unwrap()[2].integer_of::<u8>("b");
        let reason = "line 3: `b` is not a whole number that fits";
        assert_eq!(wrong.unwrap_err().to_string(), reason);
        assert_eq!(
            error("&k a: 1\nb: 2\n*k : 3\n"),
            "line 3: `a` is given twice"
        );
        assert_eq!(all(&root("a: &x 1\nb: &x 2\nc: *x\n")), "[a:1 b:2 c:2]");
    }

    #[test]
    fn keys_that_are_lists_or_mappings_are_shown_as_such() {
        let text = "? [x]\n: 1\n? [y]\n: 2\n? {z: 1}\n: 3\na: 4\n";
        assert_eq!(all(&root(text)), "[[…]:1 […]:2 {…}:3 a:4]");
    }

    #[test]
    fn yaml_of_common_writers_is_parsed() {
        for text in [
            "a: [b]",
            "---\na: [b]\n",
            "%YAML 1.2\n---\na:\n- b\n...\n",
            "\u{feff}a: ['b']\r\n",
            "# of an older kind\na: [!!str \"b\"]\n",
            "? a\n: - b\n",
        ] {
            assert_eq!(all(&root(text)), "[a:[b]]", "{text:?}");
        }
        let shared = (0..500).fold("a: &x [b]\n".to_owned(), |text, n| {
            format!("{text}t{n}: *x\n")
        });
        let shared = root(&shared);
        assert_eq!(all(shared.get("t499").unwrap()), "[b]");
        for empty in ["", "# nothing\n", "~", "---\n...\n", "null"] {
            assert!(read(empty).unwrap().is_none(), "{empty:?}");
        }
    }

    #[test]
    fn merged_mappings_add_what_is_missing() {
        for (text, expected) in [
            (
                "{a: &a {x: 1, y: 2}, b: {<<: *a, y: 3}}",
                "[a:[x:1 y:2] b:[y:3 x:1]]",
            ),
            (
                "{a: &a {x: 1}, b: &b {x: 2, y: 2}, c: {<<: [*a, *b]}}",
                "[a:[x:1] b:[x:2 y:2] c:[x:1 y:2]]",
            ),
            ("{'<<': 1}", "[<<:1]"),
        ] {
            assert_eq!(all(&root(text)), expected);
        }
        for text in ["a: {<<: 1}", "a: {<<: [{}, 1]}", "a: {<<: ~}"] {
            let expected = "line 1: `<<` is not a mapping, nor a list of mappings";
            assert_eq!(error(text), expected);
        }
    }

    #[test]
    fn a_scalar_is_what_is_asked_for() {
        let flag = |text| root(&format!("a: {text}")).get("a").and_then(Node::flag);
        let integer = |text| {
            root(&format!("a: {text}"))
                .get("a")
                .and_then(Node::integer::<i64>)
        };
        let float = |text| root(&format!("a: {text}")).get("a").and_then(Node::float);
        let text = |text: &str| {
            let root = root(&format!("a: {text}"));
            root.get("a").and_then(Node::text).map(str::to_owned)
        };
        for plain in ["1.20", "007", "true", "0x1F", "1e3", "-5"] {
            assert_eq!(text(plain).as_deref(), Some(plain));
        }
        let null = [
            ("~", false),
            ("", false),
            ("Null", false),
            ("!!null x", false),
        ];
        for (nothing, is_text) in null.into_iter().chain([("'~'", true), ("! ~", true)]) {
            assert_eq!(text(nothing).is_some(), is_text, "{nothing:?}");
        }
        for (written, read) in [
            ("7", Some(7)),
            ("+7", Some(7)),
            ("-7", Some(-7)),
            ("0", Some(0)),
            ("010", None),
            ("1_", None),
            ("1__0", None),
            ("!foo 7", None),
            ("! 7", None),
            ("0x1F", Some(31)),
            ("-0o17", Some(-15)),
            ("0b11", Some(3)),
            ("1_000", Some(1000)),
            ("!!int '7'", Some(7)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("99999999999999999999999999999999999999999", None),
            ("'7'", None),
            ("!!str 7", None),
            ("+-7", None),
            ("0x-7", None),
            ("_7", None),
            ("1.0", None),
            ("é", None),
            ("[7]", None),
        ] {
            assert_eq!(integer(written), read, "{written}");
        }
        let byte = |text| {
            root(&format!("a: {text}"))
                .get("a")
                .and_then(Node::integer::<u8>)
        };
        assert_eq!(
            (byte("255"), byte("256"), byte("-1")),
            (Some(255), None, None)
        );
        for (written, read) in [
            ("true", Some(true)),
            ("Yes", Some(true)),
            ("OFF", Some(false)),
            ("n", Some(false)),
            ("'true'", None),
            ("1", None),
        ] {
            assert_eq!(flag(written), read, "{written}");
        }
        assert_eq!(float("-1.5e3"), Some(-1500.0));
        for other in ["1e400", "nan", "inf", "Infinity", "'1.5'", "x"] {
            assert_eq!(float(other), None, "{other}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        for (text, expected) in [
            ("a: 1\nb: 2\na: 3\n", "line 3: `a` is given twice"),
            ("a: 1\n---\nb: 2\n", "line 2: a second document begins"),
        ] {
            assert_eq!(error(text), expected);
        }
        let broken = error("a: 1\nb: [2,\nc: }\n");
        assert!(
            broken.starts_with("line 2: ") && broken.lines().count() == 1,
            "{broken}"
        );
        let fields = root("a: 1\nb: [x]\n");
        let wrong = |result: Result<_, YamlError>| result.unwrap_err().to_string();
        assert_eq!(fields.integer_of("a"), Ok(Some(1)));
        assert_eq!(root("a: ' 7 '").integer_of("a"), Ok(Some(7)));
        assert_eq!(
            root("a: ' 7 '").get("a").and_then(Node::integer::<u8>),
            None
        );
        assert_eq!(fields.integer_of::<u8>("z"), Ok(None));
        assert_eq!(
            wrong(fields.integer_of::<u8>("b").map(|_| ())),
            "line 2: `b` is not a whole number that fits"
        );
        assert_eq!(
            wrong(fields.text_of("b").map(|_| ())),
            "line 2: `b` is not a text"
        );
        assert_eq!(
            wrong(fields.list_of("a").map(|_| ())),
            "line 1: `a` is not a list"
        );
        assert!(fields.list_of("z").unwrap().is_empty());
    }

    #[derive(Serialize)]
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
            let back = root(&text);
            assert_eq!(back.items().unwrap()[0].text_of("name"), Ok(Some(name)));
        }
    }
}
