//! [`SearchProgress`]: how many of the chunks that a search for latched messages has to look into are done.

use super::learned::Learned;
use crate::bag::index::merge_topics::PublisherGroupId;

/// Called with the number of chunks done and the number of all.
pub(crate) type OnProgress<'a> = &'a dyn Fn(usize, usize);

/// Counts chunks that have to be searched whatever is found in others. They also become done while another search,
/// or the one in the background, looks into them.
pub(crate) struct SearchProgress<'a> {
    learned: &'a Learned,
    /// These groups, each with the number of unread chunks that are not needed.
    groups: Vec<(PublisherGroupId, usize)>,
    total: usize,
    on_progress: OnProgress<'a>,
}

impl<'a> SearchProgress<'a> {
    /// Progress of a search for messages of these groups in the chunks before `cut`, in forward order.
    pub(crate) fn new(
        learned: &'a Learned,
        groups: impl Iterator<Item = PublisherGroupId>,
        cut: u32,
        on_progress: OnProgress<'a>,
    ) -> Self {
        let groups = groups.map(|group| (group, learned.count_unread_from(group, cut)));
        let mut progress = Self {
            learned,
            groups: groups.collect(),
            total: 0,
            on_progress,
        };
        progress.total = progress.left();
        progress
    }

    fn left(&self) -> usize {
        let left = |(group, beyond): &(PublisherGroupId, usize)| {
            let unread = self.learned.count_unread_from(*group, 0);
            unread.saturating_sub(*beyond)
        };
        self.groups.iter().map(left).max().unwrap_or(0)
    }

    /// A chunk was searched.
    pub(crate) fn update(&self) {
        if self.total > 0 {
            (self.on_progress)(self.total.saturating_sub(self.left()), self.total);
        }
    }
}
