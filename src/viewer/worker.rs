//! [`Worker`]: the one thread on which the library serves all viewers.
//!
//! The library puts what it sends into queues, and tells neither how much waits there nor when it is sent. All that
//! takes from the queues runs on this thread, in turns: after enough turns, what was in the queues has been sent.

use std::convert::Infallible;
use std::io;
use std::thread::{Builder as ThreadBuilder, JoinHandle};

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot::{Sender, channel};
use tokio::task::yield_now;

/// In so many turns, a full queue of states and one of messages are sent: 2 × 1024, and a task of the library sends up
/// to 128 in each turn.
const TURNS: usize = 32;

/// Runs things on the thread of the library.
#[derive(Clone, Debug)]
pub(super) struct Worker(Handle);

/// The thread, as long as this exists. When it is dropped, all connections are closed.
#[derive(Debug)]
pub(super) struct WorkerThread {
    worker: Worker,
    is_needed: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// The runtime of the thread, for the library.
    pub(super) const fn runtime(&self) -> &Handle {
        &self.0
    }

    /// Runs this when all that is in the queues has been sent, except to viewers whose connections take nothing now.
    /// What the library sends after a call of this program that is under way on the thread is sent before, too. If the
    /// thread has ended, this is not run.
    pub(super) fn after_queued(&self, then: impl FnOnce() + Send + 'static) {
        self.0.spawn(async {
            for _ in 0..TURNS {
                yield_now().await;
            }
            then();
        });
    }
}

impl WorkerThread {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let worker = Worker(runtime.handle().clone());
        let (is_needed, is_over) = channel();
        let thread = ThreadBuilder::new().name("viewer-server".into());
        let thread = thread.spawn(move || {
            let _: Result<Infallible, _> = runtime.block_on(is_over);
            // A look-up of the name of a host may take long.
            runtime.shutdown_background();
        })?;
        Ok(Self {
            worker,
            is_needed: Some(is_needed),
            thread: Some(thread),
        })
    }

    pub(super) const fn worker(&self) -> &Worker {
        &self.worker
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        self.is_needed = None;
        if let Some(thread) = self.thread.take() {
            // Its panic has been logged.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::{RecvError, bounded};

    use super::*;

    #[test]
    fn what_was_begun_before_has_had_its_turns() {
        let thread = WorkerThread::start().unwrap();
        let (said, heard) = bounded(100);
        for task in 0..20 {
            let said = said.clone();
            thread.worker().runtime().spawn(async move {
                for _ in 0..TURNS / 2 {
                    yield_now().await;
                }
                said.send(task).unwrap();
            });
        }
        thread
            .worker()
            .after_queued(move || said.send(100).unwrap());
        let mut heard: Vec<i32> = heard.iter().collect();
        assert_eq!(heard.pop(), Some(100));
        assert_eq!(heard.len(), 20);
    }

    #[test]
    fn its_end_drops_what_runs_on_it() {
        let thread = WorkerThread::start().unwrap();
        let (said, heard) = bounded::<()>(0);
        thread.worker().runtime().spawn(async move {
            std::future::pending::<()>().await;
            drop(said);
        });
        let worker = thread.worker().clone();
        drop(thread);
        assert_eq!(heard.recv(), Err(RecvError));
        worker.after_queued(|| panic!("there is no thread for it"));
    }
}
