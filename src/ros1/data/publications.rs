//! [`Publications`]: the topics of this node, for all threads.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::publication::Publication;

/// The topics of this node, by name.
#[derive(Debug, Default)]
pub(crate) struct Publications {
    by_name: RwLock<BTreeMap<String, Arc<Publication>>>,
}

/// The topic of the clock.
pub(crate) const CLOCK: &str = "/clock";

type ByName = BTreeMap<String, Arc<Publication>>;

impl Publications {
    fn read(&self) -> RwLockReadGuard<'_, ByName> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ByName> {
        self.by_name.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The topic of this name.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<Publication>> {
        self.read().get(name).cloned()
    }

    /// All topics.
    pub(crate) fn all(&self) -> Vec<Arc<Publication>> {
        self.read().values().cloned().collect()
    }

    /// Adds a topic.
    pub(crate) fn add(&self, publication: Arc<Publication>) {
        let name = publication.advertised.name.clone();
        self.write().insert(name, publication);
    }

    /// Removes a topic.
    pub(crate) fn remove(&self, name: &str) {
        self.write().remove(name);
    }
}
