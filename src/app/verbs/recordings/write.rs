//! Writes a recording from recordings: for `play cut` and `play convert`.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use bagplay::bag::{Bag, LookUp, MessageOrder, Note};
use bagplay::cli::{
    CutReport, Exit, Findings, Format, OutputArgs, cut_hint, plural, refused_lines,
};
use bagplay::cut::{Cut, CutError, CutOutcome, CutProgress, RefusedTopic};
use bagplay::untrusted::Foreign;

use crate::app::failure::Failure;
use crate::app::headless::slow_work::SlowWork;
use crate::app::log::{LogTarget, stdout};
use crate::app::run::open_bag;
use crate::app::supervise::join::receive_signals;

/// The progress bar.
const BAR: &str = "{wide_msg} [{bar:20}] {bytes} / {total_bytes}";

/// What is asked for beside the content.
pub(super) struct Asked<'a> {
    pub(super) out: &'a Path,
    /// Whether it is an error if anything is missing.
    pub(super) is_strict: bool,
    pub(super) output: &'a OutputArgs,
}

/// Opens recordings that have messages; `to_do` says what for.
pub(super) fn open(bags: &[PathBuf], to_do: &str, log_target: &LogTarget) -> Result<Bag, Failure> {
    let bag = open_bag::open(bags, MessageOrder::Received, log_target)?;
    if bag.range().is_none() {
        open_bag::warn(&bag);
        let error = anyhow::anyhow!("nothing to {to_do}: the recording has no messages");
        return Err(Failure::new(Exit::Recording, error));
    }
    Ok(bag)
}

/// Writes a cut and prints what it has.
pub(super) fn write(
    cut: &Cut,
    bag: &Bag,
    Asked {
        out,
        is_strict,
        output,
    }: &Asked<'_>,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    // Before this, a signal ends the process at once, because there is nothing to clean up.
    let signals = receive_signals()?;
    let mut asked = None;
    let work = SlowWork::begin(log_target, BAR);
    let out = out.components().collect::<PathBuf>();
    let outcome = cut.write(bag, &out, &mut |CutProgress { done, of, look_up }| {
        let what = || match look_up {
            Some(LookUp { done, of }) => {
                format!("looking for latched messages: {done} of {of} chunks")
            }
            None => format!("writing {}", Foreign::path(&out)),
        };
        work.show(done, of, what, what);
        asked = asked.or_else(|| signals.try_recv().ok());
        match asked {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    drop(work);
    let written = match outcome {
        Ok(CutOutcome::Written(written)) => written,
        Ok(CutOutcome::Cancelled) => {
            tracing::warn!("ended by a signal: nothing is written");
            return Ok(asked.unwrap_or(Exit::Interrupted));
        }
        Err(error) => return Err(failure(error, bag)),
    };
    let report = CutReport::new(&written);
    for line in report.left_out_lines() {
        tracing::warn!("left out: {line}");
    }
    match output.format {
        Format::Text => stdout::page(&report.page())?,
        Format::Json => stdout::json(&report)?,
    }
    let is_other_count = |note: &Note| matches!(note, Note::Counts { .. });
    let is_short = !report.is_sound() || bag.notes().iter().any(is_other_count);
    if *is_strict && is_short {
        let error = match report.refused_topics() as u64 {
            0 => anyhow::anyhow!("the recording is damaged (--strict)"),
            topics => anyhow::anyhow!("{} left out (--strict)", plural(topics, "topic")),
        };
        return Err(Failure::new(Exit::Recording, error));
    }
    Ok(Exit::Done)
}

/// Reports the damage that was found, and gives the error its exit code.
fn failure(error: CutError, bag: &Bag) -> Failure {
    let damage = match &error {
        CutError::Empty { damage, .. } => damage,
        _ => bag.damage(),
    };
    for finding in Findings::of(damage).list() {
        tracing::warn!("{finding}");
    }
    let refused: &[RefusedTopic] = match &error {
        CutError::Empty { refused, .. } => refused,
        _ => &[],
    };
    for line in refused_lines(bag.topics(), refused) {
        tracing::warn!("left out: {line}");
    }
    let exit = match &error {
        CutError::Write { .. } => Exit::Failed,
        CutError::Empty { damage, .. } if !damage.is_empty() || !refused.is_empty() => {
            Exit::Recording
        }
        CutError::TooMany { .. } => Exit::Recording,
        _ => Exit::Usage,
    };
    let hint = cut_hint(&error);
    let error = anyhow::Error::new(error);
    let error = match hint {
        Some(hint) => anyhow::anyhow!("{error}; hint: {hint}"),
        None => error,
    };
    Failure::new(exit, error)
}
