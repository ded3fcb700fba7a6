//! The latencies of gates: a dot for each answer, by log time and by the time from question to answer.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::pointer::pointer;
use super::scale::{HEIGHT, TimeScale, ValueScale, WIDTH};
use crate::ci::report::record::{GateRecord, Happened, Moment};
use crate::ci::report::units::{count, digits, distribution, millis, shortened};

/// The most gates that have a plot.
const MOST: usize = 12;

/// A plot for each gate that had answers or questions given up.
pub(super) fn plots(gates: &[GateRecord], moments: &[Moment], scale: TimeScale) -> Markup {
    html! {
        @for gate in gates.iter().take(MOST) {
            @let of = |what| moments.iter().filter(move |moment| moment.what == what && moment.of == gate.rule);
            @let answers: Vec<&Moment> = of(Happened::Answer).collect();
            @let misses: Vec<&Moment> = of(Happened::Miss).collect();
            (plot(gate, &answers, &misses, scale))
        }
        @if gates.len() > MOST {
            p.hint { (gates.len() - MOST) " more gates are not shown." }
        }
    }
}

fn plot(gate: &GateRecord, answers: &[&Moment], misses: &[&Moment], time: TimeScale) -> Markup {
    let name = shortened(&gate.rule, 200);
    let spans = answers.iter().filter_map(|answer| answer.took_ms);
    let latency = gate.latency;
    let values = ValueScale::of_spans(spans.chain([latency.p50, latency.p99, latency.max]));
    let levels_of_gate = [("p99", latency.p99), ("p50", latency.p50)];
    let label = format!("Latencies of {name}: {}", distribution(&latency));
    html! {
        div.gate {
            h4 { code { (name) } }
            p.numbers {
                (figure("answered", &format!("{} of {}", count(gate.answered), count(gate.asked))))
                @if gate.missed > 0 { span.bad { (figure("missed", &count(gate.missed))) } }
                (figure("p50", &millis(latency.p50)))
                (figure("p99", &millis(latency.p99)))
                (figure("max", &millis(latency.max)))
                @if gate.unrequested > 0 { (figure("not asked for", &count(gate.unrequested))) }
                @if gate.wrong_stamps > 0 { span.bad { (figure("wrong stamp", &count(gate.wrong_stamps))) } }
            }
            @if !(answers.is_empty() && misses.is_empty()) {
                div.plot tabindex="0" role="group"
                    aria-label="Latencies over log time. Plus and minus zoom, arrow keys move, 0 shows all." {
                    (time.grid())
                    (levels(values, &levels_of_gate))
                    svg.view.tall data-name="answer" data-unit=" ms" data-low=(values.low())
                        data-high=(values.high()) data-scale=(values.kind())
                        viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none"
                        role="img" aria-label=(label) {
                        path.missed data-name="missed" d=(lines(misses, time)) {}
                        path.dots d=(dots(answers, time, values)) {}
                    }
                    (names(values, &levels_of_gate, " ms"))
                    (pointer())
                }
            }
        }
    }
}

fn figure(name: &str, value: &str) -> Markup {
    html! { span.figure { (name) " " b { (value) } } " " }
}

/// Lines at round values, and at these.
pub(super) fn levels(scale: ValueScale, named: &[(&str, f64)]) -> Markup {
    html! {
        svg.levels aria-hidden="true" {
            @for value in scale.ticks() {
                @let y = scale.percent(value);
                line x1="0" x2="100%" y1=(y) y2=(y) {}
            }
            @for (_, value) in named.iter().filter(|(_, value)| is_shown(*value)) {
                @let y = scale.percent(*value);
                line.named x1="0" x2="100%" y1=(y) y2=(y) {}
            }
        }
    }
}

/// What the lines of [`levels`] stand for, above everything else. The named values are in descending order.
pub(super) fn names(scale: ValueScale, named: &[(&str, f64)], unit: &str) -> Markup {
    html! {
        svg.levels.names aria-hidden="true" {
            @for value in scale.ticks() {
                text x="6" y=(scale.percent(value)) dy=(scale.text_offset(value)) { (tick(value)) (unit) }
            }
            @for (at, (name, value)) in named.iter().enumerate().filter(|(_, (_, value))| is_shown(*value)) {
                // The second is below its line, so that two close values do not cover each other.
                @let dy = if at == 0 { scale.text_offset(*value) } else { 13 };
                text.named x="100%" dx="-6" y=(scale.percent(*value)) dy=(dy) text-anchor="end" {
                    (name) " " (digits(*value)) (unit)
                }
            }
        }
    }
}

fn is_shown(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

/// A round number without needless zeros.
fn tick(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{value:e}");
    }
    // Sums of round steps are off by the last bit.
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn dots(answers: &[&Moment], time: TimeScale, values: ValueScale) -> String {
    let mut path = String::with_capacity(answers.len() * 14);
    for answer in answers {
        if let Some(took) = answer.took_ms.filter(|took| took.is_finite()) {
            let (x, y) = (time.x(answer.log_ns), values.y(took));
            let _ = write!(path, "M{x} {y}h0");
        }
    }
    path
}

fn lines(misses: &[&Moment], time: TimeScale) -> String {
    let mut path = String::with_capacity(misses.len() * 14);
    for miss in misses {
        let _ = write!(path, "M{} 0v{HEIGHT}", time.x(miss.log_ns));
    }
    path
}
