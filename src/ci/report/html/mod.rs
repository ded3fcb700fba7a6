//! One page that shows a run, or a suite of runs: a single file that needs no network and is read without scripts, too.
//!
//! What comes from outside is escaped twice: control characters as everywhere, and what HTML interprets by the
//! template. Beyond that, the page's policy lets a browser run and load nothing but what this module wrote. The page is
//! of bounded size: timelines and lists are thinned out to a share of a fixed budget.

mod checks;
mod difference;
mod facts;
mod lanes;
mod latency;
mod pointer;
mod run;
mod scale;
mod suite;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use xxhash_rust::xxh3::Xxh3;

use super::overall::{Outcome, title};
use super::record::Reported;
use super::units::shown;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page. Runs beyond 5,000 are only counted.
pub fn to_html<'a>(reported: impl Into<Reported<'a>>) -> String {
    let reported = reported.into();
    let Reported {
        runs, suite: of, ..
    } = reported;
    let outcome = Outcome::of_all(reported);
    let (name, body) = match runs {
        [run] => (title(run), run::page(run)),
        runs => (
            super::units::plural(runs.len(), "run"),
            suite::page(runs, &outcome),
        ),
    };
    let nonce = nonce(&body);
    let policy = format!(
        "default-src 'none'; img-src data:; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; \
         base-uri 'none'; form-action 'none'"
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (outcome.overall.word()) ": " (name) }
                style nonce=(nonce) { (PreEscaped(STYLE)) }
            }
            body class=(outcome.overall.word()) {
                (body)
                @if let Some(digest) = of {
                    footer { p.hint { "Digest of the case list: " code { (shown(digest)) } } }
                }
                script nonce=(nonce) { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// What marks the style and the script of this page as its own: the content cannot contain it, as it is a digest of
/// that.
fn nonce(content: &Markup) -> String {
    let mut digest = Xxh3::new();
    digest.update(content.0.as_bytes());
    format!("{:032x}", digest.digest128())
}
