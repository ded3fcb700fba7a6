//! Sorts the table: by a click on the head of a column, or by key.

use std::cmp::Ordering;
use std::collections::HashMap;

use jiff::Timestamp;

use crate::bag::{RecordedRate, TopicId};
use crate::player::State;
use crate::time::Duration;
use crate::tui::model::Model;
use crate::tui::model::meters::TopicRate;
use crate::tui::model::parts::{Reversal, SortBy, TopicRow};
use crate::tui::view;

/// The shortest time between two orders by numbers that change.
const INTERVAL: Duration = Duration::from_secs(1);

/// What a row is sorted by. A row that has none is below the others in both directions.
#[derive(PartialEq, Debug)]
enum SortKey {
    Text(String),
    Number(Option<f64>),
}

impl SortKey {
    fn compare(&self, other: &Self, direction: Reversal) -> Ordering {
        let directed = |order: Ordering| match direction {
            Reversal::Usual => order,
            Reversal::Reversed => order.reverse(),
        };
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => directed(a.cmp(b)),
            (Self::Number(Some(a)), Self::Number(Some(b))) => directed(b.total_cmp(a)),
            (Self::Number(a), Self::Number(b)) => b.is_some().cmp(&a.is_some()),
            (Self::Text(_), Self::Number(_)) | (Self::Number(_), Self::Text(_)) => Ordering::Equal,
        }
    }
}

impl Model {
    /// Sorts by a column; if it is sorted by it, reverses that; if it is reversed, ends the sorting.
    pub(in crate::tui::update) fn sort_by(&mut self, by: SortBy, stamp: Timestamp) {
        let next = match self.order.by {
            Some((known, Reversal::Usual)) if known == by => Some((by, Reversal::Reversed)),
            Some((known, Reversal::Reversed)) if known == by => None,
            _ => Some((by, Reversal::Usual)),
        };
        self.set_order(next, stamp);
    }

    /// Sorts by the next column that is shown; after the last one, ends the sorting.
    pub(in crate::tui::update) fn sort_by_next(&mut self, stamp: Timestamp) {
        let mut shown = view::sortable(self);
        // They are nearly always sorted by name.
        shown.sort_by_key(|by| *by == SortBy::Name);
        let next = match self.order.by {
            None => shown.first(),
            Some((by, _)) => {
                let at = shown.iter().position(|it| *it == by);
                shown.get(at.map_or(0, |at| at + 1))
            }
        };
        self.set_order(next.map(|by| (*by, Reversal::Usual)), stamp);
    }

    fn set_order(&mut self, by: Option<(SortBy, Reversal)>, stamp: Timestamp) {
        self.order.by = by;
        self.sort();
        let text = match by {
            None => "topics are not sorted".to_owned(),
            Some((by, direction)) => {
                let first = match (by.is_text(), direction) {
                    (true, Reversal::Usual) => "A first",
                    (true, Reversal::Reversed) => "Z first",
                    (false, Reversal::Usual) => "highest first",
                    (false, Reversal::Reversed) => "lowest first",
                };
                format!("topics are sorted by {}, {first}", by.name())
            }
        };
        self.log_info(text, stamp);
    }

    /// Sorts again by numbers that have changed, at most once a second.
    pub(in crate::tui) fn sort_again(&mut self) {
        let is_due = self.now.saturating_since(self.order.sorted_at) >= INTERVAL;
        let Some((by, _)) = self.order.by.filter(|_| is_due) else {
            return;
        };
        let changes = match by {
            SortBy::Name | SortBy::Type | SortBy::HertzRecorded | SortBy::InBag => false,
            // While nothing is measured, the last order stays.
            SortBy::HertzNow | SortBy::Megabytes => {
                (0..self.rows.len()).any(|topic| self.meters.topic_rate(topic).is_some())
            }
            SortBy::Sent | SortBy::Subscribers | SortBy::Late => true,
        };
        if changes {
            self.sort();
        }
    }

    /// The selection stays on its topic.
    fn sort(&mut self) {
        let selected = self.selected_row().map(|row| row.id);
        let places: HashMap<TopicId, usize> =
            self.order.unsorted.iter().copied().zip(0..).collect();
        let place = |row: &TopicRow| places.get(&row.id).copied().unwrap_or(usize::MAX);
        let mut rows: Vec<(Option<SortKey>, TopicRow)> = std::mem::take(&mut self.rows)
            .into_iter()
            .map(|row| (self.order.by.map(|(by, _)| self.sort_key(by, &row)), row))
            .collect();
        rows.sort_by_key(|(_, row)| place(row));
        if let Some((_, direction)) = self.order.by {
            rows.sort_by(|(a, _), (b, _)| match (a, b) {
                (Some(a), Some(b)) => a.compare(b, direction),
                _ => Ordering::Equal,
            });
        }
        self.rows = rows.into_iter().map(|(_, row)| row).collect();
        self.order.sorted_at = self.now;
        self.select(selected);
    }

    /// Selects a topic, if it is shown, otherwise the first row.
    pub(in crate::tui::update) fn select(&mut self, topic: Option<TopicId>) {
        let at = self.shown_rows().position(|row| Some(row.id) == topic);
        self.selected = at.unwrap_or(0);
        self.scroll_to_selection();
    }

    fn sort_key(&self, by: SortBy, row: &TopicRow) -> SortKey {
        let at = row.id.index();
        let counts = self.counts.get(at).copied().unwrap_or_default();
        let topic = self.topic(row.id);
        SortKey::Number(match by {
            SortBy::Name => return SortKey::Text(row.name.clone()),
            SortBy::Type => {
                let name = topic.map_or("", |topic| topic.type_name());
                return SortKey::Text(name.to_owned());
            }
            SortBy::HertzNow => self.rate_now(row).map(|rate| rate.hz),
            SortBy::Megabytes => self.rate_now(row).map(|rate| rate.bytes),
            SortBy::HertzRecorded => self.recorded_rate(row).map(|rate| rate.hz),
            SortBy::Sent => Some(number(counts.sent)),
            SortBy::InBag => topic.and_then(|topic| topic.message_count).map(number),
            SortBy::Subscribers => {
                let known = self.subscribers.topics.get(at).copied().flatten();
                known.map(|count| number(count as u64))
            }
            SortBy::Late => Some(number(counts.late.saturating_add(counts.dropped))),
        })
    }

    /// The rates of a topic while it is played.
    pub(in crate::tui) fn rate_now(&self, row: &TopicRow) -> Option<TopicRate> {
        let rate = self.meters.topic_rate(row.id.index());
        rate.filter(|_| self.state() == State::Playing && row.left_out.is_none())
    }

    /// The rate of a topic in the recording, as `play info` shows it.
    pub(in crate::tui) fn recorded_rate(&self, row: &TopicRow) -> Option<RecordedRate> {
        let topic = self.topic(row.id)?;
        let usual = self.meters.recorded.get(row.id.index()).copied().flatten();
        let range = Some(self.facts.recording);
        RecordedRate::new(topic, topic.message_count, usual, range)
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is compared")]
fn number(count: u64) -> f64 {
    count as f64
}
