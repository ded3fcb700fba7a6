//! [`LazyMemory`]: a pool that is made when it is first needed, because it takes much memory.

use std::error::Error;
use std::iter::successors;
use std::sync::{Mutex, PoisonError};

use super::SharedMemory;
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::options::SharedMemoryUse;

/// The pool of a session.
#[derive(Debug)]
pub(crate) struct LazyMemory {
    is_required: bool,
    made: Mutex<Made>,
}

#[derive(Debug)]
enum Made {
    NotYet,
    Pool(SharedMemory),
    /// The system has no room for one.
    Nothing,
}

impl LazyMemory {
    /// A pool that is not made yet. If the system has no room for one, that is an error with `On` alone.
    pub(crate) fn new(asked: SharedMemoryUse) -> Self {
        Self {
            is_required: asked == SharedMemoryUse::On,
            made: Mutex::new(Made::NotYet),
        }
    }

    /// The pool, if there is room for one. If there is none and it is not required, `events` gets a warning, once.
    pub(crate) fn get(&self, events: &Events) -> Result<Option<SharedMemory>, WireError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Made::Pool(pool) => return Ok(Some(pool.clone())),
            Made::Nothing => return Ok(None),
            Made::NotYet => {}
        }
        match SharedMemory::open(events) {
            Ok(pool) => {
                *made = Made::Pool(pool.clone());
                Ok(Some(pool))
            }
            Err(error) if self.is_required => Err(error),
            Err(error) => {
                *made = Made::Nothing;
                // The receiver of the event may ask for the pool.
                drop(made);
                events.warn(with_causes(&error));
                Ok(None)
            }
        }
    }

    /// How many bytes of it are still in use, as [`SharedMemory::held`] says.
    pub(crate) fn held(&self) -> u64 {
        match &*self.made.lock().unwrap_or_else(PoisonError::into_inner) {
            Made::Pool(pool) => pool.held(),
            Made::NotYet | Made::Nothing => 0,
        }
    }
}

fn with_causes(error: &WireError) -> String {
    let first: &dyn Error = error;
    let causes = successors(Some(first), |&error| error.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}
