//! [`Admitted`]: what is made once for each key, up to a number of keys.

use std::collections::HashMap;
use std::hash::Hash;

/// What was made for each key.
#[derive(Debug)]
pub(super) struct Admitted<K, V> {
    most: usize,
    all: HashMap<K, V>,
    has_refused: bool,
}

/// What there is for a key.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Admission<'a, V> {
    /// This.
    Is(&'a V),
    /// Nothing: as many other keys as are allowed came before it.
    Refused {
        /// Whether no key was refused before.
        is_first: bool,
    },
}

impl<K: Eq + Hash, V> Admitted<K, V> {
    /// For so many keys at most.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            all: HashMap::new(),
            has_refused: false,
        }
    }

    /// What there is for a key. For a new one it is made, from the number of those before it.
    pub(super) fn admit(&mut self, key: K, make: impl FnOnce(usize) -> V) -> Admission<'_, V> {
        let number = self.all.len();
        if number >= self.most && !self.all.contains_key(&key) {
            let is_first = !std::mem::replace(&mut self.has_refused, true);
            return Admission::Refused { is_first };
        }
        Admission::Is(self.all.entry(key).or_insert_with(|| make(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_are_allowed_are_no_reason_to_refuse_any() {
        let mut admitted = Admitted::new(2);
        for (key, made) in [('a', 0), ('b', 1), ('a', 0), ('b', 1)] {
            assert_eq!(admitted.admit(key, |number| number), Admission::Is(&made));
        }
        for is_first in [true, false] {
            let refused = Admission::Refused { is_first };
            assert_eq!(admitted.admit('c', |number| number), refused);
        }
        assert_eq!(admitted.admit('a', |number| number), Admission::Is(&0));
    }
}
