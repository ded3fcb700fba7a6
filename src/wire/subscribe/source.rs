//! [`Source`]: the messages of one publisher, each once and in their order, whichever way they come.
//!
//! A latched publisher is asked for what it keeps. Its answer and what it publishes meanwhile come in any order, and
//! some messages come both ways. So what comes until the answer is complete is held.

use std::collections::BTreeMap;

/// The first place of a source whose messages have numbers: earlier ones have room before it.
const FIRST: u64 = 1 << 32;

/// Where a message is among those of its publisher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    /// Its number, which counts on by one and wraps.
    Number(u32),
    /// The time of its publication, in any unit.
    Time(u64),
}

/// What has come of one publisher.
#[derive(Debug)]
pub(super) struct Source<T> {
    /// The place of the last message that was handed over.
    last: Option<u64>,
    /// What has come since the publisher was asked, by place, each with its size in bytes.
    held: BTreeMap<u64, (T, usize)>,
    /// The size of all that is held, in bytes.
    held_bytes: usize,
    /// Whether the answer of the publisher is not complete.
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
            held: BTreeMap::new(),
            held_bytes: 0,
            is_asked: false,
        }
    }

    /// The size of all that is held, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Takes a message of so many bytes, which is handed over, held, or dropped if it was handed over before. Returns
    /// whether the publisher has to be asked: if messages may be missing before this one, and `asks`.
    pub(super) fn take(
        &mut self,
        mark: Mark,
        message: T,
        bytes: usize,
        asks: bool,
        hand_over: &mut dyn FnMut(T),
    ) -> bool {
        let place = self.place(mark);
        if self.last.is_some_and(|last| place <= last) {
            return false;
        }
        let follows = match (self.last, mark) {
            (None, _) => false,
            (Some(last), Mark::Number(_)) => place == last + 1,
            (Some(_), Mark::Time(_)) => true,
        };
        let has_to_ask = asks && !follows && !self.is_asked;
        if self.is_asked || has_to_ask {
            // A message that comes twice is held once.
            self.held.entry(place).or_insert_with(|| {
                self.held_bytes += bytes;
                (message, bytes)
            });
        } else {
            self.last = Some(place);
            hand_over(message);
        }
        has_to_ask
    }

    /// Begins to ask the publisher; `None` if its last answer is not complete.
    pub(super) fn ask(&mut self) -> Option<Wanted> {
        if std::mem::replace(&mut self.is_asked, true) {
            return None;
        }
        let next = self.last.map(|last| low_half(last + 1));
        Some(next.map_or(Wanted::All, Wanted::From))
    }

    /// The answer is complete: hands over what is held. What is missing now is lost.
    pub(super) fn answered(&mut self, hand_over: &mut dyn FnMut(T)) {
        self.is_asked = false;
        self.hand_over_held(hand_over);
    }

    /// Hands over what is held, although earlier messages may come; those are dropped then.
    pub(super) fn hand_over_held(&mut self, hand_over: &mut dyn FnMut(T)) {
        for (place, (message, bytes)) in std::mem::take(&mut self.held) {
            self.held_bytes -= bytes;
            self.last = Some(place);
            hand_over(message);
        }
    }

    /// Whether this number is later than all that were handed over.
    pub(super) fn is_new(&self, number: u32) -> bool {
        let place = self.place(Mark::Number(number));
        self.last.is_none_or(|last| place > last)
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
        // The place near the known one.
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

    /// A source, and the numbers that it has handed over.
    struct Checked {
        source: Source<u32>,
        out: Vec<u32>,
    }

    impl Checked {
        fn new() -> Self {
            Self {
                source: Source::new(),
                out: Vec::new(),
            }
        }

        fn take(&mut self, number: u32) -> bool {
            let mut out = |it| self.out.push(it);
            let mark = Mark::Number(number);
            self.source.take(mark, number, 1, true, &mut out)
        }

        fn answered(&mut self) {
            let mut out = |it| self.out.push(it);
            self.source.answered(&mut out);
        }
    }

    #[test]
    fn what_is_published_meanwhile_waits_for_the_answer() {
        let mut checked = Checked::new();
        assert_eq!(checked.source.ask(), Some(Wanted::All));
        assert_eq!(checked.source.ask(), None, "it is being asked");
        for number in [4, 2, 3, 4] {
            assert!(!checked.take(number));
        }
        assert_eq!((checked.out.len(), checked.source.held_bytes()), (0, 3));
        checked.answered();
        assert!(!checked.take(5) && !checked.take(3));
        assert_eq!(checked.out, [2, 3, 4, 5]);
        assert_eq!(checked.source.held_bytes(), 0);
    }

    #[test]
    fn the_publisher_is_asked_for_what_is_missing() {
        let mut checked = Checked::new();
        assert!(checked.take(1), "what came before");
        assert_eq!(checked.source.ask(), Some(Wanted::All));
        checked.answered();
        assert!(!checked.take(2));
        assert!(checked.take(5) && checked.source.is_new(5));
        assert_eq!(checked.source.ask(), Some(Wanted::From(3)));
        for number in [3, 6] {
            assert!(!checked.take(number));
        }
        checked.answered();
        // The fourth is lost.
        assert_eq!(checked.out, [1, 2, 3, 5, 6]);
        assert!(!checked.source.is_new(6) && checked.source.is_new(7));
    }

    #[test]
    fn who_does_not_ask_gets_messages_as_they_come() {
        let (mut source, mut out) = (Source::new(), Vec::new());
        for number in [3, 4, 9, 8, 9] {
            let mark = Mark::Number(number);
            assert!(!source.take(mark, number, 1, false, &mut |it| out.push(it)));
        }
        assert_eq!(out, [3, 4, 9]);
    }

    #[test]
    fn times_have_no_gaps() {
        let (mut source, mut out) = (Source::new(), Vec::new());
        let take = |source: &mut Source<u64>, time, out: &mut Vec<u64>| {
            source.take(Mark::Time(time), time, 1, true, &mut |it| out.push(it))
        };
        assert!(take(&mut source, 100, &mut out), "what came before");
        assert_eq!(source.ask(), Some(Wanted::All));
        assert!(!take(&mut source, 50, &mut out));
        source.answered(&mut |it| out.push(it));
        assert!(!take(&mut source, 900, &mut out) && !take(&mut source, 800, &mut out));
        assert_eq!(out, [50, 100, 900]);
    }

    #[test]
    fn what_is_too_much_to_hold_is_handed_over() {
        let mut checked = Checked::new();
        checked.source.ask();
        checked.take(7);
        let mut out = |it| checked.out.push(it);
        checked.source.hand_over_held(&mut out);
        assert!(!checked.take(6) && !checked.take(8));
        checked.answered();
        assert_eq!(checked.out, [7, 8]);
    }

    proptest! {
        /// Live messages and answers in any order, as a latched publisher with any first number sends them: what has
        /// come is handed over once, in order.
        #[test]
        fn all_that_has_come_is_handed_over_once_in_order(
            first in prop_oneof![Just(0), Just(u32::MAX - 3), any::<u32>()],
            live_from in 0_u32..8,
            order in Just((0_u32..16).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let mut checked = Checked::new();
            let number = |at: u32| first.wrapping_add(at);
            checked.source.ask();
            // Eight are kept, and come in the answer; those from `live_from` on come also as they are published.
            for step in order {
                match step {
                    kept @ 0..8 => checked.take(number(kept)),
                    live => live < 8 + live_from || checked.take(number(live - 8)),
                };
            }
            checked.answered();
            for live in 8..12 {
                prop_assert!(!checked.take(number(live)));
            }
            prop_assert_eq!(checked.out, (0..12).map(number).collect::<Vec<_>>());
        }
    }
}
