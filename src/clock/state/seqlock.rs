//! [`SeqLock`]: a few words that many read in nanoseconds while one writes; no reader sees half a write.
//!
//! A counter is odd while a write is under way, and a reader that finds it odd or changed reads again.
//! All words are atomics, so that no unsafe code is needed. Writers take turns elsewhere (the lock of
//! [`Core`](crate::clock::core::Core)).

use crate::clock::sync::{AtomicI64, AtomicU64, Ordering, fence, yield_now};

/// Enough for the largest reading; see `reading.rs`.
pub(crate) const WORDS: usize = 6;
pub(crate) type Words = [i64; WORDS];

#[derive(Debug)]
pub(crate) struct SeqLock<const N: usize = WORDS> {
    writes: AtomicU64,
    words: [AtomicI64; N],
}

impl<const N: usize> SeqLock<N> {
    pub(crate) fn new(words: [i64; N]) -> Self {
        Self {
            writes: AtomicU64::new(0),
            words: words.map(AtomicI64::new),
        }
    }

    /// What `look` makes of the words. It may run several times; the answer is of a run within which
    /// nothing was written.
    pub(crate) fn read<T>(&self, look: impl Fn([i64; N]) -> T) -> T {
        loop {
            let before = self.writes.load(Ordering::Acquire);
            if before.is_multiple_of(2) {
                let seen = look(std::array::from_fn(|word| {
                    self.words[word].load(Ordering::Relaxed)
                }));
                fence(Ordering::Acquire);
                if self.writes.load(Ordering::Relaxed) == before {
                    return seen;
                }
            }
            // The writer may have been suspended; with few cores it needs this one.
            yield_now();
        }
    }

    /// Writes what `make` says, which runs while readers wait. One writer at a time.
    pub(crate) fn write(&self, make: impl FnOnce() -> [i64; N]) {
        let before = self.writes.load(Ordering::Relaxed);
        self.writes.store(before + 1, Ordering::Relaxed);
        // Also before whatever `make` reads, a clock for one.
        fence(Ordering::SeqCst);
        for (word, value) in self.words.iter().zip(make()) {
            // Most words stay as they are; each store is one more that a model has to try.
            if word.load(Ordering::Relaxed) != value {
                word.store(value, Ordering::Relaxed);
            }
        }
        self.writes.store(before + 2, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn nobody_sees_half_a_write() {
        let lock = SeqLock::new([0; WORDS]);
        thread::scope(|scope| {
            let reader = || {
                let mut last = 0;
                while last < 20_000 {
                    let words = lock.read(|words| words);
                    assert!(words.iter().all(|word| *word == words[0]), "{words:?}");
                    assert!(words[0] >= last, "{} after {last}", words[0]);
                    last = words[0];
                }
            };
            scope.spawn(reader);
            scope.spawn(reader);
            for value in 1..=20_000 {
                lock.write(|| [value; WORDS]);
            }
        });
    }
}
