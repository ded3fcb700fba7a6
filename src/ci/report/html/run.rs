//! One run: the verdict, the figures that matter, and the sections that show it.

use maud::{Markup, html};

use super::pointer::zoom;
use super::scale::TimeScale;
use super::{checks, difference, facts, lanes, latency};
use crate::ci::report::overall::{Outcome, Overall, title};
use crate::ci::report::record::RunRecord;
use crate::ci::report::timeline::Timeline;
use crate::ci::report::units::{approximate, count, digits, millis, seconds, shown, total};

/// The most marks in the plots of a run that has the page for itself.
const MARKS: usize = 24_000;
/// The most checks of such a run.
const CHECKS: usize = 1000;

/// The page of one run.
pub(super) fn page(run: &RunRecord) -> Markup {
    let outcome = Outcome::of(run);
    html! {
        header {
            (verdict(&outcome, &html! { (title(run)) }))
            (figures(run))
        }
        main { (sections(run, MARKS, CHECKS)) }
    }
}

/// The verdict in large letters, what it is about, and the sentence.
pub(super) fn verdict(outcome: &Outcome, of: &Markup) -> Markup {
    let mut word = outcome.overall.word().to_owned();
    word[..1].make_ascii_uppercase();
    html! {
        p.about { (of) }
        h1 { span.badge aria-hidden="true" { (sign(outcome.overall)) } (word) }
        p.sentence { (outcome.sentence) }
    }
}

pub(super) const fn sign(overall: Overall) -> &'static str {
    match overall {
        Overall::Passed => "✓",
        Overall::Failed => "✕",
        Overall::Error => "!",
        Overall::Interrupted => "■",
        Overall::Skipped => "–",
    }
}

/// What a run is judged by at a glance.
fn figures(run: &RunRecord) -> Markup {
    let sent = total(run.inputs.iter().map(|input| input.messages));
    let received = total(run.outputs.iter().map(|output| output.messages));
    let log_ns = run
        .played_ns
        .map(|(from, to)| i128::from(to) - i128::from(from));
    let speed = log_ns.map(|log| approximate(log) / 1e6 / run.took_ms);
    let slowest = run.gates.iter().map(|gate| gate.latency.p99);
    let slowest = slowest.reduce(f64::max);
    html! {
        dl.figures {
            @if let Some(log) = log_ns { (figure("Log", &seconds(log), "")) }
            @let times = speed.filter(|speed| speed.is_finite()).map(|speed| format!("× {}", digits(speed)));
            (figure("Took", &millis(run.took_ms), &times.unwrap_or_default()))
            (figure("Sent", &count(sent), ""))
            (figure("Received", &count(received), ""))
            @if let Some(p99) = slowest { (figure("Gates p99", &millis(p99), "")) }
            @if let Some(settling) = run.settling { (figure("Settling p99", &millis(settling.p99), "")) }
            @if let Some(digest) = &run.digest {
                (figure("Digest", &shown(&digest.chars().take(8).collect::<String>()), ""))
            }
        }
    }
}

fn figure(name: &str, value: &str, more: &str) -> Markup {
    html! {
        div { dt { (name) } dd { (value) @if !more.is_empty() { " " small { (more) } } } }
    }
}

/// Everything below the verdict, with at most this many marks in its plots, and checks.
pub(super) fn sections(run: &RunRecord, marks: usize, most_checks: usize) -> Markup {
    let scale = TimeScale::of_run(run);
    html! {
        (checks::section(&run.checks, most_checks))
        @if let Some(divergence) = &run.divergence {
            (difference::section(divergence, run.played_ns.map(|(from, _)| from)))
        }
        (difference::fields(&run.differences))
        @if let Some(scale) = scale.filter(|_| !run.timeline.is_empty() || !run.gates.is_empty()) {
            (plots(run, marks, scale))
        }
        (facts::traffic(run))
        @if let Some(child) = &run.child { (facts::child(child)) }
        (facts::notes(&run.notes))
        (facts::facts(run))
    }
}

fn plots(run: &RunRecord, marks: usize, scale: TimeScale) -> Markup {
    let mut thinned = Timeline::new();
    for moment in &run.timeline {
        thinned.add(moment.clone());
    }
    let moments = thinned.moments(marks);
    html! {
        section.over data-start=(scale.start()) data-span=(scale.seconds()) {
            @if !moments.is_empty() {
                div.head { h3 { "Timeline" } (zoom()) }
                p.hint.script hidden { "Drag over a part to see it larger; a double click shows all." }
                (lanes::timeline(run, &moments, scale))
                @if moments.len() < run.timeline.len() {
                    p.hint { "Of neighbouring marks one is shown; the longest answers are among them." }
                }
            }
            @if !run.gates.is_empty() {
                h3 { "From question to answer" }
                (latency::plots(&run.gates, &moments, scale))
            }
        }
    }
}
