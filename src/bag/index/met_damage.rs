//! [`MetDamage`]: the damaged places that the readers of a bag have met, whatever they read for. Any thread may read it
//! at any time.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bag::damage::{Damage, DamagedPlace};

/// The most places that are kept.
const MOST: usize = 1000;

/// The damaged places that were met, each once, the first thousand of them.
#[derive(Debug, Default)]
pub(crate) struct MetDamage(Mutex<Met>);

#[derive(Debug, Default)]
struct Met {
    list: Vec<Damage>,
    places: HashSet<DamagedPlace>,
}

impl MetDamage {
    /// Adds a place, if it is new.
    pub(crate) fn add(&self, damage: &Damage) {
        let mut met = self.lock();
        if met.list.len() < MOST && met.places.insert(damage.place()) {
            met.list.push(damage.clone());
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.lock().list.len() as u64
    }

    /// The places, in the order in which they were met.
    pub(crate) fn list(&self) -> Vec<Damage> {
        self.lock().list.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Met> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::damage::DamageKind;

    #[test]
    fn a_place_is_kept_once_for_each_kind_of_damage() {
        let met = MetDamage::default();
        let damage = |file: &str, offset, kind| Damage {
            file: file.into(),
            offset,
            kind,
            detail: String::new(),
        };
        let places = [
            damage("a", 1, DamageKind::Checksum),
            damage("a", 1, DamageKind::Framing),
            damage("a", 2, DamageKind::Framing),
            damage("b", 2, DamageKind::Framing),
        ];
        for one in places.iter().chain(&places) {
            met.add(one);
        }
        assert_eq!((met.list(), met.count()), (places.to_vec(), 4));
        for offset in 10..10 + 2 * MOST as u64 {
            met.add(&damage("a", offset, DamageKind::Checksum));
        }
        assert_eq!(met.count(), MOST as u64);
    }
}
