//! [`Source`]: the messages of one publisher, each once and in their order, whichever way they come.
//!
//! A latched publisher is asked for what it keeps. Its answer and what it publishes meanwhile come in any order, and
//! some messages come both ways. So what comes until the answer is complete is held.

use std::collections::{BTreeMap, BTreeSet};

/// Added to the first number of a publisher to get its place, so that messages with smaller numbers have places, too.
const FIRST: u64 = 1 << 32;
/// How many times are remembered, to recognise messages that come again. Once there are so many, an earlier time
/// counts as known.
const MOST_TIMES: usize = 4096;

/// Where a message is among those of its publisher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    /// Its number, which counts on by one and wraps.
    Number(u32),
    /// The time of its publication, in any unit. Publishers of one session share their times.
    Time(u64),
}

/// What has come of one publisher whose messages have numbers, or of all publishers of a session whose messages have
/// times.
#[derive(Debug)]
pub(super) struct Source<T> {
    /// The place of the last message with a number that was handed over.
    last: Option<u64>,
    /// The newest times that were handed over.
    times: BTreeSet<u64>,
    /// What has come since the publisher was asked, by place.
    held: BTreeMap<u64, (Mark, T)>,
    /// The size of all that is held, in bytes.
    held_bytes: usize,
    /// Whether the publisher was asked, and its answer is not complete.
    is_asked: bool,
}

/// Which messages to ask a publisher for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// All that it keeps.
    All,
    /// Those from this number on.
    From(u32),
}

impl<T> Source<T> {
    /// A publisher of which nothing has come.
    pub(super) fn new() -> Self {
        Self {
            last: None,
            times: BTreeSet::new(),
            held: BTreeMap::new(),
            held_bytes: 0,
            is_asked: false,
        }
    }

    /// The size of all that is held, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Takes a message of so many bytes, which is handed over, held, or dropped if it was handed over before. If
    /// messages may be missing before it, returns those for which the publisher is to be asked.
    pub(super) fn take(
        &mut self,
        mark: Mark,
        message: T,
        bytes: usize,
        hand_over: &mut dyn FnMut(T),
    ) -> Option<Wanted> {
        let place = self.place(mark);
        if self.has_been(mark, place) {
            return None;
        }
        let is_next = self.is_next(mark, place);
        if is_next && !self.is_asked {
            self.handed_over(mark, place);
            hand_over(message);
            return None;
        }
        // A message that comes twice is held once.
        self.held.entry(place).or_insert_with(|| {
            self.held_bytes += bytes;
            (mark, message)
        });
        self.ask()
    }

    /// Marks the publisher as asked, and returns what to ask it for; `None` if its last answer is not complete.
    pub(super) fn ask(&mut self) -> Option<Wanted> {
        if std::mem::replace(&mut self.is_asked, true) {
            return None;
        }
        let next = self.last.map(|last| low_half(last.wrapping_add(1)));
        Some(next.map_or(Wanted::All, Wanted::From))
    }

    /// The answer is complete: hands over what is held. What is missing now is lost.
    pub(super) fn answered(&mut self, hand_over: &mut dyn FnMut(T)) {
        self.is_asked = false;
        self.hand_over_held(hand_over);
    }

    /// Hands over what is held before the answer is complete. Of what comes later, smaller numbers are dropped, earlier
    /// times are handed over.
    pub(super) fn hand_over_held(&mut self, hand_over: &mut dyn FnMut(T)) {
        self.held_bytes = 0;
        for (place, (mark, message)) in std::mem::take(&mut self.held) {
            self.handed_over(mark, place);
            hand_over(message);
        }
    }

    /// Whether this number is later than all that were handed over.
    pub(super) fn is_new(&self, number: u32) -> bool {
        let mark = Mark::Number(number);
        !self.has_been(mark, self.place(mark))
    }

    /// Whether this message, or one with a later number, was handed over.
    fn has_been(&self, mark: Mark, place: u64) -> bool {
        match mark {
            Mark::Number(_) => self.last.is_some_and(|last| place <= last),
            Mark::Time(_) => {
                let is_full = self.times.len() >= MOST_TIMES;
                let is_before = |first: &u64| place < *first;
                self.times.contains(&place)
                    || (is_full && self.times.first().is_some_and(is_before))
            }
        }
    }

    /// Whether a message follows the last one directly, as far as its mark shows that.
    fn is_next(&self, mark: Mark, place: u64) -> bool {
        match mark {
            Mark::Number(_) => self.last.is_some_and(|last| place - last == 1),
            Mark::Time(_) => !self.times.is_empty(),
        }
    }

    fn handed_over(&mut self, mark: Mark, place: u64) {
        match mark {
            Mark::Number(_) => self.last = Some(place),
            Mark::Time(_) => {
                self.times.insert(place);
                if self.times.len() > MOST_TIMES {
                    self.times.pop_first();
                }
            }
        }
    }

    fn place(&self, mark: Mark) -> u64 {
        let number = match mark {
            Mark::Number(number) => number,
            Mark::Time(time) => return time,
        };
        let known = self.last.or_else(|| self.held.keys().next().copied());
        let Some(known) = known else {
            return FIRST | u64::from(number);
        };
        // The nearest place with this number.
        let ahead = number.wrapping_sub(low_half(known)).cast_signed();
        known.saturating_add_signed(ahead.into())
    }
}

/// The number that belongs to a place.
fn low_half(place: u64) -> u32 {
    let [a, b, c, d, ..] = place.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A source, and what it has handed over.
    struct Checked {
        source: Source<Mark>,
        out: Vec<Mark>,
    }

    impl Checked {
        fn new() -> Self {
            Self {
                source: Source::new(),
                out: Vec::new(),
            }
        }

        fn take(&mut self, mark: Mark) -> Option<Wanted> {
            self.source.take(mark, mark, 1, &mut |it| self.out.push(it))
        }

        fn number(&mut self, number: u32) -> Option<Wanted> {
            self.take(Mark::Number(number))
        }

        fn answered(&mut self) {
            self.source.answered(&mut |it| self.out.push(it));
        }

        fn numbers(&self) -> Vec<u32> {
            let number = |mark: &Mark| match mark {
                Mark::Number(number) => *number,
                Mark::Time(time) => panic!("time {time}"),
            };
            self.out.iter().map(number).collect()
        }
    }

    #[test]
    fn what_is_published_meanwhile_waits_for_the_answer() {
        let mut checked = Checked::new();
        assert_eq!(checked.source.ask(), Some(Wanted::All));
        assert_eq!(checked.source.ask(), None, "it is being asked");
        for number in [4, 2, 3, 4] {
            assert_eq!(checked.number(number), None);
        }
        assert_eq!((checked.out.len(), checked.source.held_bytes()), (0, 3));
        checked.answered();
        assert_eq!((checked.number(5), checked.number(3)), (None, None));
        assert_eq!(checked.numbers(), [2, 3, 4, 5]);
        assert_eq!(checked.source.held_bytes(), 0);
    }

    #[test]
    fn the_publisher_is_asked_for_what_is_missing() {
        let mut checked = Checked::new();
        assert_eq!(checked.number(1), Some(Wanted::All));
        checked.answered();
        assert_eq!(checked.number(2), None);
        assert_eq!(checked.number(5), Some(Wanted::From(3)));
        for number in [3, 6] {
            assert_eq!(checked.number(number), None);
        }
        checked.answered();
        // The fourth is lost.
        assert_eq!(checked.numbers(), [1, 2, 3, 5, 6]);
        assert!(!checked.source.is_new(6) && checked.source.is_new(7));
    }

    #[test]
    fn numbers_wrap() {
        let mut checked = Checked::new();
        assert_eq!(checked.number(u32::MAX - 1), Some(Wanted::All));
        checked.answered();
        assert_eq!(checked.number(u32::MAX), None);
        assert_eq!(checked.source.ask(), Some(Wanted::From(0)));
        checked.answered();
        assert_eq!(checked.number(1), Some(Wanted::From(0)));
        assert_eq!(checked.number(0), None);
        checked.answered();
        assert_eq!(checked.numbers(), [u32::MAX - 1, u32::MAX, 0, 1]);
    }

    #[test]
    fn times_show_no_gaps_and_none_is_handed_over_twice() {
        let mut checked = Checked::new();
        let times = |times: &[u64]| times.iter().map(|it| Mark::Time(*it)).collect::<Vec<_>>();
        assert_eq!(checked.take(Mark::Time(100)), Some(Wanted::All));
        assert_eq!(checked.take(Mark::Time(50)), None);
        checked.answered();
        // Of two publishers of one session.
        for mark in times(&[900, u64::MAX, 800, 900]) {
            assert_eq!(checked.take(mark), None);
        }
        // The token comes again: the publisher sends all that it keeps once more.
        assert_eq!(checked.source.ask(), Some(Wanted::All));
        for mark in times(&[100, 900, 950]) {
            assert_eq!(checked.take(mark), None);
        }
        checked.answered();
        let expected = times(&[50, 100, 900, u64::MAX, 800, 950]);
        assert_eq!(checked.out, expected);
        for time in 1000..1000 + MOST_TIMES as u64 {
            checked.take(Mark::Time(time));
        }
        checked.take(Mark::Time(100));
        assert_eq!(checked.out.len(), expected.len() + MOST_TIMES);
    }

    #[test]
    fn what_is_held_can_be_handed_over_before_the_answer_is_complete() {
        let mut checked = Checked::new();
        checked.source.ask();
        checked.number(7);
        checked
            .source
            .hand_over_held(&mut |it| checked.out.push(it));
        assert_eq!((checked.number(6), checked.number(8)), (None, None));
        checked.answered();
        assert_eq!(checked.numbers(), [7, 8]);
    }

    proptest! {
        /// A latched publisher keeps eight messages and publishes eight more while it is asked. Some of them come with
        /// its answer, some as they are published, some both ways, in any order; then it is asked for what is missing.
        #[test]
        fn all_that_comes_is_handed_over_once_in_order(
            first in prop_oneof![Just(0), Just(u32::MAX - 3), any::<u32>()],
            order in Just((0_u32..16).chain(4..16).collect::<Vec<_>>()).prop_shuffle(),
            live in 0_usize..28,
        ) {
            let mut checked = Checked::new();
            let number = |at: u32| first.wrapping_add(at);
            checked.source.ask();
            let (meanwhile, later) = order.split_at(live);
            for at in meanwhile {
                prop_assert_eq!(checked.number(number(*at)), None);
            }
            checked.answered();
            // What comes now is handed over or dropped, never twice or out of order.
            for at in later {
                if checked.number(number(*at)).is_some() {
                    checked.answered();
                }
            }
            let places: Vec<u32> = checked.numbers().iter().map(|it| it.wrapping_sub(first)).collect();
            prop_assert!(places.is_sorted_by(|a, b| a < b), "{:?}", places);
            let came_first: std::collections::BTreeSet<u32> = meanwhile.iter().copied().collect();
            prop_assert!(came_first.iter().all(|at| places.contains(at)), "{:?}", places);
        }
    }
}
