//! [`MetDamage`]: the damaged places of the recording that the player has met. Any thread may read it at any time.

use std::sync::{Arc, Mutex, PoisonError};

use crate::bag::Damage;

/// The most places that are kept.
const MOST: usize = 1000;

/// The damaged places that were met, each once, the first thousand of them. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct MetDamage(Arc<Mutex<Vec<Damage>>>);

impl MetDamage {
    /// Adds a place, if it is new.
    pub(crate) fn add(&self, damage: &Damage) {
        let mut met = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &Damage| known.offset == damage.offset && known.file == damage.file;
        if met.len() < MOST && !met.iter().any(is_it) {
            met.push(damage.clone());
        }
    }

    /// The places, in the order in which they were met.
    pub(crate) fn list(&self) -> Vec<Damage> {
        let met = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        met.clone()
    }
}
