//! [`Timings`]: how long cases took, from an earlier report.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::millis::millis_of;
use crate::ci::suite::shard_file::read::read_lines;
use crate::untrusted::Foreign;

/// The longest report in XML that is read, in bytes.
const LONGEST_XML: u64 = 256 << 20;

/// How long cases took in an earlier run, by their names, in milliseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timings(BTreeMap<String, u64>);

/// Why an earlier report cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", Foreign::path(file))]
pub struct TimingsError {
    file: PathBuf,
    reason: String,
}

impl<const N: usize> From<[(String, u64); N]> for Timings {
    fn from(times: [(String, u64); N]) -> Self {
        Self(times.into())
    }
}

impl Timings {
    /// How long a case took, in milliseconds.
    pub fn of(&self, case: &str) -> Option<u64> {
        self.0.get(case).copied()
    }

    /// Reads the report of a shard (`NDJSON`), or a report in the `JUnit` format: the times of its test suites.
    pub fn read(file: &Path) -> Result<Self, TimingsError> {
        let refuse = |reason: String| TimingsError {
            file: file.to_owned(),
            reason,
        };
        let start = first_byte(file).map_err(|error| refuse(error.to_string()))?;
        if start == Some(b'<') {
            let mut xml = String::new();
            let read =
                File::open(file).and_then(|file| file.take(LONGEST_XML).read_to_string(&mut xml));
            read.map_err(|error| refuse(error.to_string()))?;
            return Self::of_junit(&xml).map_err(refuse);
        }
        let shard = read_lines(file).map_err(|error| refuse(error.reason))?;
        let runs = shard.runs.iter();
        Ok(Self(
            runs.map(|run| (run.name.clone(), millis_of(run.took_ms / 1e3)))
                .collect(),
        ))
    }

    fn of_junit(xml: &str) -> Result<Self, String> {
        let mut reader = Reader::from_str(xml);
        let mut all = BTreeMap::new();
        // The suite that is open: its name, its own time, and the time of its test cases.
        let mut suite: Option<(String, Option<f64>, f64)> = None;
        let mut depth = 0_usize;
        loop {
            let event = reader.read_event().map_err(|error| error.to_string())?;
            match &event {
                Event::Start(element) | Event::Empty(element) => {
                    let time =
                        attribute(element, "time")?.and_then(|time| time.parse::<f64>().ok());
                    let time = time.filter(|time| time.is_finite() && *time >= 0.0);
                    match element.name().as_ref() {
                        "testsuite" => {
                            suite = attribute(element, "name")?.map(|name| (name, time, 0.0));
                        }
                        "testcase" => {
                            if let Some((_, _, sum)) = &mut suite {
                                *sum += time.unwrap_or(0.0);
                            }
                        }
                        "testsuites" => {}
                        _ if depth == 0 => return Err("this is not in the `JUnit` format".into()),
                        _ => {}
                    }
                    depth += usize::from(matches!(event, Event::Start(_)));
                }
                Event::End(_) => depth = depth.saturating_sub(1),
                Event::Eof if depth > 0 => return Err("the report is cut".into()),
                Event::Eof => break,
                _ => {}
            }
            let is_end = matches!(&event, Event::End(element) if element.name().as_ref() == "testsuite")
                || matches!(&event, Event::Empty(element) if element.name().as_ref() == "testsuite");
            if let Some((name, own, sum)) = suite.take_if(|_| is_end) {
                all.insert(name, millis_of(own.unwrap_or(sum)));
            }
        }
        Ok(Self(all))
    }
}

/// The value of an attribute.
fn attribute(element: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    let found = element
        .try_get_attribute(name)
        .map_err(|error| error.to_string())?;
    let value = found
        .map(|found| found.normalized_value(XmlVersion::Implicit1_0))
        .transpose();
    Ok(value
        .map_err(|error| error.to_string())?
        .map(Cow::into_owned))
}

fn first_byte(file: &Path) -> io::Result<Option<u8>> {
    let mut start = Vec::new();
    File::open(file)?.take(64).read_to_end(&mut start)?;
    Ok(start.trim_ascii_start().first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_junit() {
        let xml = r#"<?xml version="1.0"?>
            <testsuites name="s" tests="2" failures="0" errors="0">
              <testsuite name="a[rate=1]" tests="1" disabled="0" errors="0" failures="0" time="2.5">
                <testcase name="x" time="1"/></testsuite>
              <testsuite name="b" tests="2" disabled="0" errors="0" failures="0">
                <testcase name="x" time="1"/><testcase name="y" time="0.25"/></testsuite>
            </testsuites>"#;
        let timings = Timings::of_junit(xml).unwrap().0;
        assert_eq!(
            timings,
            BTreeMap::from([("a[rate=1]".to_owned(), 2_500), ("b".to_owned(), 1_250)])
        );
        for hostile in [
            "<",
            "<testsuites",
            "<a><b/></a>",
            "<testsuites name='x'>",
            "<testsuite name='&x;'/>",
        ] {
            assert!(Timings::of_junit(hostile).is_err(), "{hostile}");
        }
    }
}
