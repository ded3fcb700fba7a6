//! [`Partner`]: a second thread that decompresses the next chunk while its cursor does the one before.
//!
//! Worth it when one core cannot keep up: a cue asks for it while its receiver has nothing left to do.
//! It works on at most one chunk at a time, on its cursor's account, and ends with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::budget::{Meter, Owned};
use super::chunk::Decoder;
use super::contents::Contents;
use super::error::Fault;

/// A second decompressor, started when it is first needed.
pub(super) struct Partner {
    /// Whether whoever takes the messages waits for more.
    is_wanted: Arc<AtomicBool>,
    worker: Option<Worker>,
    /// The chunk that is in work.
    id: Option<u32>,
}

struct Worker {
    /// `None` only while it is dropped.
    requests: Option<Sender<u32>>,
    results: Receiver<Result<Owned, Fault>>,
    thread: Option<JoinHandle<()>>,
}

impl Partner {
    pub(super) fn new(is_wanted: Arc<AtomicBool>) -> Self {
        Self {
            is_wanted,
            worker: None,
            id: None,
        }
    }

    /// Whether it should begin with another chunk now.
    pub(super) fn is_idle_and_wanted(&self) -> bool {
        self.id.is_none() && self.is_wanted.load(Ordering::Relaxed)
    }

    /// The chunk that is in work or done.
    pub(super) fn chunk(&self) -> Option<u32> {
        self.id
    }

    /// Begins with a chunk.
    pub(super) fn begin(&mut self, id: u32, contents: &Arc<Contents>, meter: &Arc<Meter>) {
        if self.worker.is_none() {
            self.worker = Worker::start(contents, meter);
        }
        let requests = self.worker.as_ref().and_then(|it| it.requests.as_ref());
        // Without a thread the cursor does it all.
        if requests.is_some_and(|requests| requests.try_send(id).is_ok()) {
            self.id = Some(id);
        }
    }

    /// What came of a chunk, if it was begun; waits until it is done.
    pub(super) fn take(&mut self, id: u32) -> Option<Result<Owned, Fault>> {
        if self.id != Some(id) {
            return None;
        }
        self.id = None;
        // An error means that the thread broke down, which it has said: the cursor tries by itself.
        self.worker.as_ref()?.results.recv().ok()
    }
}

impl Worker {
    fn start(contents: &Arc<Contents>, meter: &Arc<Meter>) -> Option<Self> {
        let (requests, asked) = bounded::<u32>(1);
        let (done, results) = bounded(1);
        let (contents, meter) = (Arc::clone(contents), Arc::clone(meter));
        let work = move || {
            let mut decoder = Decoder::default();
            for id in asked {
                let chunk = contents.chunk(id);
                let source = &contents.input(chunk.input).source;
                if done
                    .send(decoder.read(source, &chunk.place, &meter))
                    .is_err()
                {
                    return;
                }
            }
        };
        let named = std::thread::Builder::new().name("bag-partner".to_owned());
        let thread = named.spawn(work).ok()?;
        Some(Self {
            requests: Some(requests),
            results,
            thread: Some(thread),
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by its thread.
            let _ = thread.join();
        }
    }
}
