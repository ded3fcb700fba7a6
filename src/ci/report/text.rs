//! What is printed at the end of a run or a suite.

use std::fmt::Write as _;

use super::check::{Check, Verdict};
use super::overall::{Outcome, Overall, repetitions, severity, title, verdict};
use super::record::{ChildRecord, GateRecord, Reported, RunRecord};
use super::units::{count, distribution, millis, plural, shortened, shown, total};

/// How many checks, notes, gates or runs are printed before the rest is only counted.
const MOST: usize = 8;
/// How many of the last lines of the program under test are printed.
const TAIL: usize = 8;
/// The longest line, in characters.
const LONGEST: usize = 400;

/// Lines of plain text, each with a line feed at its end. The first has the verdict.
pub fn to_text<'a>(reported: impl Into<Reported<'a>>) -> String {
    let reported = reported.into();
    match reported.runs {
        [run] => of_run(run),
        _ => of_suite(reported),
    }
}

fn of_run(run: &RunRecord) -> String {
    let mut text = Text::default();
    let outcome = Outcome::of(run);
    let word = outcome.overall.word();
    text.line(&format!("{word}: {}: {}", title(run), outcome.sentence));
    let bad: Vec<&Check> = run
        .checks
        .iter()
        .filter(|check| check.verdict != Verdict::Passed)
        .collect();
    text.list(&bad, "check", |check| {
        let reason = match check.reason.as_str() {
            "" => String::new(),
            reason => format!(": {}", shown(reason)),
        };
        format!("  {} {}{reason}", mark(check.verdict), shown(&check.name))
    });
    text.line(&traffic(run));
    text.list(&run.gates.iter().collect::<Vec<_>>(), "gate", |gate| {
        line_of_gate(gate)
    });
    if let Some(settling) = run.settling {
        text.line(&format!("  settling: {}", distribution(&settling)));
    }
    if let Some(digest) = &run.digest {
        text.line(&format!("  digest of the outputs: {}", shown(digest)));
    }
    differences(&mut text, run);
    if let Some(repeated) = &run.repeated {
        text.line(&format!("  repetitions: {}", repetitions(repeated)));
    }
    if let Some(system) = &run.system {
        text.line(&format!("  {}", shown(&system.sentence())));
    }
    text.list(&run.notes.iter().collect::<Vec<_>>(), "note", |note| {
        format!("  note: {}", shown(note))
    });
    if let Some(child) = run.child.as_ref().filter(|child| !child.tail.is_empty()) {
        tail(&mut text, child);
    }
    if !run.files.is_empty() {
        let name = |(what, name): (&String, &String)| format!("{} ({})", shown(name), shown(what));
        let names: Vec<String> = run.files.iter().map(name).collect();
        let folder = match run.folder.as_str() {
            "" => String::new(),
            folder => format!(" in {}", shown(folder)),
        };
        text.line(&format!("  files{folder}: {}", names.join(", ")));
    }
    text.0
}

/// The first difference, and which fields differ.
fn differences(text: &mut Text, run: &RunRecord) {
    if let Some(divergence) = &run.divergence {
        let (reference, own) = &divergence.values;
        let (topic, index) = (shown(&divergence.topic), divergence.index);
        let [first, second] = divergence.sides();
        let the = if divergence.repetitions.is_none() {
            "the "
        } else {
            ""
        };
        let what = match (divergence.field.as_str(), divergence.times_ns) {
            ("", (None, Some(_))) => format!(" is not in {the}{first}"),
            ("", _) => format!(" is missing in {second}"),
            (field, _) => format!(
                " {}: {} in {the}{first}, {} in {second}",
                shown(field),
                shortened(reference, 60),
                shortened(own, 60)
            ),
        };
        text.line(&format!(
            "  first difference: {topic} message {index}{what}"
        ));
    }
    text.list(
        &run.differences.iter().collect::<Vec<_>>(),
        "field",
        |difference| {
            let field = match difference.field.as_str() {
                "" => "messages missing or too many".to_owned(),
                field => shown(field),
            };
            let messages = count(difference.messages);
            format!(
                "  differs: {} {field}: {messages} times",
                shown(&difference.topic)
            )
        },
    );
}

/// The last lines of the program under test.
fn tail(text: &mut Text, child: &ChildRecord) {
    text.line(&format!(
        "  the program under test: {}; its last lines:",
        shown(&child.ended)
    ));
    let skipped = child.tail.len().saturating_sub(TAIL);
    for line in &child.tail[skipped..] {
        text.line(&format!("  | {}", shown(line)));
    }
}

fn of_suite(reported: Reported<'_>) -> String {
    let mut text = Text::default();
    let outcome = Outcome::of_all(reported);
    let runs = reported.runs;
    text.line(&format!("{}: {}", outcome.overall.word(), outcome.sentence));
    let mut bad: Vec<&RunRecord> = runs
        .iter()
        .filter(|run| verdict(run) != Overall::Passed)
        .collect();
    // The worst first; equal ones in their order.
    bad.sort_by_cached_key(|run| std::cmp::Reverse(severity(run)));
    text.list(&bad, "run", |run| {
        let outcome = Outcome::of(run);
        let folder = match run.folder.as_str() {
            "" => String::new(),
            folder => format!("\n    files in {}", shown(folder)),
        };
        let rate = run.repeated.as_ref();
        let rate = rate.map_or_else(String::new, |it| format!(" ({})", repetitions(it)));
        format!(
            "  {} {}: {}{rate}{folder}",
            outcome.overall.word(),
            title(run),
            outcome.sentence
        )
    });
    if runs.is_empty() {
        return text.0;
    }
    let passed = runs.len() - bad.len();
    let took: f64 = runs.iter().map(|run| run.took_ms).sum();
    text.line(&format!(
        "  {passed} of {} passed in {}",
        plural(runs.len(), "run"),
        millis(took)
    ));
    text.0
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        self.0.push_str(&shortened(line, LONGEST));
        self.0.push('\n');
    }

    /// One or more lines for each.
    fn list<T>(&mut self, all: &[T], word: &str, show: impl Fn(&T) -> String) {
        for one in all.iter().take(MOST) {
            for line in show(one).lines() {
                self.line(line);
            }
        }
        if let Some(more) = all.len().checked_sub(MOST).filter(|more| *more > 0) {
            self.line(&format!(
                "  and {} more {word}{}",
                count(u64::try_from(more).unwrap_or(u64::MAX)),
                if more == 1 { "" } else { "s" }
            ));
        }
    }
}

const fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed ",
        Verdict::Skipped => "skipped",
        Verdict::Failed => "FAILED ",
        Verdict::Error => "ERROR  ",
    }
}

fn traffic(run: &RunRecord) -> String {
    let sent = total(run.inputs.iter().map(|input| input.messages));
    let received = total(run.outputs.iter().map(|output| output.messages));
    let lost = run.inputs.iter().map(|input| input.lost);
    let lost = total(lost.chain(run.outputs.iter().map(|output| output.lost)));
    let mut text = format!("  {} sent, {} received", count(sent), count(received));
    if lost > 0 {
        let _ = write!(text, ", {} lost", count(lost));
    }
    if !run.unsent.is_empty() {
        let topics = plural(run.unsent.len(), "topic");
        let _ = write!(text, ", messages of {topics} not sent");
    }
    if !run.unreceived.is_empty() {
        let publishers = plural(run.unreceived.len(), "publisher");
        let _ = write!(text, ", {publishers} not received");
    }
    if sent > 0 {
        let _ = write!(text, ", paced by {}", run.pacing.word());
    }
    text + ", in " + &millis(run.took_ms)
}

fn line_of_gate(gate: &GateRecord) -> String {
    let mut text = format!(
        "  gate {}: {} of {} answered",
        shown(&gate.rule),
        count(gate.answered),
        count(gate.asked)
    );
    if gate.missed > 0 {
        let _ = write!(text, ", {} missed", count(gate.missed));
    }
    if gate.unrequested > 0 {
        let _ = write!(text, ", {} not asked for", count(gate.unrequested));
    }
    if gate.wrong_stamps > 0 {
        let _ = write!(text, ", {} with a wrong stamp", count(gate.wrong_stamps));
    }
    if gate.answered > 0 {
        text += ", ";
        text += &distribution(&gate.latency);
    }
    text
}
