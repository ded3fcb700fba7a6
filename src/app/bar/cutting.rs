//! [`Cutting`]: writes a part of the recording while the bar is shown.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use bagplay::bag::{Bag, DamageExtent, DamagedPart, Selection, TopicId};
use bagplay::cli::{bytes, plural};
use bagplay::cut::{Cut, CutOutcome, Written};
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
        ..Cut::new(bag, request.range)
    };
    tracing::info!("writing {shown}");
    let mut tell = |_| {
        if is_over.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    match cut.write(bag, out, &mut tell) {
        Ok(CutOutcome::Written(written)) => {
            let has = in_words(&written);
            match lost_in_words(bag, &cut, &written) {
                None => tracing::info!("{shown}: {has}"),
                Some(lost) => tracing::warn!("{shown}: {has}; damage: {lost}"),
            }
        }
        Ok(CutOutcome::Cancelled) => tracing::warn!("{shown} is not written: the bar was left"),
        Err(error) => {
            // With the reason of the system.
            let reason = format!("{:#}", anyhow::Error::new(error));
            tracing::error!("not cut: {reason}");
            told(Event::NotCut(reason));
        }
    }
}

fn in_words(written: &Written) -> String {
    let Written {
        messages,
        latched,
        bytes: size,
        ..
    } = written;
    let mut parts = vec![plural(*messages, "message"), bytes(*size)];
    if *latched > 0 {
        let latched = plural(*latched, "message");
        parts.push(format!("{latched} of latched topics from before"));
    }
    parts.join(", ")
}

/// What of the range and the topics of a cut could not be read; `None` if that is nothing, as far as it is known. A
/// chunk that is copied as it is is not looked into: its damage is known only if it was met before.
fn lost_in_words(bag: &Bag, cut: &Cut, written: &Written) -> Option<String> {
    // What was found when the recording was opened may lie outside of the range.
    let met = written.damage.get(bag.damage().len()..).unwrap_or_default();
    let met: BTreeSet<_> = met.iter().map(|it| (&it.file, it.offset)).collect();
    let is_cut = |part: &DamagedPart| {
        let mut topics = (0..).map(TopicId).zip(bag.topics()).map(|(id, _)| id);
        part.range.intersection(cut.range).is_some()
            && topics.any(|topic| cut.topics.contains(topic) && part.concerns(topic))
    };
    let parts: Vec<DamagedPart> = bag.damaged_parts().into_iter().filter(is_cut).collect();
    let is_copied = |part: &&DamagedPart| {
        part.extent == DamageExtent::Chunk && !met.contains(&(&part.damage.file, part.at))
    };
    let copied = parts.iter().filter(is_copied).count() as u64;
    let outside = parts.iter().filter(|it| it.extent != DamageExtent::Chunk);
    let left_out = (met.len() + outside.count()) as u64;
    let mut lost = Vec::new();
    if left_out > 0 {
        lost.push(format!("{} left out", plural(left_out, "place")));
    }
    if copied > 0 {
        lost.push(format!(
            "{} copied unchanged",
            plural(copied, "damaged chunk")
        ));
    }
    let messages: Option<u64> = parts.iter().map(|part| part.messages).sum();
    if let Some(messages @ 1..) = messages {
        lost.push(format!("up to {} lost", plural(messages, "message")));
    }
    (left_out + copied > 0).then(|| lost.join(", "))
}
