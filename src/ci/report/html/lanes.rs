//! The timeline: a lane for each topic and each gate, with a mark for each message or answer, over log time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, html};

use super::pointer::pointer;
use super::scale::{TimeScale, WIDTH};
use crate::ci::report::record::{Happened, Moment, RunRecord};
use crate::ci::report::units::{count, shortened, shown, total};

/// The most lanes that are shown of each group.
const MOST: usize = 30;

/// What is shown in one lane.
struct Lane<'a> {
    name: &'a str,
    /// Messages of a topic, or answers of a gate.
    marks: Vec<&'a Moment>,
    /// Questions that were given up.
    missed: Vec<&'a Moment>,
}

/// The timeline of these moments, which are those of the run, thinned out.
pub(super) fn timeline(run: &RunRecord, moments: &[Moment], scale: TimeScale) -> Markup {
    let groups = [
        ("Sent", "sent", lanes(moments, &[Happened::Input])),
        (
            "Gates",
            "answered",
            lanes(moments, &[Happened::Answer, Happened::Miss]),
        ),
        ("Received", "received", lanes(moments, &[Happened::Output])),
    ];
    html! {
        div.plot.lanes tabindex="0" role="group"
            aria-label="Timeline over log time. Plus and minus zoom, arrow keys move, 0 shows all." {
            @for (title, class, lanes) in &groups {
                @if !lanes.is_empty() {
                    div.group aria-hidden="true" { (title) }
                }
                @for lane in lanes.iter().take(MOST) {
                    (row(title, class, lane, numbers(run, class, lane), scale))
                }
                @if lanes.len() > MOST {
                    div.more { (lanes.len() - MOST) " more are not shown" }
                }
            }
            (scale.grid())
            (pointer())
        }
    }
}

fn lanes<'a>(moments: &'a [Moment], what: &[Happened]) -> Vec<Lane<'a>> {
    let mut lanes: BTreeMap<&str, Lane<'a>> = BTreeMap::new();
    for moment in moments.iter().filter(|moment| what.contains(&moment.what)) {
        let name = moment.of.as_str();
        let lane = lanes.entry(name).or_insert(Lane {
            name,
            marks: Vec::new(),
            missed: Vec::new(),
        });
        match moment.what {
            Happened::Miss => lane.missed.push(moment),
            _ => lane.marks.push(moment),
        }
    }
    lanes.into_values().collect()
}

/// How many messages or answers, and how many questions given up, there were in the run: more than there are marks if
/// it was thinned out.
fn numbers(run: &RunRecord, class: &str, lane: &Lane<'_>) -> (u64, u64) {
    let length = |marks: &Vec<&Moment>| u64::try_from(marks.len()).unwrap_or(u64::MAX);
    let (mut marks, mut missed) = (length(&lane.marks), length(&lane.missed));
    let mut take = |number: u64| marks = marks.max(number);
    match class {
        "sent" => {
            let inputs = run.inputs.iter().filter(|input| input.topic == lane.name);
            take(total(inputs.map(|input| input.messages)));
        }
        "received" => {
            let outputs = run
                .outputs
                .iter()
                .filter(|output| output.topic == lane.name);
            take(total(outputs.map(|output| output.messages)));
        }
        _ => {
            let gates = || run.gates.iter().filter(|gate| gate.rule == lane.name);
            take(total(gates().map(|gate| gate.answered)));
            missed = missed.max(total(gates().map(|gate| gate.missed)));
        }
    }
    (marks, missed)
}

fn row(
    title: &str,
    class: &str,
    lane: &Lane<'_>,
    (number, missed): (u64, u64),
    scale: TimeScale,
) -> Markup {
    let name = shortened(lane.name, 200);
    let label = match missed {
        0 => format!("{title}: {name}: {}", count(number)),
        missed => format!(
            "{title}: {name}: {}, {} missed",
            count(number),
            count(missed)
        ),
    };
    html! {
        div.row {
            div.who {
                span.name title=(shown(lane.name)) { (name) }
                span.number {
                    @if missed > 0 { span.bad { (count(missed)) " missed" } " " }
                    (count(number))
                }
            }
            svg.view data-name=(name) viewBox={ "0 0 " (WIDTH) " 20" } preserveAspectRatio="none"
                role="img" aria-label=(label) {
                path class=(class) d=(ticks(&lane.marks, scale, "3v14")) {}
                @if !lane.missed.is_empty() {
                    path.missed data-name="missed" d=(ticks(&lane.missed, scale, "0v20")) {}
                }
            }
        }
    }
}

/// A vertical line at each moment; one for several at the same place.
fn ticks(moments: &[&Moment], scale: TimeScale, line: &str) -> String {
    let mut places: Vec<u32> = moments
        .iter()
        .map(|moment| scale.x(moment.log_ns))
        .collect();
    places.sort_unstable();
    places.dedup();
    let mut path = String::with_capacity(places.len() * 12);
    for x in places {
        let _ = write!(path, "M{x} {line}");
    }
    path
}
