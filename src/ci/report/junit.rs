//! Runs as JUnit XML: one test suite per run, one test case per check. CI servers show and merge such files.
//!
//! The elements and attributes are those of the schema `junit-10.xsd` of Jenkins. Characters that XML cannot carry, and
//! those that do not print, are escaped as everywhere.

use std::io;

use quick_xml::Writer;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use super::check::{Check, Kind, Verdict};
use super::overall::{Outcome, repetitions, title};
use super::record::{Ended, Reported, RunRecord};
use super::units::{distribution, iso_timestamp, shown};

/// The document, in UTF-8.
pub fn to_junit<'a>(reported: impl Into<Reported<'a>>) -> io::Result<Vec<u8>> {
    let reported = reported.into();
    let Reported {
        runs, suite: of, ..
    } = reported;
    let mut xml = Xml(Writer::new_with_indent(Vec::new(), b' ', 2));
    xml.0
        .write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let checks: Vec<Vec<Check>> = runs.iter().map(checks_of).collect();
    let took: f64 = runs.iter().map(|run| run.took_ms).sum();
    let mut attributes = vec![("name", "play".to_owned())];
    attributes.extend(Totals::of(checks.iter().flatten()).attributes());
    attributes.push(("time", seconds(took)));
    xml.within("testsuites", &attributes, |xml| {
        if reported.is_empty_shard {
            return empty_suite(xml, reported);
        }
        let mut suites = runs.iter().zip(&checks);
        suites.try_for_each(|(run, checks)| suite(xml, run, checks, of))
    })?;
    let mut bytes = xml.0.into_inner();
    bytes.push(b'\n');
    Ok(bytes)
}

struct Xml(Writer<Vec<u8>>);

type Attributes = [(&'static str, String)];

impl Xml {
    fn within(
        &mut self,
        name: &str,
        attributes: &Attributes,
        content: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        self.0.write_event(Event::Start(start(name, attributes)))?;
        content(self)?;
        self.0.write_event(Event::End(BytesEnd::new(name)))
    }

    fn empty(&mut self, name: &str, attributes: &Attributes) -> io::Result<()> {
        self.0.write_event(Event::Empty(start(name, attributes)))
    }

    fn text(&mut self, name: &str, attributes: &Attributes, text: &str) -> io::Result<()> {
        self.within(name, attributes, |xml| {
            xml.0.write_event(Event::Text(BytesText::new(text)))
        })
    }
}

fn start<'a>(name: &'a str, attributes: &'a Attributes) -> BytesStart<'a> {
    let mut tag = BytesStart::new(name);
    for (name, value) in attributes {
        tag.push_attribute(Attribute::from((*name, value.as_str())));
    }
    tag
}

/// How many checks have which verdict.
#[derive(Default)]
struct Totals {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Totals {
    fn of<'a>(checks: impl Iterator<Item = &'a Check>) -> Self {
        let mut totals = Self::default();
        for check in checks {
            totals.tests += 1;
            match check.verdict {
                Verdict::Passed => {}
                Verdict::Skipped => totals.skipped += 1,
                Verdict::Failed => totals.failures += 1,
                Verdict::Error => totals.errors += 1,
            }
        }
        totals
    }

    fn attributes(&self) -> [(&'static str, String); 3] {
        [
            ("tests", self.tests.to_string()),
            ("failures", self.failures.to_string()),
            ("errors", self.errors.to_string()),
        ]
    }
}

fn suite(xml: &mut Xml, run: &RunRecord, checks: &[Check], of: Option<&str>) -> io::Result<()> {
    let name = title(run);
    let totals = Totals::of(checks.iter());
    let mut attributes = vec![("name", name.clone())];
    attributes.extend(totals.attributes());
    attributes.push(("skipped", totals.skipped.to_string()));
    attributes.push(("time", seconds(run.took_ms)));
    if let Some(time) = iso_timestamp(run.began_unix_ns) {
        attributes.push(("timestamp", time));
    }
    if !run.host.name.is_empty() {
        attributes.push(("hostname", shown(&run.host.name)));
    }
    xml.within("testsuite", &attributes, |xml| {
        xml.within("properties", &[], |xml| {
            let of = of.map(|digest| ("suite".to_owned(), shown(digest)));
            for (name, value) in properties(run).into_iter().chain(of) {
                xml.empty("property", &[("name", name), ("value", value)])?;
            }
            Ok(())
        })?;
        for (at, check) in checks.iter().enumerate() {
            // The run's time is that of its first case, so that sums over cases are right.
            let time = if at == 0 { run.took_ms } else { 0.0 };
            case(xml, &name, check, time)?;
        }
        output(xml, run)
    })
}

/// A suite without a case, whose name says why.
fn empty_suite(xml: &mut Xml, reported: Reported<'_>) -> io::Result<()> {
    let mut attributes = vec![("name", Outcome::of_all(reported).sentence)];
    attributes.extend(Totals::default().attributes());
    attributes.push(("time", seconds(0.0)));
    xml.empty("testsuite", &attributes)
}

/// The checks, and one more if they do not tell the verdict of the run. Of a run that was not begun they tell it: they
/// were skipped.
fn checks_of(run: &RunRecord) -> Vec<Check> {
    let outcome = Outcome::of(run);
    let mut checks = run.checks.clone();
    let tells = |check: &Check| match check.verdict {
        Verdict::Passed => false,
        Verdict::Skipped => matches!(run.ended, Ended::Failed | Ended::NotRun),
        Verdict::Failed | Verdict::Error => true,
    };
    if outcome.exit_code != 0 && !checks.iter().any(tells) {
        checks.push(Check::new(
            Kind::Run,
            "the run",
            Verdict::Error,
            outcome.sentence,
        ));
    }
    checks
}

fn case(xml: &mut Xml, suite: &str, check: &Check, time: f64) -> io::Result<()> {
    let attributes = [
        ("name", shown(&check.name)),
        ("classname", format!("{suite}.{}", check.kind.word())),
        ("time", seconds(time)),
    ];
    let element = match check.verdict {
        Verdict::Passed => return xml.empty("testcase", &attributes),
        Verdict::Failed => "failure",
        Verdict::Error => "error",
        Verdict::Skipped => "skipped",
    };
    let reason = shown(&check.reason);
    let why = [
        ("message", reason.clone()),
        ("type", check.kind.word().to_owned()),
    ];
    xml.within("testcase", &attributes, |xml| {
        xml.text(element, &why, &reason)
    })
}

fn properties(run: &RunRecord) -> Vec<(String, String)> {
    let mut all = vec![
        ("version", shown(&run.version)),
        ("command_line", shown(&run.command_line.join(" "))),
        ("pacing", run.pacing.word().to_owned()),
        ("exit_code", Outcome::of(run).exit_code.to_string()),
        ("host.system", shown(&run.host.system)),
        ("host.processors", run.host.processors.to_string()),
    ];
    if !run.effective_command_line.is_empty() && run.effective_command_line != run.command_line {
        let words = run.effective_command_line.join(" ");
        all.push(("effective_command_line", shown(&words)));
    }
    if let Some(lateness) = &run.lateness {
        all.push(("lateness", distribution(lateness)));
    }
    if let Some(repeated) = &run.repeated {
        all.push(("repetitions", repetitions(repeated)));
    }
    if let Some(digest) = &run.digest {
        all.push(("digest", shown(digest)));
    }
    if let Some(system) = &run.system {
        all.push(("system.runs_before", system.runs_before.to_string()));
        all.push(("system", shown(&system.sentence())));
    }
    let mut all: Vec<_> = all
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    for (name, version) in run.versions.iter().filter(|(name, _)| *name != "bagplay") {
        all.push((shown(&format!("version.{name}")), shown(version)));
    }
    let recordings = run.recordings.iter().map(|file| ("recording", file));
    let read = run.read_files.iter().map(|it| (it.what.as_str(), &it.file));
    for (what, file) in recordings.chain(read) {
        let digest = file.xxh3_128.as_deref().unwrap_or("not computed");
        let value = format!("{} ({} bytes, XXH3-128 {digest})", file.name, file.bytes);
        all.push((shown(what), shown(&value)));
    }
    if !run.folder.is_empty() {
        all.push(("folder".to_owned(), shown(&run.folder)));
    }
    for (what, name) in &run.files {
        all.push((shown(&format!("file.{what}")), shown(name)));
    }
    all
}

fn output(xml: &mut Xml, run: &RunRecord) -> io::Result<()> {
    let Some(child) = run.child.as_ref().filter(|child| !child.tail.is_empty()) else {
        return Ok(());
    };
    let lines: Vec<String> = child.tail.iter().map(|line| shown(line)).collect();
    xml.text("system-out", &[], &lines.join("\n"))
}

/// Without a unit and a sign: the schema has digits and a point.
fn seconds(ms: f64) -> String {
    // The sum of nothing is a negative zero.
    let seconds = (ms / 1e3).max(0.0) + 0.0;
    let seconds = if seconds.is_finite() { seconds } else { 0.0 };
    format!("{seconds:.3}")
}
