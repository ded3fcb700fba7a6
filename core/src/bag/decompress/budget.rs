//! The byte budget of the read-ahead: how much decompressed data is in memory, and when more may be added.
//!
//! A [`Permit`] counts bytes for as long as they exist, wherever they are: open in a cursor, queued, or handed to
//! zenoh. A [`Meter`] is the account of one walk (a cursor or a look-up) in the [`Budget`], which all walks of a player
//! share. A walk that is closed but still busy is *leaving*. While a walk is leaving, no other may add to the budget,
//! so walks do not pile up however fast they follow each other. The rest of the budget may hold [`Spares`], which give
//! way to bytes that are counted.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use super::memory::{ChunkBytes, ChunkMemory};
use super::spares::{Spare, Spares};

/// The bound of a walk that holds one chunk at a time, which never waits for room. Spare buffers have no more in any
/// case.
const ONE_CHUNK: u64 = 16 << 20;

/// How much decompressed data there is; for tests and the status line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Bytes in use now, without spare buffers.
    pub live_bytes: u64,
    /// The most bytes that were in use at once.
    pub peak_bytes: u64,
    /// How many times a chunk was decompressed.
    pub decompressions: u64,
}

#[derive(Debug)]
struct State {
    usage: Usage,
    spares: Spares,
    /// The number of walks that are closed but still busy.
    leaving: usize,
    /// Incremented by each change that may let a waiting walk continue.
    wakes: u64,
}

/// A bound on decompressed bytes, shared by several walks.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) limit: u64,
    state: Mutex<State>,
    freed: Condvar,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            state: Mutex::new(State {
                usage: Usage::default(),
                spares: Spares::default(),
                leaving: 0,
                wakes: 0,
            }),
            freed: Condvar::new(),
        })
    }

    pub(crate) fn usage(&self) -> Usage {
        self.lock().usage
    }

    /// How many bytes spare buffers may have. None without a bound: a message that somebody keeps would keep them, too.
    fn rest(&self, state: &State) -> u64 {
        match self.limit {
            u64::MAX => 0,
            limit => limit.saturating_sub(state.usage.live_bytes),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is complete when the lock is released, also by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer to [`Meter::wait_for_room`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    /// There was room, or the walk only had to wait for a closed one.
    AtOnce,
    /// There was none at first.
    AfterWait,
    /// The walk is closed.
    Closed,
}

/// Counts the bytes of one walk.
pub(crate) struct Meter {
    budget: Arc<Budget>,
    memory: Option<Arc<dyn ChunkMemory>>,
    state: Mutex<MeterState>,
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter")
            .field("budget", &self.budget)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct MeterState {
    bytes: u64,
    is_closed: bool,
    is_busy: bool,
}

impl Meter {
    pub(crate) fn new(budget: &Arc<Budget>) -> Arc<Self> {
        Self::with_memory(budget, None)
    }

    /// A meter of a walk whose chunks are decompressed into this memory while that has room.
    pub(crate) fn with_memory(
        budget: &Arc<Budget>,
        memory: Option<Arc<dyn ChunkMemory>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            budget: Arc::clone(budget),
            memory,
            state: Mutex::default(),
        })
    }

    /// The memory into which chunks of the walk are decompressed; `None`: the heap.
    pub(crate) fn memory(&self) -> Option<&dyn ChunkMemory> {
        self.memory.as_deref()
    }

    /// A meter in a budget of its own, without a bound.
    pub(crate) fn unbounded() -> Arc<Self> {
        Self::new(&Budget::new(u64::MAX))
    }

    /// A meter of a walk that drops each chunk before it opens the next one, which gets the same buffer.
    pub(crate) fn reusing() -> Arc<Self> {
        Self::new(&Budget::new(ONE_CHUNK))
    }

    pub(crate) fn usage(&self) -> Usage {
        self.budget.usage()
    }

    /// The bound of the shared budget, in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.budget.limit
    }

    pub(crate) fn count_decompression(&self) {
        self.budget.lock().usage.decompressions += 1;
    }

    /// Counts `bytes` from now on. Never waits.
    pub(crate) fn permit(self: &Arc<Self>, bytes: u64) -> Permit {
        self.count(self.budget.lock(), bytes)
    }

    /// Counts `size` bytes from now on. If this thread has filled a buffer of about that size that is no longer needed,
    /// it comes with the permit, which then counts all of it. Its bytes are initialized. Never waits.
    pub(crate) fn permit_with_spare(self: &Arc<Self>, size: usize) -> (Permit, Option<Vec<u8>>) {
        let mut state = self.budget.lock();
        let spare = state.spares.take(size, std::thread::current().id());
        let bytes = spare.as_ref().map_or(size, Vec::len);
        (self.count(state, bytes as u64), spare)
    }

    fn count(self: &Arc<Self>, mut state: MutexGuard<'_, State>, bytes: u64) -> Permit {
        self.lock().bytes += bytes;
        let usage = &mut state.usage;
        usage.live_bytes += bytes;
        usage.peak_bytes = usage.peak_bytes.max(usage.live_bytes);
        let rest = self.budget.rest(&state);
        let dropped = state.spares.shrink(rest);
        drop(state);
        drop(dropped);
        Permit {
            meter: Arc::clone(self),
            bytes,
            spare: None,
        }
    }

    /// Waits until `cost` more bytes fit into the budget, or until this walk has no bytes in memory beyond `held`, what
    /// it holds open itself: then waiting longer would not help. In either case it also waits until no closed walk is
    /// busy, because such a walk may be decompressing more than the budget has counted.
    pub(crate) fn wait_for_room(&self, cost: u64, held: u64) -> Room {
        let mut room = Room::AtOnce;
        let mut state = self.budget.lock();
        loop {
            let (bytes, is_closed) = {
                let meter = self.lock();
                (meter.bytes, meter.is_closed)
            };
            if is_closed {
                return Room::Closed;
            }
            let is_fitting = state.usage.live_bytes.saturating_add(cost) <= self.budget.limit;
            let is_enough = is_fitting || bytes <= held;
            if state.leaving == 0 && is_enough {
                return room;
            }
            if !is_enough {
                room = Room::AfterWait;
            }
            let seen = state.wakes;
            while state.wakes == seen {
                let waited = self.budget.freed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Waits until `is_over` is true, at most for `span`. False once this walk is closed, which ends the wait. Calls
    /// `is_over` again after [`Self::look_again`].
    pub(crate) fn pause(&self, span: Duration, is_over: impl Fn() -> bool) -> bool {
        let goes_on = |_: &mut State| !self.is_closed() && !is_over();
        let state = self.budget.lock();
        let waited = self.budget.freed.wait_timeout_while(state, span, goes_on);
        drop(waited);
        !self.is_closed()
    }

    /// Wakes this walk, so that [`Self::pause`] calls `is_over` again.
    pub(crate) fn look_again(&self) {
        self.change(|_, _| ());
    }

    /// Whether `cost` more bytes fit into the budget now, and no closed walk is busy.
    pub(crate) fn has_room(&self, cost: u64) -> bool {
        let state = self.budget.lock();
        state.leaving == 0 && state.usage.live_bytes.saturating_add(cost) <= self.budget.limit
    }

    /// Ends waiting, now and later: the walk is no longer needed.
    pub(crate) fn close(&self) {
        self.change(|state, meter| {
            state.leaving += usize::from(meter.is_busy && !meter.is_closed);
            meter.is_closed = true;
        });
    }

    /// Marks the walk as busy until the returned value is dropped, which must outlive all that the walk opens.
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        // A walk that is closed already will open nothing, so no other has to wait for it.
        self.change(|_, meter| meter.is_busy = !meter.is_closed);
        Busy(Arc::clone(self))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    fn give_back(&self, bytes: u64, spare: Option<Spare>) {
        let dropped = self.change(|state, meter| {
            meter.bytes -= bytes;
            state.usage.live_bytes -= bytes;
            let rest = self.budget.rest(state);
            spare.map(|it| state.spares.keep(it, rest))
        });
        drop(dropped);
    }

    /// Changes what others may be waiting for.
    fn change<T>(&self, change: impl FnOnce(&mut State, &mut MeterState) -> T) -> T {
        let mut state = self.budget.lock();
        let changed = change(&mut state, &mut self.lock());
        state.wakes += 1;
        drop(state);
        self.budget.freed.notify_all();
        changed
    }

    fn lock(&self) -> MutexGuard<'_, MeterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a walk as busy.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Meter>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.change(|state, meter| {
            state.leaving -= usize::from(meter.is_busy && meter.is_closed);
            meter.is_busy = false;
        });
    }
}

/// Bytes that are counted until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    meter: Arc<Meter>,
    bytes: u64,
    /// The memory that was counted, once [`CountedBytes`] are dropped.
    spare: Option<Spare>,
}

impl Permit {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.meter.give_back(self.bytes, self.spare.take());
    }
}

/// Decompressed bytes with their permit: the owner behind the payload of a message.
#[derive(Debug)]
pub(crate) struct CountedBytes {
    // Dropped before the permit: bytes are counted until they are gone, and the permit keeps the memory in which they
    // lie.
    pub(crate) bytes: ChunkBytes,
    pub(crate) permit: Permit,
    filled_by: ThreadId,
}

impl CountedBytes {
    /// Bytes that this thread has written.
    pub(crate) fn new(bytes: impl Into<ChunkBytes>, permit: Permit) -> Self {
        Self {
            bytes: bytes.into(),
            permit,
            filled_by: std::thread::current().id(),
        }
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        self.permit.spare = Some(Spare {
            bytes: self.bytes.take_heap(),
            filled_by: self.filled_by,
        });
    }
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_walk_without_live_bytes_never_waits() {
        let budget = Budget::new(10);
        let (a, b) = (Meter::new(&budget), Meter::new(&budget));
        let permit = a.permit(10);
        assert_eq!(b.wait_for_room(100, 0), Room::AtOnce);
        assert_eq!(a.wait_for_room(100, permit.bytes()), Room::AtOnce);
        drop(permit);
        assert_eq!(a.wait_for_room(10, 0), Room::AtOnce);
        assert_eq!(budget.usage().live_bytes, 0);
        assert_eq!(budget.usage().peak_bytes, 10);
    }

    #[test]
    fn a_new_walk_waits_while_a_closed_walk_is_busy() {
        let budget = Budget::new(10);
        let (old, unborn, new) = (
            Meter::new(&budget),
            Meter::new(&budget),
            Meter::new(&budget),
        );
        let busy = old.begin();
        assert_eq!(new.wait_for_room(1, 0), Room::AtOnce);
        old.close();
        old.close();
        unborn.close();
        let never = unborn.begin();
        assert_eq!(budget.lock().leaving, 1);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| new.wait_for_room(1, 0));
            assert_eq!(unborn.wait_for_room(1, 0), Room::Closed);
            drop(busy);
            assert_eq!(waiting.join().expect("no panic"), Room::AtOnce);
        });
        drop(never);
        assert_eq!(budget.lock().leaving, 0);
    }

    #[test]
    fn a_returned_permit_or_a_close_wakes_a_waiting_walk() {
        let budget = Budget::new(10);
        let meter = Meter::new(&budget);
        let permit = meter.permit(10);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| meter.wait_for_room(1, 0));
            drop(permit);
            assert_ne!(waiting.join().expect("no panic"), Room::Closed);
            let permit = meter.permit(10);
            let waiting = scope.spawn(|| meter.wait_for_room(1, 0));
            meter.close();
            assert_eq!(waiting.join().expect("no panic"), Room::Closed);
            drop(permit);
        });
    }

    #[test]
    fn a_pause_ends_with_its_span_with_its_condition_or_with_the_walk() {
        const LONG: Duration = Duration::from_secs(3600);
        let meter = Meter::new(&Budget::new(10));
        assert!(meter.pause(Duration::from_millis(1), || false));
        assert!(meter.pause(LONG, || true));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let pausing = scope.spawn(|| meter.pause(LONG, || is_over.load(Ordering::SeqCst)));
            is_over.store(true, Ordering::SeqCst);
            meter.look_again();
            assert!(pausing.join().expect("no panic"));
            let pausing = scope.spawn(|| meter.pause(LONG, || false));
            meter.close();
            assert!(!pausing.join().expect("no panic"));
        });
        assert!(!meter.pause(LONG, || false));
    }

    #[test]
    fn memory_of_a_chunk_is_kept_for_the_next_one_within_the_bound() {
        const SIZE: usize = 1 << 20;
        let spare = |meter: &Arc<Meter>, size| meter.permit_with_spare(size).1;
        let used = |meter: &Arc<Meter>, byte| {
            drop(CountedBytes::new(
                vec![byte; SIZE],
                meter.permit(SIZE as u64),
            ));
        };
        let budget = Budget::new(2 * SIZE as u64);
        let (a, b) = (Meter::new(&budget), Meter::new(&budget));
        assert_eq!(spare(&b, SIZE), None);
        let filled = CountedBytes::new(vec![1; SIZE], a.permit(SIZE as u64));
        std::thread::scope(|scope| {
            let another = scope.spawn(|| {
                drop(filled);
                spare(&b, SIZE)
            });
            assert_eq!(another.join().expect("no panic"), None);
        });
        let (permit, taken) = b.permit_with_spare(SIZE - 9);
        assert_eq!(taken, Some(vec![1; SIZE]));
        assert_eq!(permit.bytes(), SIZE as u64);
        assert_eq!(budget.usage().live_bytes, SIZE as u64);
        drop(permit);

        used(&a, 2);
        let (half, more) = (a.permit(SIZE as u64), b.permit(1));
        assert_eq!(spare(&b, SIZE), None);
        drop((half, more));

        let full = a.permit(2 * SIZE as u64);
        used(&b, 3);
        assert_eq!(spare(&b, SIZE), None);
        drop(full);
        assert_eq!(budget.usage().live_bytes, 0);

        let unbounded = Meter::unbounded();
        used(&unbounded, 4);
        assert_eq!(spare(&unbounded, SIZE), None);
        let reusing = Meter::reusing();
        used(&reusing, 5);
        assert_eq!(spare(&reusing, SIZE), Some(vec![5; SIZE]));
    }
}
