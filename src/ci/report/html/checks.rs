//! What was checked, as a table; the checks that hold are folded if there are many.

use maud::{Markup, html};

use crate::ci::report::check::{Check, Verdict};
use crate::ci::report::units::{plural, shortened, shown as escaped};

/// How many checks that hold are shown unfolded.
const UNFOLDED: usize = 12;
/// The longest reason, in characters.
const REASON: usize = 2000;

/// The section, with at most so many checks that hold, and as many others.
pub(super) fn section(checks: &[Check], most: usize) -> Markup {
    let holds = |check: &&Check| check.verdict == Verdict::Passed;
    let is_folded = checks.iter().filter(holds).count() > UNFOLDED;
    let (folded, mut shown): (Vec<&Check>, Vec<&Check>) = checks
        .iter()
        .partition(|check| is_folded && check.verdict == Verdict::Passed);
    // The worst first; those of one verdict in their order.
    shown.sort_by_key(|check| std::cmp::Reverse(check.verdict));
    html! {
        section {
            h3 { "Checks" }
            @if checks.is_empty() { p.hint { "Nothing was checked." } }
            @if !shown.is_empty() { (table(&shown, most)) }
            @if !folded.is_empty() {
                details {
                    summary { (plural(folded.len(), "check")) " passed" }
                    (table(&folded, most))
                }
            }
        }
    }
}

fn table(checks: &[&Check], most: usize) -> Markup {
    html! {
        table.checks {
            thead { tr { th scope="col" { "Verdict" } th scope="col" { "Check" } th scope="col" { "Reason" } } }
            tbody {
                @for check in checks.iter().take(most) {
                    tr {
                        td { (sign(check.verdict)) }
                        th scope="row" { (escaped(&check.name)) span.kind { (check.kind.word()) } }
                        td { (shortened(&check.reason, REASON)) }
                    }
                }
            }
        }
        @if checks.len() > most {
            p.hint { (plural(checks.len() - most, "check")) " more: see the JSON report." }
        }
    }
}

fn sign(verdict: Verdict) -> Markup {
    let (class, sign, word) = match verdict {
        Verdict::Passed => ("passed", "✓", "passed"),
        Verdict::Skipped => ("skipped", "–", "skipped"),
        Verdict::Failed => ("failed", "✕", "failed"),
        Verdict::Error => ("error", "!", "error"),
    };
    html! { span.sign.(class) { span aria-hidden="true" { (sign) } " " (word) } }
}
