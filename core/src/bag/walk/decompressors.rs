//! [`Decompressors`]: threads that decompress the next chunks while their cursor reads the current ones.
//!
//! They help when one core cannot keep up: a cue asks for them while its receiver has almost nothing left to take.
//! Their memory is counted on the meter of their cursor, and they end with it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::bag::damage::Fault;
use crate::bag::decompress::budget::{CountedBytes, Meter};
use crate::bag::decompress::chunk::Decoder;
use crate::bag::index::contents::Contents;

/// The number of threads.
const THREADS: usize = 2;

/// The most chunks that are begun at once. On a machine with two processors the threads occupy both, so the cursor runs
/// only 3 to 4 ms after its chunk is done. During that time this many chunks of half a millisecond keep them busy.
const MOST: usize = 16;

type Read = Result<CountedBytes, Fault>;

/// Decompresses ahead. The threads are started when they are first needed.
pub(crate) struct Decompressors {
    /// Whether the receiver of the messages is waiting for more.
    is_wanted: Arc<AtomicBool>,
    /// `None` until the first chunk is begun, and during the drop.
    requests: Option<Sender<(u32, Sender<Read>)>>,
    threads: Vec<JoinHandle<()>>,
    /// The chunks that are being decompressed or done, in the order in which the cursor will take them.
    begun: VecDeque<(u32, Receiver<Read>)>,
}

impl Decompressors {
    pub(crate) fn new(is_wanted: Arc<AtomicBool>) -> Self {
        Self {
            is_wanted,
            requests: None,
            threads: Vec::new(),
            begun: VecDeque::new(),
        }
    }

    /// How many more chunks may be begun now.
    pub(crate) fn vacancies(&self) -> usize {
        if self.is_wanted.load(Ordering::Relaxed) {
            MOST - self.begun.len()
        } else {
            0
        }
    }

    /// The chunks that are being decompressed or done.
    pub(crate) fn begun(&self) -> impl Iterator<Item = u32> {
        self.begun.iter().map(|(id, _)| *id)
    }

    /// Begins to decompress a chunk.
    pub(crate) fn begin(&mut self, id: u32, contents: &Arc<Contents>, meter: &Arc<Meter>) {
        if self.requests.is_none() {
            self.start_threads(contents, meter);
        }
        let (done, result) = bounded(1);
        let requests = self.requests.as_ref();
        // Without a thread the cursor decompresses the chunk itself.
        if requests.is_some_and(|requests| requests.try_send((id, done)).is_ok()) {
            self.begun.push_back((id, result));
        }
    }

    /// The result for a chunk, if it was begun; waits until it is done.
    pub(crate) fn take(&mut self, id: u32) -> Option<Read> {
        let place = self.begun().position(|begun| begun == id)?;
        let (_, result) = self.begun.remove(place)?;
        // An error means that the thread panicked, which it has reported; the cursor decompresses the chunk itself.
        result.recv().ok()
    }

    fn start_threads(&mut self, contents: &Arc<Contents>, meter: &Arc<Meter>) {
        let (requests, asked) = bounded::<(u32, Sender<Read>)>(MOST);
        for _ in 0..THREADS {
            let (asked, contents) = (asked.clone(), Arc::clone(contents));
            let meter = Arc::clone(meter);
            let work = move || {
                let mut decoder = Decoder::default();
                for (id, done) in asked {
                    if meter.is_closed() {
                        return;
                    }
                    let chunk = contents.chunk(id);
                    let source = &contents.input(chunk.input).source;
                    // If the cursor was dropped, nothing receives the result.
                    let _ = done.send(decoder.read(source, &chunk.place, &meter));
                }
            };
            let named = std::thread::Builder::new().name("bag-decompress".to_owned());
            self.threads.extend(named.spawn(work));
        }
        self.requests = (!self.threads.is_empty()).then_some(requests);
    }
}

impl Drop for Decompressors {
    fn drop(&mut self) {
        self.requests = None;
        self.begun.clear();
        for thread in self.threads.drain(..) {
            // A panic has been reported by its thread.
            let _ = thread.join();
        }
    }
}
