//! [`Watch`]: the fields that are watched, and their values as far as they have been read.

use std::collections::HashMap;

use super::layers::Card;
use crate::bag::TopicId;
use crate::decode::{Decoded, FieldLine, MessageAt, PayloadFormat, ValuePath};
use crate::time::TimeRange;
use crate::tui::watch::pin::{Pin, SavedPin, WatchedField};
use crate::tui::watch::series::Series;

/// Values of watched fields that were read.
#[derive(Clone, PartialEq, Debug)]
pub struct WatchedValues {
    /// The fields.
    pub pins: Vec<Pin>,
    /// The range that was read.
    pub range: TimeRange,
    /// The values of each field.
    pub series: Vec<Series>,
}

/// What is watched.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) pins: Vec<Pin>,
    /// The saved pins that were taken over at the start.
    pub(crate) taken: Vec<SavedPin>,
    pub(crate) values: Option<WatchedValues>,
    /// How many plots are above the first one on the screen; drawing limits it, as the screen may have grown.
    pub(crate) first: usize,
    /// How many fields were not shown when that was said last.
    pub(crate) told_unshown: usize,
    /// The field that was selected last in the card of each topic.
    pub(crate) selected: HashMap<TopicId, WatchedField>,
}

impl Watch {
    /// The number of pins; a picture counts twice, as it needs more room than a plot.
    pub(crate) fn height(&self) -> usize {
        let pictures = self
            .pins
            .iter()
            .filter(|pin| pin.field == WatchedField::Picture);
        self.pins.len() + pictures.count()
    }

    /// The values of a pin, as far as they are known.
    pub(crate) fn series(&self, pin: &Pin) -> Option<&Series> {
        let values = self.values.as_ref()?;
        let at = values.pins.iter().position(|known| known == pin)?;
        values.series.get(at)
    }
}

/// The line of a card that shows a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CardLine {
    /// That of the picture.
    Picture,
    /// That of the delay.
    Delay,
    /// The one with this index among those of the decoded message.
    Decoded(usize),
}

/// A field of the message that a card shows.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CardField {
    pub(crate) field: WatchedField,
    pub(crate) line: CardLine,
}

impl Card {
    /// The fields that can be watched, in the order in which they are shown.
    pub(crate) fn fields(&self) -> Vec<CardField> {
        let Some(MessageAt::Message {
            header_stamp,
            decoded,
            ..
        }) = self.message.as_ref().map(|result| &result.outcome)
        else {
            return Vec::new();
        };
        let picture = self.has_pictures.then_some(CardField {
            field: WatchedField::Picture,
            line: CardLine::Picture,
        });
        let delay = header_stamp.map(|_| CardField {
            field: WatchedField::Delay,
            line: CardLine::Delay,
        });
        let first = picture.into_iter().chain(delay);
        first.chain(value_fields(decoded)).collect()
    }

    /// Whether it shows a message that cannot be read.
    pub(crate) fn is_unreadable(&self) -> bool {
        let outcome = self.message.as_ref().map(|result| &result.outcome);
        matches!(outcome, Some(MessageAt::Damaged(_)))
    }

    /// Which of its fields is selected; the first one if the selected one is not in the message.
    pub(crate) fn selected_index(&self, fields: &[CardField]) -> Option<usize> {
        let at = fields
            .iter()
            .position(|it| Some(&it.field) == self.field.as_ref());
        at.or((!fields.is_empty()).then_some(0))
    }

    /// The selected one.
    pub(crate) fn selected_field(&self) -> Option<WatchedField> {
        let mut fields = self.fields();
        let at = self.selected_index(&fields)?;
        Some(fields.swap_remove(at).field)
    }
}

/// Whether it is an array on one line that has a first element, and that is a number or a truth value.
fn is_array_of_numbers(value: &str) -> bool {
    let first = value.strip_prefix('[').and_then(|rest| rest.chars().next());
    first.is_some_and(|first| first.is_ascii_digit() || "-tfNni".contains(first))
}

/// The lines that have a value and a path.
fn value_fields(decoded: &Decoded) -> Vec<CardField> {
    let mut fields = Vec::new();
    if decoded.format == PayloadFormat::Hex {
        return fields;
    }
    // The path of the message that contains the present line, by depth.
    let mut paths: Vec<String> = Vec::new();
    for (at, FieldLine { depth, name, value }) in decoded.lines.iter().enumerate() {
        paths.truncate(*depth);
        let parent = paths.last().map_or("", String::as_str);
        let path = match (parent, name.starts_with('[')) {
            ("", _) => name.clone(),
            (parent, true) => format!("{parent}{name}"),
            (parent, false) => format!("{parent}.{name}"),
        };
        // An array whose elements follow has no value. One that is on one line stands for its elements.
        let next = decoded.lines.get(at + 1);
        let is_parent = next.is_some_and(|next| next.depth > *depth);
        let is_note = name == "…";
        let is_array = is_array_of_numbers(value);
        let has_value =
            !value.is_empty() && (is_array || !value.starts_with('[')) && !is_parent && !is_note;
        let elements = if is_array { "[*]" } else { "" };
        if has_value
            && !name.is_empty()
            && let Ok(path) = format!("{path}{elements}").parse::<ValuePath>()
        {
            fields.push(CardField {
                field: WatchedField::Value(path),
                line: CardLine::Decoded(at),
            });
        }
        paths.push(path);
    }
    fields
}
