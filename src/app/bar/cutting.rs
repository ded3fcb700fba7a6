//! [`Cutting`]: writes a part of the recording while the bar is shown.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bagplay::bag::{Bag, Damage, Lost, Selection};
use bagplay::cli::{Findings, bytes, count, plural};
use bagplay::cut::{CopiedChunks, Cut, CutError, CutForm, CutOutcome, CutProgress, Written};
use bagplay::tui::{CutRequest, Event, EventSink};
use bagplay::untrusted::Foreign;

/// The one cut that is being written, if there is one. When it is dropped, an unfinished cut is given up.
#[derive(Debug, Default)]
pub(crate) struct Cutting {
    thread: Option<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl Cutting {
    /// Begins to write a cut of a bag, in a thread of its own. The log says what became of it; `told` gets to know why
    /// it is not written.
    pub(crate) fn begin(&mut self, bag: &Bag, request: CutRequest, told: EventSink) {
        if self
            .thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
        {
            tracing::warn!("not cut: another part is still being written");
            return;
        }
        let (bag, is_over) = (bag.clone(), Arc::clone(&self.is_over));
        let thread = std::thread::Builder::new().name("cut".into());
        match thread.spawn(move || write(&bag, &request, &is_over, &told)) {
            Ok(thread) => self.thread = Some(thread),
            Err(error) => tracing::error!("not cut: no thread can be started: {error}"),
        }
    }
}

impl Drop for Cutting {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // It ends before its next chunk, and removes its temporary file.
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the cut ended with an error in this program");
        }
    }
}

fn write(bag: &Bag, request: &CutRequest, is_over: &AtomicBool, told: &EventSink) {
    let out = Path::new(&request.out);
    let shown = Foreign::path(out);
    let cut = Cut {
        topics: Selection::of(request.topics.iter().copied(), bag),
        chunks: CopiedChunks::Checked,
        form: CutForm::of(out),
        ..Cut::new(bag, request.range)
    };
    tracing::info!("writing {shown}");
    let mut lines = ProgressLines::begin(now());
    let mut tell = |CutProgress { done, of, look_up }| {
        // Nothing is written during a look-up.
        let tenths = look_up.is_none().then(|| lines.next(done, of, now()));
        if let Some(tenths) = tenths.flatten() {
            tracing::info!("writing {shown}: {tenths}0 %");
        }
        if is_over.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    match cut.write(bag, out, &mut tell) {
        Ok(CutOutcome::Written(written)) => {
            let has = in_words(&written);
            // Whatever could not be read between A and B is known by now.
            match lost(bag, &cut) {
                None => tracing::info!("{shown}: {has}"),
                Some(lost) => tracing::warn!("{lost}; {shown}: {has}"),
            }
            for finding in Findings::of(&other_damage(bag, &written)).list() {
                tracing::warn!("{shown}: left out: {finding}");
            }
        }
        Ok(CutOutcome::Cancelled) => tracing::warn!("{shown} is not written: the bar was left"),
        Err(error) => {
            let cause = cause(bag, &cut, &error);
            // With the reason of the system.
            let mut reason = format!("{:#}", anyhow::Error::new(error));
            if let Some(damage) = cause {
                reason = format!("{reason}; {damage}");
            }
            tracing::error!("not cut: {reason}");
            told(Event::NotCut(reason));
        }
    }
}

/// The lines of the log that say how far a cut is: one for each tenth of it, at most one every two seconds.
struct ProgressLines {
    last: Instant,
    tenths: u64,
}

impl ProgressLines {
    const EVERY: Duration = Duration::from_secs(2);

    fn begin(now: Instant) -> Self {
        Self {
            last: now,
            tenths: 0,
        }
    }

    /// How much is done, in tenths, if it is time for a line.
    fn next(&mut self, done: u64, of: u64, now: Instant) -> Option<u64> {
        let tenths = u128::from(done) * 10 / u128::from(of.max(1));
        let tenths = u64::try_from(tenths).unwrap_or(10);
        let is_due = now.duration_since(self.last) >= Self::EVERY && tenths > self.tenths;
        is_due.then(|| {
            (self.last, self.tenths) = (now, tenths);
            tenths
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "progress is shown in wall time")]
fn now() -> Instant {
    Instant::now()
}

fn in_words(written: &Written) -> String {
    let Written {
        messages,
        latched,
        bytes: size,
        ..
    } = written;
    let (all, size) = (plural(messages + latched, "message"), bytes(*size));
    match latched {
        0 => format!("{all}, {size}"),
        _ => format!("{all} ({} latched from before), {size}", count(*latched)),
    }
}

/// What the range and the topics of a cut lose by damage, as far as it is known.
fn lost(bag: &Bag, cut: &Cut) -> Option<Lost> {
    Lost::of(&bag.damaged_parts(), cut.range, |topic| {
        cut.topics.contains(topic)
    })
}

/// What else a cut could not read: attachments, for example.
fn other_damage(bag: &Bag, written: &Written) -> Vec<Damage> {
    let met = written.damage.iter();
    // What was found when the recording was opened may lie outside of the range.
    let met = met.filter(|damage| !bag.damage().contains(damage));
    let others = met.filter(|damage| bag.damaged_part(damage).is_none());
    others.cloned().collect()
}

/// The first damage because of which a cut is empty.
fn cause(bag: &Bag, cut: &Cut, error: &CutError) -> Option<Damage> {
    let CutError::Empty { damage, .. } = error else {
        return None;
    };
    let is_cause = |damage: &&Damage| {
        let part = bag.damaged_part(damage);
        Lost::of(&part, cut.range, |topic| cut.topics.contains(topic)).is_some()
    };
    damage.iter().find(is_cause).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_every_two_seconds_says_how_far_a_cut_is() {
        let begin = now();
        let mut lines = ProgressLines::begin(begin);
        let mut said = Vec::new();
        for tenth in 0..50_u64 {
            let at = begin + Duration::from_millis(100 * tenth);
            said.extend(lines.next(tenth, 50, at));
        }
        assert_eq!(said, [4, 8]);
        // A slow cut has a line for each tenth.
        let mut lines = ProgressLines::begin(begin);
        let second = |n| begin + Duration::from_secs(n);
        let said = (0..100).filter_map(|n| lines.next(n, 100, second(n * 10)));
        assert_eq!(said.collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(lines.next(0, 0, second(10_000)), None);
    }
}
