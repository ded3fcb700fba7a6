//! A summary in Markdown for a pull request or the page of a job: verdict, runs, checks, the first difference.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use super::check::{Check, Verdict};
use super::overall::{Outcome, Overall, repetitions, severity, title, verdict};
use super::record::{Divergence, Reported, RunRecord};
use super::units::{count, distribution, log_time, millis, plural, seconds, shortened, total};
use crate::untrusted::Foreign;

/// The longest summary that GitHub takes for a step, in bytes.
const LONGEST: usize = 1 << 20;
/// What is said instead of what does not fit.
const SHORTENED: &str = "\n\nShortened: the rest is in the other reports.\n";
/// The longest reason, in characters.
const REASON: usize = 500;

/// The summary, of at most this many bytes. The verdict is in the first line.
pub fn to_markdown<'a>(reported: impl Into<Reported<'a>>, most: usize) -> String {
    let reported = reported.into();
    let Reported {
        runs, suite: of, ..
    } = reported;
    let mut text = Bounded {
        text: String::new(),
        room: most.saturating_sub(SHORTENED.len()),
        is_full: false,
    };
    let outcome = Outcome::of_all(reported);
    let mut word = outcome.overall.word().to_owned();
    word[..1].make_ascii_uppercase();
    let name = match runs {
        [run] => format!(" {}:", code(&title(run))),
        _ => String::new(),
    };
    text.push(&format!(
        "## {} {word}:{name} {}\n",
        sign(outcome.overall),
        plain(&outcome.sentence, REASON)
    ));
    if let Some(digest) = of {
        text.push(&format!("\nDigest of the case list: {}\n", code(digest)));
    }
    match runs {
        [run] => run_in_full(&mut text, run),
        runs => suite(&mut text, runs),
    }
    text.finish(most)
}

/// Appends the summary to a file, such as that of `$GITHUB_STEP_SUMMARY`; at most 1 MiB with what it has already. An
/// error names the file.
pub fn append_markdown<'a>(path: &Path, reported: impl Into<Reported<'a>>) -> io::Result<()> {
    let reported = reported.into();
    let append = || {
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        let text = to_markdown(reported, LONGEST.saturating_sub(length));
        file.write_all(text.as_bytes())
    };
    append().map_err(|error: io::Error| {
        io::Error::new(error.kind(), format!("{}: {error}", Foreign::path(path)))
    })
}

/// Text that takes no more blocks once one did not fit.
struct Bounded {
    text: String,
    room: usize,
    is_full: bool,
}

impl Bounded {
    fn push(&mut self, block: &str) {
        self.is_full = self.is_full || self.text.len() + block.len() > self.room;
        if !self.is_full {
            self.text.push_str(block);
        }
    }

    /// A block that is folded, if it fits as a whole.
    fn folded(&mut self, summary: &str, content: &str) {
        let block = format!("\n<details><summary>{summary}</summary>\n\n{content}\n</details>\n");
        self.push(&block);
    }

    fn finish(mut self, most: usize) -> String {
        if self.is_full {
            self.text.push_str(SHORTENED);
        }
        // Only what is said at the end is longer than the limit can be, and that is ASCII.
        self.text.truncate(most);
        self.text
    }
}

fn run_in_full(text: &mut Bounded, run: &RunRecord) {
    text.push(&checks(run));
    if let Some(divergence) = &run.divergence {
        text.push(&difference(divergence, run));
    }
    fields(text, run);
    details(text, run);
}

/// How often which field differs.
fn fields(text: &mut Bounded, run: &RunRecord) {
    if run.differences.is_empty() {
        return;
    }
    let mut content =
        "| topic | field | messages | largest difference |\n|---|---|---|---|\n".to_owned();
    for difference in &run.differences {
        let _ = writeln!(
            content,
            "| {} | {} | {} | {} |",
            code(&difference.topic),
            code(&difference.field),
            count(difference.messages),
            difference
                .largest
                .map_or_else(String::new, |largest| largest.to_string()),
        );
    }
    let number = plural(run.differences.len(), "field");
    text.folded(&format!("{number} differ"), &content);
}

fn suite(text: &mut Bounded, runs: &[RunRecord]) {
    let mut order: Vec<&RunRecord> = runs.iter().collect();
    // The worst first; equal ones in their order.
    order.sort_by_cached_key(|run| std::cmp::Reverse(severity(run)));
    let (bad, passed): (Vec<&RunRecord>, Vec<&RunRecord>) = order
        .into_iter()
        .partition(|run| verdict(run) != Overall::Passed);
    if !bad.is_empty() {
        text.push(&table(&bad));
    }
    for run in &bad {
        let mut content = checks(run);
        if let Some(divergence) = &run.divergence {
            content += &difference(divergence, run);
        }
        text.folded(&format!("{} in detail", html(&title(run))), &content);
    }
    if !passed.is_empty() {
        text.folded(
            &format!("{} passed", plural(passed.len(), "run")),
            &table(&passed),
        );
    }
}

fn table(runs: &[&RunRecord]) -> String {
    let mut text = "\n| | run | what | took | digest |\n|---|---|---|---|---|\n".to_owned();
    for run in runs {
        let outcome = Outcome::of(run);
        let digest = run.digest.as_deref().map_or_else(String::new, |digest| {
            code(&digest.chars().take(12).collect::<String>())
        });
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {digest} |",
            sign(outcome.overall),
            code(&title(run)),
            plain(&outcome.sentence, REASON),
            millis(run.took_ms),
        );
    }
    text
}

fn checks(run: &RunRecord) -> String {
    let (passed, other): (Vec<&Check>, Vec<&Check>) = run
        .checks
        .iter()
        .partition(|check| check.verdict == Verdict::Passed);
    let mut text = String::new();
    if !other.is_empty() {
        text += "\n| | check | reason |\n|---|---|---|\n";
    }
    for check in other {
        text += &row(check);
    }
    if !passed.is_empty() {
        let number = plural(passed.len(), "check");
        let _ = write!(
            text,
            "\n<details><summary>{number} passed</summary>\n\n| | check | reason |\n|---|---|---|\n"
        );
        for check in passed {
            text += &row(check);
        }
        text += "\n</details>\n";
    }
    text
}

fn row(check: &Check) -> String {
    let sign = match check.verdict {
        Verdict::Passed => "✅",
        Verdict::Skipped => "⏭️ skipped",
        Verdict::Failed => "❌",
        Verdict::Error => "⚠️ error",
    };
    let reason = plain(&check.reason, REASON);
    format!("| {sign} | {} | {reason} |\n", code(&check.name))
}

fn difference(divergence: &Divergence, run: &RunRecord) -> String {
    let mut text = format!(
        "\n**First difference** ({}): {} message {}",
        plain(&divergence.between, REASON),
        code(&divergence.topic),
        divergence.index,
    );
    if !divergence.field.is_empty() {
        let _ = write!(text, ", {}", code(&divergence.field));
    }
    let start = run.played_ns.map(|(from, _)| from);
    let [first, second] = divergence.sides();
    let time =
        |time: Option<i64>| time.map_or_else(|| "missing".to_owned(), |at| log_time(at, start));
    let _ = write!(
        text,
        "\n\n| | value | log time |\n|---|---|---|\n| {first} | {} | {} |\n| {second} | {} | {} |\n",
        code(&divergence.values.0),
        time(divergence.times_ns.0),
        code(&divergence.values.1),
        time(divergence.times_ns.1),
    );
    if let Some((topic, at)) = &divergence.input {
        let (topic, at) = (code(topic), log_time(*at, start));
        let _ = write!(text, "\nThe last input before it: {topic} at {at}.\n");
    }
    for racing in &divergence.racing {
        let _ = write!(text, "\n- {}", plain(racing, REASON));
    }
    text + "\n"
}

fn details(text: &mut Bounded, run: &RunRecord) {
    let mut content = String::from("| | |\n|---|---|\n");
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(content, "| {name} | {value} |");
    };
    fact("took", millis(run.took_ms));
    if let Some((from, to)) = run.played_ns {
        fact("log", seconds(i128::from(to) - i128::from(from)));
    }
    let sent = total(run.inputs.iter().map(|input| input.messages));
    let received = total(run.outputs.iter().map(|output| output.messages));
    fact(
        "messages",
        format!("{} sent, {} received", count(sent), count(received)),
    );
    for input in run.inputs.iter().filter(|input| input.lost > 0) {
        let topic = format!("lost on {}", code(&input.topic));
        fact(&topic, format!("at least {}", count(input.lost)));
    }
    for one in &run.unsent {
        let topic = format!("not sent: {}", code(&one.topic));
        let messages = one
            .messages
            .map_or_else(String::new, |it| format!("{}, ", count(it)));
        fact(&topic, format!("{messages}{}", plain(&one.why, REASON)));
    }
    for output in run.outputs.iter().filter(|output| output.lost > 0) {
        fact(
            &format!("lost on {}", code(&output.topic)),
            count(output.lost),
        );
    }
    for one in &run.unreceived {
        fact(
            &format!("not received: {}", code(&one.topic)),
            plain(&one.why, REASON),
        );
    }
    fact("paced by", run.pacing.word().to_owned());
    if let Some(lateness) = &run.lateness {
        fact("lateness", distribution(lateness));
    }
    for gate in &run.gates {
        let latency = distribution(&gate.latency);
        let (answered, asked) = (count(gate.answered), count(gate.asked));
        let said = [
            (gate.unrequested, "not asked for"),
            (gate.wrong_stamps, "with a wrong stamp"),
        ];
        let said = said.into_iter().filter(|(number, _)| *number > 0);
        let said = said.map(|(number, what)| format!(", {} {what}", count(number)));
        let extra: Vec<String> = said.collect();
        let extra = extra.concat();
        fact(
            &format!("gate {}", code(&gate.rule)),
            format!("{answered} of {asked} answered{extra}, {latency}"),
        );
    }
    if let Some(digest) = &run.digest {
        fact("digest", code(digest));
    }
    for file in &run.recordings {
        fact("recording", code(&file.name));
    }
    if let Some(repeated) = &run.repeated {
        fact("repetitions", repetitions(repeated));
    }
    fact("version", plain(&run.version, REASON));
    for note in &run.notes {
        fact("note", plain(note, REASON));
    }
    text.folded("The run", &content);
    if let Some(child) = run.child.as_ref().filter(|child| !child.tail.is_empty()) {
        let lines: Vec<String> = child.tail.iter().map(|line| html(line)).collect();
        let summary = format!("The program under test: {}", html(&child.ended));
        text.folded(&summary, &format!("<pre>{}</pre>\n", lines.join("\n")));
    }
}

const fn sign(overall: Overall) -> &'static str {
    match overall {
        Overall::Passed => "✅",
        Overall::Failed => "❌",
        Overall::Error => "⚠️",
        Overall::Interrupted => "⏹️",
        Overall::Skipped => "⏭️",
    }
}

/// A text without anything that Markdown or HTML would interpret, on one line.
fn plain(text: &str, characters: usize) -> String {
    let mut escaped = String::new();
    for c in shortened(text, characters).chars() {
        match c {
            '&' | '<' | '>' => escaped.push_str(&html(c.encode_utf8(&mut [0; 4]))),
            // Otherwise a name after it would be notified, and a number linked.
            '@' | '#' => escaped.extend([c, '\u{2060}']),
            c if c.is_ascii_punctuation()
                && !matches!(
                    c,
                    ',' | '.' | ':' | '/' | ';' | '\'' | '"' | '%' | '=' | '?'
                ) =>
            {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// A name in the type of code; HTML, because a pipe in Markdown's code ends a cell of a table.
fn code(text: &str) -> String {
    let text = html(text);
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '|' | '`' | '*' | '_' | '[' | ']' | '~' | '\\' | '@' | ':' | '$' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    format!("<code>{escaped}</code>")
}

fn html(text: &str) -> String {
    let text = shortened(text, REASON);
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
