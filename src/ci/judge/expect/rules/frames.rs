//! [`Frames`]: the transforms of a recording, and whether one frame can be reached from another.

use std::collections::{BTreeMap, BTreeSet};

/// How many pairs of frames are kept.
const MAX_EDGES: usize = 100_000;
/// How many frames a search visits, as in tf2.
const MAX_DEPTH: usize = 1_000;

/// The stamps for which a transform is known, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Known {
    first: i64,
    last: i64,
}

/// The time at which a transform is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// At this stamp, in nanoseconds.
    At(i64),
    /// The newest of each.
    Latest,
}

/// Which frame was defined in which, and for which stamps. As in tf2, a transform is known between its first and its
/// last stamp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    /// By child, then by parent.
    parents: BTreeMap<String, BTreeMap<String, Known>>,
    edges: usize,
    is_full: bool,
}

impl Frames {
    /// A transform from a parent to a child; `None` for one that holds at all times. Leading slashes do not count.
    pub(crate) fn add(&mut self, parent: &str, child: &str, stamp: Option<i64>) {
        let known = stamp.map_or(
            Known {
                first: i64::MIN,
                last: i64::MAX,
            },
            |stamp| Known {
                first: stamp,
                last: stamp,
            },
        );
        let (parent, child) = (plain(parent), plain(child));
        if let Some(of) = self
            .parents
            .get_mut(child)
            .and_then(|of| of.get_mut(parent))
        {
            of.first = of.first.min(known.first);
            of.last = of.last.max(known.last);
        } else if self.edges < MAX_EDGES {
            let of = self.parents.entry(child.to_owned()).or_default();
            of.insert(parent.to_owned(), known);
            self.edges += 1;
        } else {
            self.is_full = true;
        }
    }

    /// Whether there were more frames than are kept.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether both frames have an ancestor in common, by transforms that are known at this time.
    pub(crate) fn are_connected(&self, a: &str, b: &str, at: Wanted) -> bool {
        let (a, b) = (plain(a), plain(b));
        let above = self.above(a, at);
        a == b || !above.is_disjoint(&self.above(b, at))
    }

    /// Why the frames are not connected at this time.
    pub(crate) fn missing(&self, a: &str, b: &str) -> String {
        let is_known = |frame: &str| {
            let is_parent = |of: &BTreeMap<String, Known>| of.contains_key(frame);
            self.parents.contains_key(frame) || self.parents.values().any(is_parent)
        };
        let unknown: Vec<_> = [plain(a), plain(b)]
            .into_iter()
            .filter(|frame| !is_known(frame))
            .collect();
        match unknown[..] {
            [one] => format!("there is no frame `{one}`"),
            [one, other, ..] => format!("there are no frames `{one}` and `{other}`"),
            [] if self.are_connected(a, b, Wanted::Latest) => {
                "no transform is known for that time".to_owned()
            }
            [] => "they are in different trees".to_owned(),
        }
    }

    /// The frame and all in which it is defined.
    fn above<'f>(&'f self, frame: &'f str, at: Wanted) -> BTreeSet<&'f str> {
        let mut above = BTreeSet::from([frame]);
        let mut next = vec![frame];
        while let Some(child) = next.pop() {
            if above.len() > MAX_DEPTH {
                break;
            }
            for (parent, known) in self.parents.get(child).into_iter().flatten() {
                let is_known = match at {
                    Wanted::At(stamp) => known.first <= stamp && stamp <= known.last,
                    Wanted::Latest => true,
                };
                if is_known && above.insert(parent) {
                    next.push(parent);
                }
            }
        }
        above
    }
}

fn plain(frame: &str) -> &str {
    frame.strip_prefix('/').unwrap_or(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_connected_by_transforms_that_are_known_at_the_time() {
        let mut frames = Frames::default();
        frames.add("map", "odom", Some(10));
        frames.add("map", "odom", Some(20));
        frames.add("odom", "/base", Some(5));
        frames.add("odom", "base", Some(15));
        frames.add("/base", "lidar", None);
        frames.add("world", "dock", None);
        for (a, b, at, is_connected) in [
            ("map", "lidar", Wanted::At(12), true),
            ("lidar", "/map", Wanted::At(10), true),
            ("map", "lidar", Wanted::At(9), false),
            ("odom", "lidar", Wanted::At(9), true),
            ("map", "lidar", Wanted::At(16), false),
            ("map", "odom", Wanted::At(16), true),
            ("map", "lidar", Wanted::Latest, true),
            ("map", "dock", Wanted::Latest, false),
            ("map", "nowhere", Wanted::Latest, false),
            ("nowhere", "nowhere", Wanted::Latest, true),
        ] {
            assert_eq!(
                frames.are_connected(a, b, at),
                is_connected,
                "{a} {b} {at:?}"
            );
        }
        assert_eq!(frames.missing("map", "dock"), "they are in different trees");
        assert_eq!(frames.missing("map", "x"), "there is no frame `x`");
        assert_eq!(
            frames.missing("map", "lidar"),
            "no transform is known for that time"
        );
    }

    #[test]
    fn a_circle_of_frames_ends_the_search() {
        let mut frames = Frames::default();
        frames.add("a", "b", None);
        frames.add("b", "a", None);
        assert!(!frames.are_connected("a", "c", Wanted::Latest));
    }

    #[test]
    fn hostile_numbers_of_frames_are_bounded() {
        let mut frames = Frames::default();
        for number in 0..MAX_EDGES + 5 {
            frames.add(&format!("f{number}"), &format!("f{}", number + 1), None);
        }
        assert!(frames.is_full());
        assert_eq!(frames.edges, MAX_EDGES);
        let last = format!("f{MAX_EDGES}");
        assert!(frames.above(&last, Wanted::Latest).len() <= MAX_DEPTH + 1);
        assert!(frames.are_connected(&last, "f99500", Wanted::Latest));
        assert!(!frames.are_connected(&last, "f0", Wanted::Latest));
    }
}
