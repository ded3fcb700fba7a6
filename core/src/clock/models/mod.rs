//! Models: small programs on the clocks of this crate. The checker runs their threads in every order that can matter,
//! and lets each read return every value that the memory orderings allow. A lost wake-up shows as a deadlock.
//!
//! This file has the model of the [`SeqLock`] and the call of the checker; `jumps.rs`, `waits.rs` and `sources.rs` have
//! the models of the clocks. `docs/testing.md` says how to run them.

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

/// All orders. If threads read the time without a lock, there are too many orders: then a thread that could go on is
/// interrupted at most [`SOME`] times.
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
fn readers_see_whole_writes_in_their_order() {
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
