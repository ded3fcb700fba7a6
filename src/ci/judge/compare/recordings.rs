//! [`compare`]: reads two recordings side by side and compares their messages.
//!
//! Both are read once, in order of their log times. A message whose partner has not been read waits for it. So memory
//! is bounded by what the two cursors hold and by [`Waiting`], not by the size of the recordings.

use std::io;

use super::comparison::{Comparison, counted, seconds};
use super::pairs::Pairs;
use super::rules::Rules;
use super::series;
use super::tally::Paired;
use super::waiting::{Place, Waiting};
use crate::bag::{Bag, Cursor, Damage, Direction, Message, StartAt, TopicId};
use crate::ci::report::Divergence;
use crate::time::{Time, TimeRange};

/// How many decompressed bytes each of the two cursors holds open.
const HELD: u64 = 32 << 20;
/// How many damaged places are told.
const MAX_DAMAGE: usize = 20;

/// Why two recordings could not be compared. What cannot be read of a recording is no error:
/// [`Comparison::damage`](super::comparison::Comparison::damage).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The temporary file for messages that wait for their partner cannot be used.
    #[error("the temporary file for messages whose partner was not read yet: {0}")]
    Spill(#[from] io::Error),
}

/// Compares the recording of a run with a reference. Topics are paired by name, messages as the rules say.
pub fn compare(reference: &Bag, run: &Bag, rules: &Rules) -> Result<Comparison, CompareError> {
    let mut pairs = Pairs::of(reference, run, rules);
    let bags = [reference, run];
    let mut damage = DamageList::default();
    for found in bags.iter().flat_map(|bag| bag.damage()) {
        damage.add(found);
    }
    let mut sides = [0, 1].map(|side| Reader {
        side,
        cursor: bags[side]
            .cursor(
                &pairs.selection(side, bags[side]),
                StartAt::At(Time::MIN),
                Direction::Forward,
            )
            .holding(HELD),
        counts: vec![0; pairs.rows.len()],
        shift: shift(bags, side),
        next: None,
    });
    let mut waiting = Waiting::default();
    for side in &mut sides {
        side.advance(&pairs, &mut damage);
    }
    loop {
        let [left, right] = &sides;
        let side = match (&left.next, &right.next) {
            (None, None) => break,
            (Some(_), None) => 0,
            (None, Some(_)) => 1,
            (Some(a), Some(b)) => {
                let row = &mut pairs.rows[a.row];
                let are_partners = a.row == b.row
                    && a.place.stamp == b.place.stamp
                    && row
                        .waiting
                        .iter()
                        .all(|queue| queue.has_none(a.place.stamp));
                if are_partners && let Some(walk) = &row.walk {
                    row.tally.pair(walk, row.log_time, a.paired(), b.paired());
                    for side in &mut sides {
                        side.advance(&pairs, &mut damage);
                    }
                    continue;
                }
                usize::from(b.time < a.time)
            }
        };
        let is_last = sides[1 - side].next.is_none();
        if let Some(next) = sides[side].next.take() {
            one(&mut pairs, &mut waiting, side, &next, is_last)?;
        }
        sides[side].advance(&pairs, &mut damage);
    }
    Ok(finish(pairs, waiting, damage, bags))
}

/// Compares a message with its partner, or lets it wait for one.
fn one(
    pairs: &mut Pairs,
    waiting: &mut Waiting,
    side: usize,
    next: &Next,
    is_last: bool,
) -> Result<(), CompareError> {
    let row = &mut pairs.rows[next.row];
    let alone = match &row.walk {
        None => Some(next.place),
        Some(walk) => match waiting.take(&mut row.waiting[1 - side], next.place.stamp)? {
            Some((place, payload)) => {
                let payload = &payload[..];
                let partner = Paired { place, payload };
                let (reference, run) = match side {
                    0 => (next.paired(), partner),
                    _ => (partner, next.paired()),
                };
                row.tally.pair(walk, row.log_time, reference, run);
                None
            }
            None if is_last => Some(next.place),
            None => {
                let payload = &next.message.payload;
                waiting.add(&mut row.waiting[side], next.place, payload)?
            }
        },
    };
    match (alone, side) {
        (Some(place), 0) => row.tally.missing(place),
        (Some(place), _) => row.tally.extra(place),
        (None, _) => {}
    }
    Ok(())
}

fn finish(
    mut pairs: Pairs,
    mut waiting: Waiting,
    damage: DamageList,
    bags: [&Bag; 2],
) -> Comparison {
    let names = bags.map(name);
    let mut first: Option<(Divergence, [Option<TopicId>; 2])> = None;
    let mut topics = Vec::new();
    for mut row in pairs.rows {
        for place in waiting.drain(&mut row.waiting[0]) {
            row.tally.missing(place);
        }
        for place in waiting.drain(&mut row.waiting[1]) {
            row.tally.extra(place);
        }
        let topic = row.tally.finish(row.name, row.align, row.types);
        // A topic without messages says nothing.
        if topic.in_reference() + topic.in_run() == 0 {
            continue;
        }
        if let Some(found) = &topic.first
            && first.as_ref().is_none_or(|(earlier, _)| {
                let time = earlier.times_ns.0.or(earlier.times_ns.1);
                time.is_none_or(|time| found.time() < time)
            })
        {
            let divergence = Divergence {
                between: format!("{} and {}", names[0], names[1]),
                topic: topic.topic.clone(),
                index: found.index,
                times_ns: found.times_ns,
                field: found.field.clone(),
                values: found.values.clone(),
                ..Divergence::default()
            };
            first = Some((divergence, row.topics));
        }
        topics.push(topic);
    }
    let first = first.map(|(mut divergence, topics)| {
        divergence.series = series::around(bags, topics, &divergence);
        divergence
    });
    let [reference, run] = names;
    pairs.notes.dedup();
    pairs.notes.extend(no_common_time(bags));
    Comparison {
        sides: ["reference", "run"],
        reference,
        run,
        topics,
        first,
        damage: damage.told(),
        notes: pairs.notes,
    }
}

/// One of the two recordings while it is read.
struct Reader {
    side: usize,
    cursor: Cursor,
    /// How many messages of each row were read.
    counts: Vec<u64>,
    /// What is added to log times, in nanoseconds.
    shift: i128,
    next: Option<Next>,
}

/// The next message.
struct Next {
    message: Message,
    row: usize,
    place: Place,
    time: i128,
}

impl Next {
    fn paired(&self) -> Paired<'_> {
        Paired {
            place: self.place,
            payload: &self.message.payload,
        }
    }
}

impl Reader {
    fn advance(&mut self, pairs: &Pairs, damage: &mut DamageList) {
        self.next = None;
        for item in self.cursor.by_ref() {
            let message = match item {
                Ok(message) => message,
                Err(found) => {
                    damage.add(&found);
                    continue;
                }
            };
            let row_of = pairs.row_of[self.side].get(message.topic.index());
            let Some(row) = row_of.copied().flatten() else {
                continue;
            };
            let log_time = message.log_time.as_nanos();
            let place = Place {
                index: self.counts[row],
                log_time,
                stamp: pairs.rows[row].stamp(self.side, &message.payload),
            };
            self.counts[row] += 1;
            self.next = Some(Next {
                message,
                row,
                place,
                time: i128::from(log_time) + self.shift,
            });
            return;
        }
    }
}

/// If two recordings have no time in common, their starts are taken to be the same time: that decides only what is read
/// first, so that fewer messages wait.
fn shift(bags: [&Bag; 2], side: usize) -> i128 {
    match (side, bags[0].range(), bags[1].range()) {
        (1, Some(a), Some(b)) if a.stop() < b.start() || b.stop() < a.start() => {
            i128::from(a.start().as_nanos()) - i128::from(b.start().as_nanos())
        }
        _ => 0,
    }
}

/// A sentence about two recordings that have no time in common: the reference may be one of another recording.
fn no_common_time([reference, run]: [&Bag; 2]) -> Option<String> {
    let (a, b) = (reference.range()?, run.range()?);
    let shown = |range: TimeRange| {
        let ends = [range.start(), range.stop()].map(|end| seconds(end.as_nanos()));
        ends.join(" to ")
    };
    (a.stop() < b.start() || b.stop() < a.start()).then(|| {
        let (a, b) = (shown(a), shown(b));
        format!("the reference covers {a} s and the run {b} s of log time: is it a reference of this recording?")
    })
}

/// The name of a recording, from those of its files.
fn name(bag: &Bag) -> String {
    match bag.files() {
        [] => String::new(),
        [file] => file.name.to_string(),
        [first, more @ ..] => format!("{} (and {} more)", first.name, more.len()),
    }
}

/// Damaged places of both recordings.
#[derive(Debug, Default)]
struct DamageList {
    told: Vec<String>,
    more: u64,
}

impl DamageList {
    fn add(&mut self, damage: &Damage) {
        if self.told.len() < MAX_DAMAGE {
            self.told.push(damage.to_string());
        } else {
            self.more += 1;
        }
    }

    fn told(mut self) -> Vec<String> {
        if self.more > 0 {
            let more = counted(self.more, "more damaged place", "more damaged places");
            self.told.push(more);
        }
        self.told
    }
}
