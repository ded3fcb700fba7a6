//! [`Learner`]: looks into chunks for messages of latched topics in the background, from the first cue on that sends
//! latched messages again. The first jump then finds what it needs without opening all chunks before it.
//!
//! It has the lowest priority. The largest chunk that it opens is taken from the byte budget until it has
//! finished, so the bound of the read-ahead holds. Chunks above a quarter of the budget are left to the jump.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use super::priority::step_far_back;
use crate::bag::decompress::budget::{Budget, Meter};
use crate::bag::recording::Bag;
use crate::bag::walk::selection::Selection;

/// Which part of the budget a chunk may take.
const SHARE: u64 = 4;

/// A thread that ends when it has finished, or is dropped.
#[derive(Debug)]
pub(crate) struct Learner {
    /// Of the chunk that is open; closed to end the thread.
    meter: Arc<Meter>,
    thread: Option<JoinHandle<()>>,
}

impl Learner {
    /// Starts the thread. Without one, jumps open the chunks themselves.
    pub(crate) fn start(bag: &Bag, topics: &Selection, budget: &Arc<Budget>) -> Self {
        let meter = Meter::unbounded();
        let account = Meter::new(budget);
        let (bag, topics, own) = (bag.clone(), topics.clone(), Arc::clone(&meter));
        let work = move || {
            step_far_back();
            bag.learn_latched(&topics, account.limit() / SHARE, (&account, &own));
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

    /// Whether it is at work.
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
