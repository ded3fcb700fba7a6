//! [`SearchProgress`]: how many of the chunks that a search for latched messages has to look into are done.

use super::learned::Learned;
use crate::bag::index::merge_topics::LaneId;

/// Called with the number of chunks done and the number of all.
pub(crate) type Tell<'a> = &'a dyn Fn(usize, usize);

/// Counts chunks that have to be searched whatever is found in others. They also become done while another search,
/// or the one in the background, looks into them.
pub(crate) struct SearchProgress<'a> {
    learned: &'a Learned,
    /// These lanes, each with the number of unread chunks that are not needed.
    lanes: Vec<(LaneId, usize)>,
    total: usize,
    tell: Tell<'a>,
}

impl<'a> SearchProgress<'a> {
    /// Progress of a search for messages of these lanes in the chunks before `cut`, in forward order.
    pub(crate) fn new(
        learned: &'a Learned,
        lanes: impl Iterator<Item = LaneId>,
        cut: u32,
        tell: Tell<'a>,
    ) -> Self {
        let lanes = lanes.map(|lane| (lane, learned.count_unread_from(lane, cut)));
        let mut progress = Self {
            learned,
            lanes: lanes.collect(),
            total: 0,
            tell,
        };
        progress.total = progress.left();
        progress
    }

    fn left(&self) -> usize {
        let left = |(lane, beyond): &(LaneId, usize)| {
            let unread = self.learned.count_unread_from(*lane, 0);
            unread.saturating_sub(*beyond)
        };
        self.lanes.iter().map(left).max().unwrap_or(0)
    }

    /// A chunk was searched.
    pub(crate) fn update(&self) {
        if self.total > 0 {
            (self.tell)(self.total.saturating_sub(self.left()), self.total);
        }
    }
}
