//! What a model shows along the axis of time: the axes themselves, holes and damage.

use ratatui::layout::Rect;

use super::axis::Axis;
use super::folds::Folds;
use crate::bag::{DamageExtent, DamagedPart, TopicId};
use crate::time::TimeRange;
use crate::tui::model::Model;

impl Model {
    /// The range that the bar and the lane show.
    pub(in crate::tui) fn window_axis(&self, place: Rect) -> Axis {
        self.axis(
            self.window.range(),
            place.x + 1,
            place.width.saturating_sub(2),
        )
    }

    /// The whole recording.
    pub(in crate::tui) fn whole_axis(&self, place: Rect) -> Axis {
        let Axis { left, width, .. } = self.window_axis(place);
        self.axis(self.facts.recording, left, width)
    }

    /// An axis that leaves out long times in which no topic has messages.
    pub(in crate::tui) fn axis(&self, range: TimeRange, left: u16, width: u16) -> Axis {
        Axis {
            folds: Folds::of(self.holes.of_recording(range), range),
            ..Axis::plain(range, left, width)
        }
    }

    /// The holes in which a topic is silent and that touch a range. A latched topic has none: it is not expected to
    /// have messages at any time.
    pub(in crate::tui) fn holes_of(
        &self,
        id: TopicId,
        shown: TimeRange,
    ) -> impl Iterator<Item = TimeRange> {
        let is_latched = self.topic(id).is_some_and(|topic| topic.is_latched);
        let holes = (!is_latched).then(|| self.holes.touching(shown, id));
        holes.into_iter().flatten()
    }

    /// Whether the damaged parts are to be asked for, now that so many damaged places are known: at the start, and if
    /// there are more.
    pub fn wants_damaged_parts(&mut self, known: u64) -> bool {
        !self.facts.is_elsewhere && self.damaged.are_to_be_asked_for(known, self.now)
    }

    /// How many damaged places are known, whether the player or a read for the screen has met them.
    pub(in crate::tui) fn damaged_places(&self) -> u64 {
        let of_player = self.status.map_or(0, |status| status.damaged);
        of_player.max(self.damaged.places())
    }

    /// The most messages that are lost because of damage, if that is known of all damaged places.
    pub(in crate::tui) fn lost_messages(&self) -> Option<u64> {
        let parts = self.damaged.all();
        // A place without a part loses nothing, or nothing tells how much.
        let is_complete = self.damaged_places() <= parts.len() as u64;
        let lost: Option<u64> = parts.iter().map(|part| part.messages).sum();
        lost.filter(|lost| is_complete && *lost > 0)
    }

    /// Whether the playhead is where messages of a topic are lost, or may be. At the last message before damage, and at
    /// the first one after it, it is not.
    pub(in crate::tui) fn is_in_damage(&self, id: TopicId) -> bool {
        let here = self.playhead();
        let is_within = |part: &DamagedPart| match part.extent {
            DamageExtent::Chunk => true,
            DamageExtent::Between => part.range.start() < here && here < part.range.stop(),
            DamageExtent::OpenEnd => false,
        };
        let mut parts = self
            .damaged
            .touching(TimeRange::between(here, here), Some(id));
        parts.any(is_within)
    }

    /// Whether the playhead is in a hole of a topic.
    pub(in crate::tui) fn is_in_hole(&self, id: TopicId) -> bool {
        let (here, all) = (self.playhead(), self.facts.recording);
        let is_within = |hole: TimeRange| {
            let is_after = hole.start() < here || here == all.start();
            is_after && (here < hole.stop() || here == all.stop())
        };
        self.holes_of(id, TimeRange::between(here, here))
            .any(is_within)
    }
}
