//! The JUnit file, read by an XML parser.

use bagplay::ci::report::{Check, Ended, Kind, RunRecord, Verdict, to_junit};
use roxmltree::{Document, Node};

use super::{failed, hostile, interrupted, passed, undecided};

/// An element of the schema `junit-10.xsd`.
struct Element {
    name: &'static str,
    /// The attributes that it must have.
    required: &'static [&'static str],
    /// The attributes that it may have.
    allowed: &'static [&'static str],
    children: &'static [&'static str],
}

const fn element(
    name: &'static str,
    required: &'static [&'static str],
    allowed: &'static [&'static str],
    children: &'static [&'static str],
) -> Element {
    Element {
        name,
        required,
        allowed,
        children,
    }
}

const SCHEMA: [Element; 9] = [
    element(
        "testsuites",
        &[],
        &["name", "time", "tests", "failures", "errors"],
        &["testsuite"],
    ),
    element(
        "testsuite",
        &["name", "tests", "failures", "errors"],
        &["time", "skipped", "timestamp", "hostname"],
        &["properties", "testcase", "system-out", "system-err"],
    ),
    element("properties", &[], &[], &["property"]),
    element("property", &["name", "value"], &[], &[]),
    element(
        "testcase",
        &["name"],
        &["time", "classname"],
        &["failure", "error", "skipped"],
    ),
    element("failure", &[], &["type", "message"], &[]),
    element("error", &[], &["type", "message"], &[]),
    element("skipped", &[], &["type", "message"], &[]),
    element("system-out", &[], &[], &[]),
];

fn text_of(runs: &[RunRecord]) -> String {
    String::from_utf8(to_junit(runs).unwrap()).unwrap()
}

pub(super) fn assert_valid(document: &Document<'_>) {
    assert!(document.root_element().has_tag_name("testsuites"));
    for node in document.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        let rule = SCHEMA.iter().find(|rule| rule.name == name);
        let rule = rule.unwrap_or_else(|| panic!("{name}"));
        for attribute in rule.required {
            assert!(node.has_attribute(*attribute), "{name} has no {attribute}");
        }
        for attribute in node.attributes() {
            let attribute = attribute.name();
            let is_known = rule.required.contains(&attribute) || rule.allowed.contains(&attribute);
            assert!(is_known, "{name}: {attribute}");
        }
        for child in node.children().filter(Node::is_element) {
            assert!(
                rule.children.contains(&child.tag_name().name()),
                "{name}: {child:?}"
            );
        }
        if let Some(time) = node.attribute("time") {
            let is_decimal = |c: char| c.is_ascii_digit() || c == '.';
            assert!(!time.is_empty() && time.chars().all(is_decimal), "{time}");
        }
    }
}

fn elements<'a>(document: &'a Document<'_>, name: &str) -> Vec<Node<'a, 'a>> {
    document
        .descendants()
        .filter(|node| node.has_tag_name(name))
        .collect()
}

#[test]
fn a_run_is_a_suite_and_a_check_is_a_case() {
    let text = text_of(&[failed()]);
    let document = Document::parse(&text).unwrap();
    assert_valid(&document);
    let [suite] = elements(&document, "testsuite")[..] else {
        panic!("{text}")
    };
    for (name, value) in [
        ("name", "warehouse"),
        ("tests", "10"),
        ("failures", "3"),
        ("errors", "0"),
        ("skipped", "1"),
        ("time", "4.213"),
        ("timestamp", "2025-11-23T21:34:27"),
        ("hostname", "runner-3"),
    ] {
        assert_eq!(suite.attribute(name), Some(value), "{text}");
    }
    let cases = elements(&document, "testcase");
    assert_eq!(cases.len(), 10);
    assert_eq!(cases[3].attribute("name"), Some("/points -> /obstacles"));
    assert_eq!(cases[3].attribute("classname"), Some("warehouse.gate"));
    let failures = elements(&document, "failure");
    let reason = "/odom differs in 176 of 300 messages, first in message 124";
    assert_eq!(failures[2].attribute("message"), Some(reason));
    assert_eq!(failures[2].text(), Some(reason));
    assert_eq!(failures[2].attribute("type"), Some("golden"));
    let skipped = elements(&document, "skipped");
    assert_eq!(
        skipped[0].attribute("message"),
        Some("the first run failed")
    );
    let output = elements(&document, "system-out")[0].text().unwrap();
    assert_eq!(output.lines().count(), 3);
    assert!(
        output.ends_with("falling back to the motion prior"),
        "{output}"
    );
    let times: f64 = cases
        .iter()
        .map(|case| case.attribute("time").unwrap().parse::<f64>().unwrap())
        .sum();
    assert!((times - 4.213).abs() < 1e-9, "{times}");
}

#[test]
fn the_properties_say_what_was_run() {
    let text = text_of(&[failed()]);
    let document = Document::parse(&text).unwrap();
    let property = |name: &str| {
        let all = elements(&document, "property");
        let found = all.iter().find(|node| node.attribute("name") == Some(name));
        found.and_then(|node| node.attribute("value").map(str::to_owned))
    };
    for (name, value) in [
        ("digest", "a41f09c2b7d85e6310fe92c47ab0d1e5"),
        ("version", "0.1.0"),
        ("pacing", "lockstep and gates"),
        ("repetitions", "3 of 10 runs failed, 2 different digests"),
        ("exit_code", "4"),
        ("host.system", "Linux 6.8.0"),
        (
            "recording",
            "warehouse.mcap (812345678 bytes, XXH3-128 5b9c1d0f6e0a4b2c8d3e7f1a2b3c4d5e)",
        ),
        ("file.outputs", "outputs.mcap"),
    ] {
        assert_eq!(property(name).as_deref(), Some(value), "{name}");
    }
}

#[test]
fn a_run_without_a_failed_check_that_did_not_pass_has_an_error() {
    let text = text_of(&[passed(), interrupted(), undecided()]);
    let document = Document::parse(&text).unwrap();
    assert_valid(&document);
    let errors = elements(&document, "error");
    let messages: Vec<_> = errors
        .iter()
        .filter_map(|error| error.attribute("message"))
        .collect();
    assert_eq!(
        messages,
        [
            "interrupted after 4.21 s",
            "warehouse.mcap: chunk at byte 81920 is damaged"
        ]
    );
    let suites = elements(&document, "testsuite");
    let errors: Vec<_> = suites
        .iter()
        .filter_map(|suite| suite.attribute("errors"))
        .collect();
    assert_eq!(errors, ["0", "1", "1"]);
    let root = document.root_element();
    assert_eq!(
        (root.attribute("tests"), root.attribute("errors")),
        (Some("8"), Some("2"))
    );
}

#[test]
fn a_run_that_was_not_begun_is_skipped_and_one_that_skipped_a_check_is_an_error() {
    let checks = vec![Check::new(
        Kind::Run,
        "the case",
        Verdict::Skipped,
        "another case has failed",
    )];
    for (ended, errors) in [(Ended::Failed, "0"), (Ended::Complete, "1")] {
        let run = RunRecord {
            ended,
            checks: checks.clone(),
            exit_code: 0,
            ..passed()
        };
        let text = text_of(&[run]);
        let document = Document::parse(&text).unwrap();
        assert_valid(&document);
        let suite = elements(&document, "testsuite")[0];
        assert_eq!(
            (suite.attribute("skipped"), suite.attribute("errors")),
            (Some("1"), Some(errors))
        );
    }
}

#[test]
fn whatever_the_names_are_the_file_is_valid_and_says_them() {
    let mut run = hostile();
    run.took_ms = f64::NAN;
    run.checks[0].name.clear();
    let text = text_of(&[run, RunRecord::default()]);
    let document = Document::parse(&text).unwrap();
    assert_valid(&document);
    let name = elements(&document, "testcase")[1]
        .attribute("name")
        .unwrap();
    assert!(
        name.starts_with("</script><script>alert(1)</script>\"' onload="),
        "{name}"
    );
    assert!(
        name.ends_with("\\u{1b}[2J\\0\\r\\n# e\\u{202e}\\u{ffff}"),
        "{name}"
    );
    assert_valid(&Document::parse(&text_of(&[])).unwrap());
}
