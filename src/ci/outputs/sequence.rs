//! [`Sequence`]: which numbers of a publisher have come.

/// How many gaps of a publisher are kept: a number that comes late is taken for one that came before if its gap is not
/// kept.
const MOST_GAPS: usize = 128;

/// The numbers of the messages of one publisher, of which the first is 1 and each is one more than the one before.
///
/// Nothing tells whether there are numbers after the highest.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    lowest: u64,
    highest: u64,
    /// The numbers below the highest that have not come: ranges that include their ends, ascending.
    gaps: Vec<(u64, u64)>,
    /// How many have not come, also in gaps that are not kept.
    missing: u64,
    repeated: u64,
    reordered: u64,
}

impl Sequence {
    /// The first number that comes.
    pub(super) fn new(first: u64) -> Self {
        let mut this = Self {
            lowest: first,
            highest: first,
            gaps: Vec::new(),
            missing: 0,
            repeated: 0,
            reordered: 0,
        };
        this.open(1, first);
        this
    }

    pub(super) fn add(&mut self, number: u64) {
        if number > self.highest {
            self.open(self.highest + 1, number);
            self.highest = number;
            return;
        }
        let place = self.gaps.partition_point(|(_, last)| *last < number);
        let is_inside = |gap: &&mut (u64, u64)| gap.0 <= number;
        if let Some(gap) = self.gaps.get_mut(place).filter(is_inside) {
            let (first, last) = *gap;
            // What is left of it: before the number, and after it.
            *gap = (number + 1, last);
            if number == last {
                self.gaps.remove(place);
            }
            if first < number {
                self.gaps.insert(place, (first, number - 1));
                self.forget();
            }
            self.came_late(number);
        } else if number < self.lowest {
            self.came_late(number);
        } else {
            self.repeated += 1;
        }
    }

    /// The numbers from `first` on and below `end` have not come.
    fn open(&mut self, first: u64, end: u64) {
        if first < end {
            self.gaps.push((first, end - 1));
            self.missing = self.missing.saturating_add(end - first);
            self.forget();
        }
    }

    fn forget(&mut self) {
        if self.gaps.len() > MOST_GAPS {
            self.gaps.remove(0);
        }
    }

    fn came_late(&mut self, number: u64) {
        self.reordered += 1;
        self.lowest = self.lowest.min(number);
        if number > 0 {
            self.missing = self.missing.saturating_sub(1);
        }
    }

    /// How many numbers there are before the lowest that has come.
    pub(super) fn earlier(&self) -> u64 {
        self.lowest.saturating_sub(1)
    }

    /// How many numbers have not come between the lowest and the highest that have.
    pub(super) fn lost(&self) -> u64 {
        self.missing.saturating_sub(self.earlier())
    }

    /// How many came that had come before.
    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }

    /// How many came after a higher one.
    pub(super) fn reordered(&self) -> u64 {
        self.reordered
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn of(numbers: &[u64]) -> Sequence {
        let mut sequence = Sequence::new(numbers[0]);
        for number in &numbers[1..] {
            sequence.add(*number);
        }
        sequence
    }

    fn counts(numbers: &[u64]) -> [u64; 4] {
        let of = of(numbers);
        [of.earlier(), of.lost(), of.repeated(), of.reordered()]
    }

    #[test]
    fn each_irregularity_is_counted_by_itself() {
        for (numbers, counted) in [
            (vec![1, 2, 3], [0, 0, 0, 0]),
            (vec![1, 4, 6], [0, 3, 0, 0]),
            (vec![7, 8, 10], [6, 1, 0, 0]),
            // A number that came twice fills no gap.
            (vec![1, 2, 2, 4], [0, 1, 1, 0]),
            (vec![1, 2, 4, 4, 2], [0, 1, 2, 0]),
            (vec![1, 4, 2, 3], [0, 0, 0, 2]),
            (vec![5, 3, 6], [2, 1, 0, 1]),
            (vec![2, 1, 3], [0, 0, 0, 1]),
            // Some publishers begin with 0.
            (vec![0, 1, 3], [0, 1, 0, 0]),
            (vec![1, 0, 2], [0, 0, 0, 1]),
        ] {
            assert_eq!(counts(&numbers), counted, "{numbers:?}");
        }
    }

    #[test]
    fn numbers_without_end_take_a_bounded_amount_of_memory() {
        let even: Vec<u64> = (1..10_000).map(|number| 2 * number).collect();
        let sequence = of(&even);
        assert_eq!((sequence.earlier(), sequence.lost()), (1, 9_998));
        assert!(sequence.gaps.len() <= MOST_GAPS);
        let highest = i64::MAX.unsigned_abs();
        let far = of(&[highest, 0, 3]);
        assert_eq!((far.earlier(), far.lost()), (0, highest - 2));
    }

    proptest! {
        #[test]
        fn the_counts_are_those_of_a_set(numbers in proptest::collection::vec(1..200_u64, 1..150)) {
            let came: BTreeSet<u64> = numbers.iter().copied().collect();
            let (lowest, highest) = (*came.first().unwrap(), *came.last().unwrap());
            let distinct = came.len() as u64;
            let mut highest_yet = 0;
            let mut seen = BTreeSet::new();
            let mut late = 0;
            for number in &numbers {
                if seen.insert(*number) && *number < highest_yet { late += 1; }
                highest_yet = highest_yet.max(*number);
            }
            let expected = [lowest - 1, highest - lowest + 1 - distinct, numbers.len() as u64 - distinct, late];
            prop_assert_eq!(counts(&numbers), expected);
        }
    }
}
