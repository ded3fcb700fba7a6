//! [`Tally`]: what was found so far in one topic.

use std::collections::BTreeMap;

use super::comparison::{FieldCounts, Found, TopicComparison, Unpaired};
use super::rules::{Align, LogTime};
use super::waiting::Place;
use crate::decode::{Difference, FieldPath, PairWalk};
use crate::time::{Ros, Time};

/// How many fields are counted for themselves.
const MAX_FIELDS: usize = 500;
/// The most characters of a path.
const MAX_PATH: usize = 300;
/// The most characters of a value.
const MAX_VALUE: usize = 160;
/// How many messages without a partner are kept.
const MAX_UNPAIRED: usize = 10;
/// The path under which log times are counted, which no field can have.
const LOG_TIME: &str = "log time";

/// Counts of one topic.
#[derive(Debug, Default)]
pub(super) struct Tally {
    equal: u64,
    different: u64,
    missing: u64,
    extra: u64,
    fields: BTreeMap<String, FieldRow>,
    other_fields: u64,
    missing_at: Vec<Unpaired>,
    extra_at: Vec<Unpaired>,
    first: Option<Found>,
}

#[derive(Debug, Default)]
struct FieldRow {
    messages: u64,
    values: u64,
    largest: Option<(f64, u64)>,
    /// The last message in which it differed.
    last_in: Option<u64>,
}

/// One message of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paired<'a> {
    pub(super) place: Place,
    pub(super) payload: &'a [u8],
}

impl Tally {
    /// Compares a pair.
    pub(super) fn pair(
        &mut self,
        walk: &PairWalk,
        log_time: LogTime,
        reference: Paired<'_>,
        run: Paired<'_>,
    ) {
        let mut is_equal = true;
        let places = (reference.place, run.place);
        walk.compare(reference.payload, run.payload, &mut |path, difference| {
            is_equal = false;
            self.field(path, difference, places);
        });
        let times = (reference.place.log_time, run.place.log_time);
        if log_time == LogTime::Equal && times.0 != times.1 {
            is_equal = false;
            let distance = (i128::from(times.0) - i128::from(times.1)).unsigned_abs();
            #[expect(clippy::cast_precision_loss, reason = "a distance for a person")]
            let distance = distance as f64 / 1e9;
            self.count(LOG_TIME, 1, Some(distance), places.0.index);
            if self.is_earlier(places.0.log_time) {
                let text = |nanos| Time::<Ros>::from_nanos(nanos).to_string();
                let values = (text(times.0), text(times.1));
                self.first = Some(found(places, LOG_TIME.to_owned(), values));
            }
        }
        if is_equal {
            self.equal += 1;
        } else {
            self.different += 1;
        }
    }

    /// Counts a message of the reference without a partner.
    pub(super) fn missing(&mut self, place: Place) {
        self.missing += 1;
        keep(&mut self.missing_at, place);
        if self.is_earlier(place.log_time) {
            self.first = Some(alone(place, (Some(place.log_time), None)));
        }
    }

    /// Counts a message of the run without a partner.
    pub(super) fn extra(&mut self, place: Place) {
        self.extra += 1;
        keep(&mut self.extra_at, place);
        if self.is_earlier(place.log_time) {
            self.first = Some(alone(place, (None, Some(place.log_time))));
        }
    }

    /// The result.
    pub(super) fn finish(self, topic: String, align: Align, types: Vec<String>) -> TopicComparison {
        let fields = self.fields.into_iter().map(|(path, row)| FieldCounts {
            path,
            messages: row.messages,
            values: row.values,
            largest: row.largest.map(|(distance, _)| distance),
            largest_in: row.largest.map_or(0, |(_, index)| index),
        });
        TopicComparison {
            topic,
            align,
            equal: self.equal,
            different: self.different,
            missing: self.missing,
            extra: self.extra,
            types,
            fields: fields.collect(),
            other_fields: self.other_fields,
            missing_at: self.missing_at,
            extra_at: self.extra_at,
            first: self.first,
        }
    }

    fn field(&mut self, path: &FieldPath, difference: &Difference<'_>, places: (Place, Place)) {
        let general = path.general();
        // Names of fields are ASCII.
        let general = general.get(..MAX_PATH).unwrap_or(general);
        self.count(
            general,
            difference.count,
            difference.largest,
            places.0.index,
        );
        if self.is_earlier(places.0.log_time) {
            let field = path.exact().chars().take(MAX_PATH).collect();
            let values = difference.values.texts(MAX_VALUE);
            self.first = Some(found(places, field, values));
        }
    }

    fn count(&mut self, path: &str, values: u64, distance: Option<f64>, index: u64) {
        if !self.fields.contains_key(path) {
            if self.fields.len() >= MAX_FIELDS {
                self.other_fields += 1;
                return;
            }
            self.fields.insert(path.to_owned(), FieldRow::default());
        }
        let Some(row) = self.fields.get_mut(path) else {
            return;
        };
        row.values += values;
        if row.last_in != Some(index) {
            row.messages += 1;
            row.last_in = Some(index);
        }
        if let Some(distance) = distance
            && row.largest.is_none_or(|(largest, _)| distance > largest)
        {
            row.largest = Some((distance, index));
        }
    }

    fn is_earlier(&self, time: i64) -> bool {
        self.first.as_ref().is_none_or(|first| time < first.time())
    }
}

fn found(places: (Place, Place), field: String, values: (String, String)) -> Found {
    Found {
        index: places.0.index,
        times_ns: (Some(places.0.log_time), Some(places.1.log_time)),
        field,
        values,
    }
}

fn alone(place: Place, times_ns: (Option<i64>, Option<i64>)) -> Found {
    Found {
        index: place.index,
        times_ns,
        field: String::new(),
        values: Default::default(),
    }
}

/// Keeps the earliest messages. They come in their order, except those that waited.
fn keep(kept: &mut Vec<Unpaired>, place: Place) {
    let at = kept.partition_point(|other| other.index < place.index);
    if at >= MAX_UNPAIRED {
        return;
    }
    kept.insert(
        at,
        Unpaired {
            index: place.index,
            log_time_ns: place.log_time,
            stamp_ns: place.stamp,
        },
    );
    kept.truncate(MAX_UNPAIRED);
}
