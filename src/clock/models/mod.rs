//! Models: small programs on this room's clocks whose threads are run in every order that can matter, each reading
//! in turn every value that the memory orderings allow. A wake-up that is lost shows as a deadlock.
//!
//! Here are the [`SeqLock`] and how to check; `jumps.rs`, `waits.rs` and `sources.rs` have the
//! clocks. Run as `docs/testing.md` says.

#[cfg(test)]
#[cfg(model)]
pub(crate) mod jumps;
#[cfg(test)]
#[cfg(model)]
pub(crate) mod sources;
#[cfg(test)]
#[cfg(model)]
pub(crate) mod waits;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::model::Builder;
use loom::thread;

use crate::clock::jump::jump_filter::JumpFilter;
use crate::clock::state::seqlock::SeqLock;
use crate::time::{Duration, Ros, Time};

/// All orders. Where threads read the time without a lock there are too many: then a thread is put aside where
/// it could go on [`SOME`] times at most.
pub(crate) const ALL: Option<usize> = None;
pub(crate) const SOME: Option<usize> = Some(4);

pub(crate) fn check(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 20_000;
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!("{} orders", runs.load(Ordering::Relaxed));
}

pub(crate) const fn at(nanos: i64) -> Time<Ros> {
    Time::from_nanos(nanos)
}

pub(crate) const fn ns(nanos: i64) -> Duration {
    Duration::from_nanos(nanos)
}

pub(crate) const fn back() -> JumpFilter {
    JumpFilter::new().min_backward(ns(1))
}

#[test]
fn readers_see_whole_writes_and_none_before_what_they_saw() {
    check(SOME, || {
        let lock = Arc::new(SeqLock::new([0; 2]));
        let reader = Arc::clone(&lock);
        let reader = thread::spawn(move || {
            let mut last = 0;
            for _ in 0..2 {
                let [one, other] = reader.read(|words| words);
                assert_eq!(one, other, "half a write");
                assert!(one >= last, "{one} after {last}");
                last = one;
            }
        });
        lock.write(|| [1; 2]);
        lock.write(|| [2; 2]);
        reader.join().unwrap();
        assert_eq!(lock.read(|words| words), [2; 2]);
    });
}
