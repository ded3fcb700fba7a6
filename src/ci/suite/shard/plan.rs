//! [`plan`]: which case is run in which shard.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::partition::Cut;

/// Which case is run in which shard. Each shard computes the same plan from the same cases and weights.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    shards: Vec<u32>,
}

impl Plan {
    /// The shard of each case, from 1, in the order in which the cases were given.
    pub fn shards(&self) -> &[u32] {
        &self.shards
    }

    /// The cases of one shard: their places in the order in which they were given.
    pub fn of(&self, shard: u32) -> impl Iterator<Item = usize> {
        let places = self.shards.iter().enumerate();
        places
            .filter(move |(_, of)| **of == shard)
            .map(|(at, _)| at)
    }

    /// XXH3-128 of the plan, in hexadecimal digits: reports of shards with different plans do not belong together.
    pub fn digest(&self) -> String {
        let bytes: Vec<u8> = self
            .shards
            .iter()
            .flat_map(|shard| shard.to_be_bytes())
            .collect();
        format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&bytes))
    }
}

/// Gives each case to one of `shards` shards, at least 1. Cases are their names, which differ, and their weights.
///
/// By weight: the heaviest case first, of equal ones that with the smaller name, each to the shard with the least
/// weight so far, of equal ones the one with the smaller number. The heaviest shard has at most 4/3 of the least weight
/// that is possible. The order in which the cases are given changes nothing.
pub fn plan(cases: &[(&str, u64)], shards: u32, cut: Cut) -> Plan {
    let mut of_case = vec![1; cases.len()];
    match cut {
        Cut::Hash => {
            for (shard, (name, _)) in of_case.iter_mut().zip(cases) {
                let rest = xxhash_rust::xxh3::xxh3_64(name.as_bytes()) % u64::from(shards.max(1));
                *shard = u32::try_from(rest).unwrap_or(0) + 1;
            }
        }
        Cut::Weight => {
            let mut order: Vec<usize> = (0..cases.len()).collect();
            order.sort_unstable_by_key(|at| (Reverse(cases[*at].1), cases[*at].0));
            // A case without a weight counts as something, too: thousands of them do not all go to one shard.
            let mut loads: BinaryHeap<Reverse<(u64, u64, u32)>> = (1..=shards.max(1))
                .map(|shard| Reverse((0, 0, shard)))
                .collect();
            for at in order {
                if let Some(mut least) = loads.peek_mut() {
                    let Reverse((load, count, shard)) = &mut *least;
                    *load = load.saturating_add(cases[at].1);
                    *count += 1;
                    of_case[at] = *shard;
                }
            }
        }
    }
    Plan { shards: of_case }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn heaviest(cases: &[(&str, u64)], plan: &Plan, shards: u32) -> u64 {
        let load = |shard| plan.of(shard).map(|at| cases[at].1).sum();
        (1..=shards).map(load).max().unwrap()
    }

    /// The least weight of the heaviest shard, by trying everything.
    fn least(weights: &[u64], loads: &mut [u64]) -> u64 {
        let Some((weight, rest)) = weights.split_first() else {
            return loads.iter().copied().max().unwrap();
        };
        let mut best = u64::MAX;
        for at in 0..loads.len() {
            loads[at] += weight;
            best = best.min(least(rest, loads));
            loads[at] -= weight;
        }
        best
    }

    #[test]
    fn the_heaviest_goes_first_and_ties_go_by_name() {
        let cases = [("a", 1), ("b", 5), ("c", 5), ("d", 4), ("e", 0)];
        assert_eq!(plan(&cases, 2, Cut::Weight).shards(), [2, 1, 2, 1, 2]);
        assert_eq!(plan(&cases, 1, Cut::Weight).shards(), [1; 5]);
        let none = [("a", 0), ("b", 0), ("c", 0), ("d", 0)];
        assert_eq!(plan(&none, 2, Cut::Weight).shards(), [1, 2, 1, 2]);
        assert_eq!(plan(&[], 3, Cut::Weight).shards(), [0; 0]);
    }

    #[test]
    fn by_hash_a_case_stays_where_it_is_whatever_others_there_are() {
        let names: Vec<String> = (0..200).map(|at| format!("case {at}")).collect();
        let cases: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let all = plan(&cases, 4, Cut::Hash);
        let half: Vec<_> = cases.iter().step_by(2).copied().collect();
        let kept: Vec<u32> = all.shards().iter().step_by(2).copied().collect();
        assert_eq!(plan(&half, 4, Cut::Hash).shards(), kept);
        assert!((1..=4).all(|shard| all.of(shard).count() > 20));
    }

    proptest! {
        #[test]
        fn every_case_is_in_one_shard_whatever_the_order(
            weights in prop::collection::vec(0_u64..1000, 0..200),
            shards in 1_u32..20,
            rotate in 0_usize..200,
            by_hash: bool,
        ) {
            let cut = if by_hash { Cut::Hash } else { Cut::Weight };
            let names: Vec<String> = (0..weights.len()).map(|at| format!("c{at}")).collect();
            let mut cases: Vec<(&str, u64)> = names.iter().map(String::as_str).zip(weights).collect();
            let first = plan(&cases, shards, cut);
            let count: usize = (1..=shards).map(|shard| first.of(shard).count()).sum();
            prop_assert_eq!(count, cases.len());
            let by_name = |cases: &[(&str, u64)], plan: &Plan| {
                let mut all: Vec<_> = cases.iter().map(|case| case.0.to_owned()).zip(plan.shards().to_vec()).collect();
                all.sort_unstable();
                all
            };
            let before = by_name(&cases, &first);
            let most = rotate.min(cases.len());
            cases.rotate_left(most);
            prop_assert_eq!(before, by_name(&cases, &plan(&cases, shards, cut)));
        }

        #[test]
        fn the_heaviest_shard_has_at_most_4_3_of_what_is_possible(
            weights in prop::collection::vec(1_u64..100, 1..9),
            shards in 1_u32..4,
        ) {
            let names: Vec<String> = (0..weights.len()).map(|at| format!("c{at}")).collect();
            let cases: Vec<(&str, u64)> = names.iter().map(String::as_str).zip(weights.clone()).collect();
            let cut = plan(&cases, shards, Cut::Weight);
            let best = least(&weights, &mut vec![0; shards as usize]);
            prop_assert!(3 * heaviest(&cases, &cut, shards) <= 4 * best);
        }
    }
}
