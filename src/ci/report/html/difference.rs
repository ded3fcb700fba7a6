//! Where the outputs first differ: both values, and the field around the place in both runs.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::latency::{levels, names};
use super::pointer::{pointer, zoom};
use super::scale::{HEIGHT, TimeScale, ValueScale, WIDTH};
use crate::ci::report::record::{Divergence, FieldDifference};
use crate::ci::report::units::{count, log_time, shortened, shown};

/// The most points of a line.
const POINTS: usize = 2000;
/// The longest value that is shown, in characters.
const VALUE: usize = 600;

/// The most fields that are listed.
const FIELDS: usize = 100;

/// How often which field differs.
pub(super) fn fields(differences: &[FieldDifference]) -> Markup {
    html! {
        @if !differences.is_empty() {
            section {
                h3 { "Fields that differ" }
                div.wide tabindex="0" role="region" aria-label="Fields that differ" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "Topic" } th scope="col" { "Field" }
                                th.n scope="col" { "Messages" } th.n scope="col" { "Largest difference" }
                            }
                        }
                        tbody {
                            @for difference in differences.iter().take(FIELDS) {
                                tr {
                                    th scope="row" { (shortened(&difference.topic, 300)) }
                                    td { @if difference.field.is_empty() { "missing or too many" } @else { code { (shortened(&difference.field, 300)) } } }
                                    td.n { (count(difference.messages)) }
                                    td.n { @if let Some(largest) = difference.largest { (largest) } }
                                }
                            }
                        }
                    }
                }
                @if differences.len() > FIELDS {
                    p.hint { (differences.len() - FIELDS) " more: see the JSON report." }
                }
            }
        }
    }
}

/// The section. Times are shown from `origin_ns` on, if there is one.
pub(super) fn section(divergence: &Divergence, origin_ns: Option<i64>) -> Markup {
    let (reference, own) = &divergence.values;
    let [first, second] = divergence.sides();
    let common = common_start(reference, own);
    let time = |at: Option<i64>| match at {
        None => "no message".to_owned(),
        Some(at) => format!("at {}", log_time(at, origin_ns)),
    };
    html! {
        section.difference {
            h3 { "First difference" }
            p {
                "Message " b { (divergence.index) } " of " code { (shown(&divergence.topic)) }
                @if !divergence.field.is_empty() { ", field " code { (shown(&divergence.field)) } }
                @if !divergence.between.is_empty() { ", between " (shown(&divergence.between)) }
                "."
            }
            div.pair {
                (value(&first, "reference", reference, common, &time(divergence.times_ns.0)))
                (value(&second, "own", own, common, &time(divergence.times_ns.1)))
            }
            (plot(divergence, origin_ns))
            @if let Some((topic, at)) = &divergence.input {
                p { "The last input before it: " code { (shown(topic)) } " " (time(Some(*at))) "." }
            }
            @if !divergence.racing.is_empty() {
                p { "What may have happened in a different order:" }
                ul {
                    @for sentence in divergence.racing.iter().take(20) {
                        li { (shown(sentence)) }
                    }
                }
            }
        }
    }
}

fn value(title: &str, class: &str, text: &str, common: usize, time: &str) -> Markup {
    let (same, other) = text.split_at(common);
    html! {
        div class=(class) {
            div.label { (title) }
            div.value {
                @if text.is_empty() { span.none { "nothing" } }
                // What is the same is shown in full only if the difference still has room.
                @if same.len() > VALUE / 2 { "…" } @else { (shown(same)) }
                mark { (shortened(other, VALUE)) }
            }
            div.label { (time) }
        }
    }
}

/// How many bytes of both texts are the same at their start, in whole characters.
fn common_start(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    let same = pairs.take_while(|(one, other)| one == other);
    same.map(|(c, _)| c.len_utf8()).sum()
}

fn plot(divergence: &Divergence, origin_ns: Option<i64>) -> Markup {
    let (reference, own) = &divergence.series;
    let [first, second] = divergence.sides();
    let points = || reference.iter().chain(own);
    let place = divergence.times_ns.1.or(divergence.times_ns.0);
    let Some(time) = TimeScale::over(points().map(|(at, _)| *at).chain(place)) else {
        return html! {};
    };
    if !points().any(|(_, value)| value.is_finite()) {
        return html! {};
    }
    let time = origin_ns.map_or(time, |origin| time.with_origin(origin));
    let values = ValueScale::around(points().map(|(_, value)| *value));
    let field = shown(&divergence.field);
    html! {
        div.over data-start=(time.start()) data-span=(time.seconds()) {
            div.head {
                p.legend { span.reference { (first) } " " span.own { (second) } }
                (zoom())
            }
            div.plot tabindex="0" role="group"
                aria-label="The field in both runs over log time. Plus and minus zoom, arrow keys move, 0 shows all." {
                (time.grid())
                (levels(values, &[]))
                svg.view.tall data-unit="" data-low=(values.low()) data-high=(values.high()) data-scale=(values.kind())
                    viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none"
                    role="img" aria-label={ "The values of " (field) ": " (first) " and " (second) } {
                    @if let Some(at) = place {
                        path.place d={ "M" (time.x(at)) " 0v" (HEIGHT) } {}
                    }
                    path.reference data-name=(first) d=(line(reference, time, values)) {}
                    path.own data-name=(second) d=(line(own, time, values)) {}
                }
                (names(values, &[], ""))
                (pointer())
            }
        }
    }
}

/// A line through the values, broken where one is not finite. Of a long series every second, third … point.
fn line(series: &[(i64, f64)], time: TimeScale, values: ValueScale) -> String {
    let mut path = String::new();
    let mut is_broken = true;
    for (at, value) in series.iter().step_by(series.len().div_ceil(POINTS).max(1)) {
        if value.is_finite() {
            let command = if is_broken { 'M' } else { 'L' };
            let _ = write!(path, "{command}{} {}", time.x(*at), values.y(*value));
        }
        is_broken = !value.is_finite();
    }
    path
}
