//! Several runs: the verdict on all of them, an overview with a link to each, and the sections of each.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::run::{sections, sign, verdict};
use crate::ci::report::overall::{self, Outcome, Overall, title};
use crate::ci::report::record::RunRecord;
use crate::ci::report::units::{millis, plural, shortened, shown as escaped};

/// The most runs in the overview.
const LISTED: usize = 5000;
/// The most runs with sections of their own; those that did not pass come first.
const SHOWN: usize = 500;
/// The marks in the plots of all runs together.
const MARKS: usize = 120_000;
/// The rows of checks of all runs together.
const CHECKS: usize = 20_000;
/// A run that did not pass may have this many times as many marks as one that passed.
const WEIGHT: usize = 5;

/// The page of a suite.
pub(super) fn page(runs: &[RunRecord], outcome: &Outcome) -> Markup {
    let mut order: Vec<(usize, Outcome)> = runs.iter().map(Outcome::of).enumerate().collect();
    // The worst first; equal ones in their order.
    order.sort_by_cached_key(|(at, _)| std::cmp::Reverse(overall::severity(&runs[*at])));
    let shown = &order[..order.len().min(SHOWN)];
    let bad = shown
        .iter()
        .filter(|(_, outcome)| outcome.overall != Overall::Passed);
    let shares = bad.count() * (WEIGHT - 1) + shown.len();
    let share = MARKS / shares.max(1);
    let rows = (CHECKS / shown.len().max(1)).clamp(20, 1000);
    html! {
        header {
            (verdict(outcome, &html! { (plural(runs.len(), "run")) }))
            (tally(&order))
        }
        main {
            (overview(runs, &order, shown))
            @for (at, outcome) in shown {
                @let weight = if outcome.overall == Overall::Passed { 1 } else { WEIGHT };
                (details(&runs[*at], *at, outcome, (share * weight, rows), shown.len() == 1))
            }
            @if order.len() > SHOWN {
                p.hint { (plural(order.len() - SHOWN, "run")) " more: see the JSON report." }
            }
        }
    }
}

/// How many runs have which verdict.
fn tally(order: &[(usize, Outcome)]) -> Markup {
    let verdicts = [
        Overall::Failed,
        Overall::Error,
        Overall::Interrupted,
        Overall::Skipped,
        Overall::Passed,
    ];
    html! {
        dl.figures {
            @for verdict in verdicts {
                @let number = order.iter().filter(|(_, outcome)| outcome.overall == verdict).count();
                @if number > 0 {
                    div.(verdict.word()) { dt { (verdict.word()) } dd { (number) } }
                }
            }
        }
    }
}

fn overview(runs: &[RunRecord], order: &[(usize, Outcome)], shown: &[(usize, Outcome)]) -> Markup {
    let shown: BTreeSet<usize> = shown.iter().map(|(at, _)| *at).collect();
    // Without a section there is nothing that a link could lead to.
    let link = |at: usize| shown.contains(&at).then(|| format!("#run-{at}"));
    html! {
        section.overview {
            div.head {
                h2 { "Runs" }
                label.filter hidden { "Filter " input type="search" autocomplete="off"; }
            }
            nav.strip aria-label="All runs in their order" {
                @for (at, run) in runs.iter().enumerate().take(LISTED) {
                    @let overall = overall::verdict(run);
                    a.(overall.word()) href=[link(at)] title={ (title(run)) ": " (overall.word()) }
                        aria-label={ (title(run)) ": " (overall.word()) } {}
                }
            }
            table.runs {
                thead {
                    tr {
                        th scope="col" { "Verdict" } th scope="col" { "Run" } th scope="col" { "What" }
                        th.n scope="col" { "Took" } th scope="col" { "Digest" }
                    }
                }
                tbody {
                    @for (at, outcome) in order.iter().take(LISTED) {
                        @let run = &runs[*at];
                        @let overall = outcome.overall;
                        tr {
                            td { span.sign.(overall.word()) { span aria-hidden="true" { (sign(overall)) } " " (overall.word()) } }
                            th scope="row" { a href=[link(*at)] { (title(run)) } }
                            td { (shortened(&outcome.sentence, 300)) }
                            td.n { (millis(run.took_ms)) }
                            td { @if let Some(digest) = &run.digest { code { (escaped(&digest.chars().take(8).collect::<String>())) } } }
                        }
                    }
                }
            }
            @if runs.len() > LISTED { p.hint { (plural(runs.len() - LISTED, "run")) " more." } }
        }
    }
}

/// A run, folded. A link to what is inside opens it.
fn details(
    run: &RunRecord,
    at: usize,
    outcome: &Outcome,
    (marks, rows): (usize, usize),
    is_open: bool,
) -> Markup {
    html! {
        details.run open[is_open] {
            summary {
                span.sign.(outcome.overall.word()) { span aria-hidden="true" { (sign(outcome.overall)) } " " (outcome.overall.word()) }
                " " b { (title(run)) }
            }
            article id={ "run-" (at) } aria-label=(title(run)) {
                p.sentence { (outcome.sentence) }
                (sections(run, marks, rows))
            }
        }
    }
}
