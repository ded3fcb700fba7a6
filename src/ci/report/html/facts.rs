//! What went in and out by topic, the end of what the program under test wrote, and the facts of the run.

use maud::{Markup, html};

use crate::ci::report::overall::repetitions;
use crate::ci::report::record::{ChildRecord, OutputTopic, RunRecord};
use crate::ci::report::units::{
    bytes, count, distribution, millis, plural, shortened, shown, timestamp,
};

/// The most topics, files, notes or lines that are shown of each.
const MOST: usize = 100;

/// The topics in both directions.
pub(super) fn traffic(run: &RunRecord) -> Markup {
    html! {
        @if !(run.inputs.is_empty() && run.outputs.is_empty()) {
            section {
                h3 { "Topics" }
                div.wide tabindex="0" role="region" aria-label="Topics" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "Topic" } th scope="col" { "Type" }
                                th.n scope="col" { "Messages" } th.n scope="col" { "Size" }
                                th.n scope="col" { "Lost" } th scope="col" { "To or from" }
                            }
                        }
                        tbody {
                            @for input in run.inputs.iter().take(MOST) {
                                @let nodes = shortened(&input.subscribers.join(", "), 200);
                                @let to = if nodes.is_empty() { "nobody".to_owned() } else { nodes };
                                (topic(&input.topic, &input.type_name, [input.messages, input.bytes, input.lost], &format!("→ {to}")))
                            }
                            @for one in run.unsent.iter().take(MOST) {
                                (topic(&one.topic, "", [0, 0, one.messages.unwrap_or(0)], "→ not sent"))
                            }
                            @for output in run.outputs.iter().take(MOST) {
                                (topic(&output.topic, &output.type_name, [output.messages, output.bytes, output.lost], &from(output)))
                            }
                            @for one in run.unreceived.iter().take(MOST) {
                                (topic(&one.topic, "", [0; 3], &format!("← {}, not received", shortened(&one.node, 200))))
                            }
                        }
                    }
                }
                (more(run.inputs.len().max(run.outputs.len())))
            }
        }
    }
}

fn from(output: &OutputTopic) -> String {
    match output.unrecorded {
        0 => "← system under test".to_owned(),
        number => format!("← system under test, {} not recorded", count(number)),
    }
}

fn topic(name: &str, type_name: &str, [messages, size, lost]: [u64; 3], with: &str) -> Markup {
    html! {
        tr {
            th scope="row" { (shortened(name, 300)) }
            td { (shortened(type_name, 300)) }
            td.n { (count(messages)) }
            td.n { (bytes(size)) }
            td.n class=[(lost > 0).then_some("bad")] { (count(lost)) }
            td { (with) }
        }
    }
}

/// How the program under test ended, and its last lines.
pub(super) fn child(child: &ChildRecord) -> Markup {
    html! {
        section {
            h3 { "Program under test" }
            p { code { (shortened(&child.command.join(" "), 1000)) } }
            @if !child.ended.is_empty() { p { "Ended: " (shown(&child.ended)) } }
            @if !child.orphans.is_empty() {
                p { "It left processes behind that were ended: " (shortened(&child.orphans.join(", "), 1000)) }
            }
            @if !child.tail.is_empty() {
                pre tabindex="0" aria-label="The last lines that it wrote" {
                    @for line in child.tail.iter().rev().take(MOST).rev() { (shortened(line, 1000)) "\n" }
                }
            }
        }
    }
}

/// The notes, one sentence each.
pub(super) fn notes(notes: &[String]) -> Markup {
    html! {
        @if !notes.is_empty() {
            section {
                h3 { "Notes" }
                ul { @for note in notes.iter().take(MOST) { li { (shown(note)) } } }
                (more(notes.len()))
            }
        }
    }
}

/// Everything else that is known.
pub(super) fn facts(run: &RunRecord) -> Markup {
    let digest = run.digest.as_deref();
    html! {
        section {
            h3 { "Run" }
            dl.facts {
                @if let Some(digest) = digest { (fact("Digest of the outputs", &html! { code { (shown(digest)) } })) }
                (fact("Began", &html! { (timestamp(run.began_unix_ns)) }))
                @if let Some((from, to)) = run.played_ns {
                    (fact("Played", &html! { (timestamp(from)) " – " (timestamp(to)) }))
                }
                (fact("Paced by", &html! { (run.pacing.word()) }))
                @if let Some(lateness) = &run.lateness {
                    (fact("Lateness", &html! { (count(lateness.count)) " messages, " (distribution(lateness)) }))
                }
                @if let Some(settling) = &run.settling {
                    (fact("Settling", &html! { (count(settling.count)) " times, " (distribution(settling)) }))
                }
                @if let Some(system) = &run.system {
                    (fact("System", &html! { (shown(&system.sentence())) }))
                }
                @if let Some(repeated) = &run.repeated {
                    (fact("Repetitions", &html! {
                        (repetitions(repeated))
                        @for (digest, runs) in repeated.digests.iter().take(MOST) {
                            br; code { (shown(digest)) } ": " (plural(usize::try_from(*runs).unwrap_or(usize::MAX), "run"))
                        }
                    }))
                }
                (fact("Took", &html! { (millis(run.took_ms)) }))
                @for file in run.recordings.iter().take(MOST) {
                    (fact("Recording", &html! {
                        (shortened(&file.name, 500)) ", " (bytes(file.bytes))
                        @if let Some(digest) = &file.xxh3_128 { br; code { (shown(digest)) } }
                    }))
                }
                @for read in run.read_files.iter().take(MOST) {
                    (fact(&shortened(&read.what, 100), &html! {
                        (shortened(&read.file.name, 500)) ", " (bytes(read.file.bytes))
                        @if let Some(digest) = &read.file.xxh3_128 { br; code { (shown(digest)) } }
                    }))
                }
                (fact("Command", &html! { code { (shortened(&run.command_line.join(" "), 2000)) } }))
                (fact("Machine", &html! {
                    (shortened(&run.host.name, 200)) ", " (shortened(&run.host.system, 200)) ", "
                    (run.host.processors) " processors"
                }))
                (fact("Version", &html! { (shortened(&run.version, 100)) }))
                @for (what, name) in run.files.iter().take(MOST) {
                    (fact(&shortened(what, 100), &html! { (shortened(name, 500)) }))
                }
            }
        }
    }
}

fn fact(name: &str, value: &Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn more(number: usize) -> Markup {
    html! {
        @if number > MOST { p.hint { (number - MOST) " more: see the JSON report." } }
    }
}
