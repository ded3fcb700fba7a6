//! [`BulkLane`]: large messages on a thread and a priority of their own, so that small ones do not wait for them.
//!
//! Putting a megabyte takes almost a millisecond. Everything behind it in the queue of a link waits until it has left.
//! With [`SendOrder::PerTopic`](crate::wire::SendOrder), a topic takes this lane from its first large message on.
//! zenoh sends what has a higher priority first, on every link, so each message of the topic that was put before is
//! still ahead, and so is a clock that was put before a message. The order between topics is not kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender, bounded};

use super::monitor::TopicCounts;
use super::publisher::{LowPut, Stamped};
use super::stalls::{Putter, Stalls};
use crate::bag::step_back;
use crate::wire::error::WireError;

/// From this size on a message is large: it fills a batch of zenoh.
pub(crate) const LARGE: usize = 64 * 1024;

/// The most messages that wait for the thread: a jump and the end of a run wait for all of them.
const QUEUE: usize = 2;

/// A message to put.
#[derive(Debug)]
pub(crate) struct BulkMessage {
    pub(crate) to: Arc<LowPut>,
    pub(crate) payload: Bytes,
    pub(crate) stamped: Stamped,
    pub(crate) counts: Arc<TopicCounts>,
}

#[derive(Debug)]
enum Job {
    Put(BulkMessage),
    /// Everything before it has been put when this is dropped.
    Flush(Sender<()>),
}

/// The thread that puts large messages. Dropping this waits until it has put all of them.
#[derive(Debug)]
pub(crate) struct BulkLane {
    /// `None` only during the drop.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    is_closed: Arc<AtomicBool>,
}

impl BulkLane {
    /// Starts the thread. `stalls` also gets the puts of this lane.
    pub(crate) fn start(stalls: &Stalls) -> Result<Self, WireError> {
        let stalls = stalls.of(Putter::Bulk);
        let (jobs, received) = bounded(QUEUE);
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        let thread = thread::Builder::new()
            .name("bulk".to_owned())
            .spawn(move || run(&received, &stalls, &closed))
            .map_err(WireError::Thread)?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            is_closed,
        })
    }

    /// Whether a put has failed: the session is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Hands a message over; waits while too many wait already.
    pub(crate) fn put(&self, message: BulkMessage) {
        self.send(Job::Put(message));
    }

    /// Waits until everything that was handed over has been put.
    pub(crate) fn flush(&self) {
        let (put, all) = bounded(0);
        self.send(Job::Flush(put));
        // An error is the answer: the sender was dropped.
        let _ = all.recv();
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // An error means that the thread panicked, which it has reported itself.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for BulkLane {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // The thread has reported its panic itself.
            drop(thread.join());
        }
    }
}

fn run(jobs: &Receiver<Job>, stalls: &Stalls, is_closed: &AtomicBool) {
    // The threads that carry small messages go first.
    step_back();
    for job in jobs {
        match job {
            Job::Put(message) => {
                if !put(message, stalls) {
                    is_closed.store(true, Ordering::Relaxed);
                }
            }
            Job::Flush(put) => drop(put),
        }
    }
}

/// Puts a message; `false` if the session is closed.
fn put(message: BulkMessage, stalls: &Stalls) -> bool {
    let BulkMessage {
        to,
        payload,
        stamped,
        counts,
    } = message;
    let bytes = payload.len();
    let (put, waited) = stalls.while_putting(|| to.put(payload, stamped));
    let is_put = put.is_ok();
    if is_put {
        counts.count_sent(bytes);
        stalls.put_took(&counts, waited);
    } else {
        counts.dropped.fetch_add(1, Ordering::Relaxed);
    }
    is_put
}
