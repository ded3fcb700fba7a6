//! [`SeqLock`]: a few words that many threads read in nanoseconds while one writes; no reader sees half a write.
//!
//! A counter is odd while a write is in progress, and a reader that finds it odd or changed reads again. All words are
//! atomics, so no unsafe code is needed. The lock of [`Core`](crate::clock::core::Core) ensures that there is one
//! writer at a time.

use crate::clock::sync::{AtomicI64, AtomicU64, Ordering, fence, yield_now};

/// The number of words that the largest motion needs; see `clock_motion.rs`.
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

    /// Returns the result of `evaluate` for the words. It may be called several times; the result is from a call during
    /// which nothing was written.
    #[inline]
    pub(crate) fn read<T>(&self, evaluate: impl Fn([i64; N]) -> T) -> T {
        loop {
            let before = self.writes.load(Ordering::Acquire);
            if before.is_multiple_of(2) {
                // Without `zip`: other packages would call its constructor, not inline it.
                let mut words = [0; N];
                for (at, word) in words.iter_mut().enumerate() {
                    *word = self.words[at].load(Ordering::Relaxed);
                }
                let result = evaluate(words);
                fence(Ordering::Acquire);
                if self.writes.load(Ordering::Relaxed) == before {
                    return result;
                }
            }
            // The writer may have been suspended; with few cores it needs the core of this thread.
            yield_now();
        }
    }

    /// Writes what `make` returns; readers wait while it runs. One writer at a time.
    #[inline]
    pub(crate) fn write(&self, make: impl FnOnce() -> [i64; N]) {
        let before = self.writes.load(Ordering::Relaxed);
        self.writes.store(before + 1, Ordering::Relaxed);
        // This also orders the counter before whatever `make` reads, such as a clock.
        fence(Ordering::SeqCst);
        for (word, value) in self.words.iter().zip(make()) {
            // Most words do not change, and a model has to try every store.
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
    fn no_reader_sees_half_a_write() {
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
