//! [`Learner`]: looks for messages of latched topics in chunks, in the background, from the first cue with refills on.
//! The first jump then finds what it needs without opening all chunks before its target.
//!
//! It has the lowest priority. Until it has finished, the largest chunk that it will open is counted in the byte
//! budget, so the bound of the read-ahead holds. Chunks larger than a quarter of the budget are left to the jump.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use super::priority::step_far_back;
use crate::bag::decompress::budget::{Budget, Meter};
use crate::bag::recording::Bag;
use crate::bag::walk::selection::Selection;

/// A chunk may take one part in this many of the budget.
const SHARE: u64 = 4;

/// A thread that ends when it has finished or is dropped.
#[derive(Debug)]
pub(crate) struct Learner {
    /// The meter of the chunk that is open; closed to end the thread.
    meter: Arc<Meter>,
    thread: Option<JoinHandle<()>>,
}

impl Learner {
    /// Starts the thread. If it cannot be started, jumps open the chunks themselves.
    pub(crate) fn start(bag: &Bag, topics: &Selection, budget: &Arc<Budget>) -> Self {
        let meter = Meter::unbounded();
        let shared_meter = Meter::new(budget);
        let (bag, topics, own) = (bag.clone(), topics.clone(), Arc::clone(&meter));
        let work = move || {
            step_far_back();
            bag.learn_latched(&topics, shared_meter.limit() / SHARE, (&shared_meter, &own));
        };
        let spawned = Builder::new().name("bag-learn".to_owned()).spawn(work);
        if let Err(error) = &spawned {
            tracing::debug!("latched messages are not looked up in the background: {error}");
        }
        Self {
            meter,
            thread: spawned.ok(),
        }
    }

    /// Whether the thread is running.
    pub(crate) fn is_busy(&self) -> bool {
        self.thread.as_ref().is_some_and(|it| !it.is_finished())
    }
}

impl Drop for Learner {
    fn drop(&mut self) {
        self.meter.close();
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by its thread.
            let _ = thread.join();
        }
    }
}
