//! [`KnownDamage`]: the damaged places of a recording that are known. Any thread may add to it and read it at any time.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::bag::damage::{Damage, DamageKind, DamagedPlace};
use crate::untrusted::FileName;

/// The most places that are kept.
const MOST: usize = 1000;
/// The most places that are counted: a million, so that a hostile file cannot fill the memory.
const MOST_COUNTED: usize = 1_000_000;

/// The damaged places of a recording that are known: found when it was opened, or met since by a reader, whatever it
/// read for. Each counts once. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct KnownDamage(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    places: HashSet<DamagedPlace>,
    /// The first thousand, in the order in which they became known.
    list: Vec<Damage>,
    /// Of each kind in each file the first place, and how many there are.
    kinds: Vec<(Damage, u64)>,
    /// Where these are in `kinds`.
    place_of_kind: HashMap<(DamageKind, FileName), usize>,
}

impl KnownDamage {
    /// Adds a place, if it is new.
    pub(crate) fn add(&self, damage: &Damage) {
        let mut known = self.lock();
        let known = &mut *known;
        if known.places.len() >= MOST_COUNTED || !known.places.insert(damage.place()) {
            return;
        }
        if known.list.len() < MOST {
            known.list.push(damage.clone());
        }
        let kind = (damage.kind, damage.file.clone());
        let at = *known.place_of_kind.entry(kind).or_insert(known.kinds.len());
        match known.kinds.get_mut(at) {
            Some((_, count)) => *count += 1,
            None => known.kinds.push((damage.clone(), 1)),
        }
    }

    /// How many there are; at most a million are counted.
    pub(crate) fn count(&self) -> u64 {
        self.lock().places.len() as u64
    }

    /// The first thousand places, in the order in which they became known.
    pub(crate) fn list(&self) -> Vec<Damage> {
        self.lock().list.clone()
    }

    /// Of each kind in each file the first place, and how many places there are.
    pub fn kinds(&self) -> Vec<(Damage, u64)> {
        self.lock().kinds.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_once_for_each_kind_of_damage_whoever_meets_it() {
        let known = KnownDamage::default();
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
        let other_reader = known.clone();
        for one in &places {
            known.add(one);
            other_reader.add(one);
        }
        assert_eq!((known.list(), known.count()), (places.to_vec(), 4));
        let kinds = [(0, 1), (1, 2), (3, 1)].map(|(at, count)| (places[at].clone(), count));
        assert_eq!(known.kinds(), kinds);
        for offset in 10..10 + 2 * MOST as u64 {
            known.add(&damage("a", offset, DamageKind::Checksum));
        }
        assert_eq!(
            (known.list().len(), known.count()),
            (MOST, 2 * MOST as u64 + 4)
        );
    }
}
