//! What is said about a run: the record of everything that happened, and the reports that are made from it.
//!
//! While a run goes on, a [`Timeline`] collects what happens. [`Outcome`] is the verdict in one sentence with its exit
//! code. [`to_text`] is for a terminal, [`to_junit`] for CI servers, [`to_markdown`] for a pull request, [`to_html`]
//! for people who examine a run: each takes one run or several. [`to_json`] is for programs, one record to a file, and
//! [`to_line`] one to a line.

mod check;
mod html;
mod json;
mod junit;
mod losses;
mod markdown;
mod overall;
mod record;
mod text;
mod timeline;
mod units;

pub use check::{Check, Kind, Verdict};
pub use html::to_html;
pub(in crate::ci) use json::{LONGEST, LineRead, bounded_line};
pub use json::{RecordsError, SCHEMA, read_lines, read_run, read_runs, to_json, to_line};
pub use junit::to_junit;
pub use markdown::{append_markdown, to_markdown};
pub use overall::{Outcome, Overall, culprit, verdict};
pub use record::{
    ChildRecord, Divergence, Ended, Exit, ExitClass, FieldDifference, GateRecord, Happened, Host,
    Input, Moment, OutputPublisher, OutputTopic, Pacing, ReadFile, RecordedFile, Repeated,
    Reported, RunRecord, Series, Spans, SystemRecord, UnpromptedThread, Unreceived, Unsent,
};
pub use text::to_text;
pub use timeline::Timeline;
