//! What holes and damage are called wherever the screen names them.

use crate::bag::{DamageExtent, DamagedPart, TopicId};
use crate::time::TimeRange;
use crate::tui::model::Model;
use crate::untrusted::Foreign;

/// The most topics that are named.
const MOST_TOPICS: usize = 3;

impl Model {
    /// `hole of /camera from +00:40.000, 0.300 s`. Without a topic: of all topics.
    pub(in crate::tui) fn hole_in_words(&self, topic: Option<TopicId>, range: TimeRange) -> String {
        let whose = topic.map_or("all topics", |id| self.shown_name(id));
        let (from, seconds) = (self.elapsed(range.start()), range.duration().as_secs_f64());
        format!("hole of {whose} from {from}, {seconds:.3} s")
    }

    /// `damage +00:34.000 to +00:36.000: drive.mcap: /camera, /imu and 2 more`
    pub(in crate::tui) fn damage_in_words(&self, part: &DamagedPart) -> String {
        let ends = [part.range.start(), part.range.stop()];
        let [from, to] = ends.map(|end| self.elapsed(end));
        let when = match part.extent {
            DamageExtent::Chunk => format!("{from} to {to}"),
            DamageExtent::Between => format!("between {from} and {to}"),
            DamageExtent::OpenEnd => format!("from {from} on"),
        };
        let file = Foreign::text(part.damage.file.last_part()).to_string();
        let topics = self.topics_in_words(&part.topics);
        let topics = topics.map_or_else(String::new, |topics| format!(": {topics}"));
        format!("damage {when}: {file}{topics}")
    }

    /// The names of the first topics, and how many more there are; `None` if there are none.
    fn topics_in_words(&self, topics: &[TopicId]) -> Option<String> {
        let named = topics.iter().take(MOST_TOPICS);
        let named: Vec<&str> = named.map(|id| self.shown_name(*id)).collect();
        let more = match topics.len().saturating_sub(MOST_TOPICS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!named.is_empty()).then(|| named.join(", ") + &more)
    }

    /// The name of a topic as the table shows it.
    fn shown_name(&self, id: TopicId) -> &str {
        let row = self.rows.iter().find(|row| row.id == id);
        row.map_or("a topic", |row| row.name.as_str())
    }
}
