//! [`Pairs`]: which topics of two recordings belong together, and what holds for them.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{Align, LogTime, Rules, Types};
use super::tally::Tally;
use super::waiting::Queue;
use crate::bag::{Bag, Selection, Topic, TopicId};
use crate::decode::{FieldPlace, PairWalk};
use crate::untrusted::Foreign;

/// The path of the stamp by which messages are paired.
const STAMP: &str = "header.stamp";

/// The topics of both recordings that are compared.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) rows: Vec<Row>,
    /// For each topic of the reference and of the run its row; `None`: it is ignored.
    pub(super) row_of: [Vec<Option<usize>>; 2],
    /// What was noticed, one sentence each.
    pub(super) notes: Vec<String>,
}

/// A topic of either recording or of both.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) topics: [Option<TopicId>; 2],
    pub(super) align: Align,
    pub(super) log_time: LogTime,
    /// In what the types differ, if that matters.
    pub(super) types: Vec<String>,
    /// If both have it.
    pub(super) walk: Option<PairWalk>,
    pub(super) stamps: [Option<FieldPlace>; 2],
    pub(super) waiting: [Queue; 2],
    pub(super) tally: Tally,
}

impl Pairs {
    /// Pairs topics by name, those of one type first.
    pub(super) fn of(reference: &Bag, run: &Bag, rules: &Rules) -> Self {
        let bags = [reference, run];
        let mut pairs = Self {
            row_of: bags.map(|bag| vec![None; bag.topics().len()]),
            ..Self::default()
        };
        let mut used = BTreeSet::new();
        let by_name = by_name(bags);
        let names: Vec<&str> = by_name.keys().copied().collect();
        for (rule, pattern) in rules.unmatched(&names) {
            let (number, pattern) = (rule + 1, Foreign::text(pattern));
            let note = format!("rule {number}: `{pattern}` names no topic of the two recordings");
            pairs.notes.push(note);
        }
        for (name, [left, right]) in by_name {
            let Some(of_topic) = rules.of_topic(name) else {
                continue;
            };
            let matched = matched(bags, left, right);
            let is_double = matched.len() > 1;
            for topics in matched {
                let known = |side: usize| topics[side].map(|id| &bags[side].topics()[id.index()]);
                let known = [known(0), known(1)];
                let mut row = Row::new(name, topics, known, &of_topic.fields);
                if let Some(walk) = &row.walk {
                    let present = of_topic.patterns.iter().filter(|(_, it)| walk.has(it));
                    used.extend(present.map(|(rule, pattern)| (*rule, pattern.to_string())));
                    if of_topic.types == Types::Same {
                        row.types = walk.type_differences().to_vec();
                    } else {
                        let notes = walk.type_differences().iter();
                        let note = |it: &String| format!("{}: {it}", Foreign::text(name));
                        pairs.notes.extend(notes.map(note));
                    }
                    if let Some(reason) = walk.as_bytes() {
                        let name = Foreign::text(name);
                        let note = format!("{name}: compared byte by byte: {reason}");
                        pairs.notes.push(note);
                    }
                }
                row.log_time = of_topic.log_time;
                row.align(of_topic.align, &mut pairs.notes);
                if is_double {
                    let type_name = known.into_iter().flatten().next().map(Topic::type_name);
                    row.name = format!("{name} ({})", type_name.unwrap_or_default());
                }
                for (row_of, topic) in pairs.row_of.iter_mut().zip(topics) {
                    if let Some(topic) = topic {
                        row_of[topic.index()] = Some(pairs.rows.len());
                    }
                }
                pairs.rows.push(row);
            }
        }
        for (rule, pattern) in rules.patterns() {
            if !used.contains(&(rule, pattern.to_string())) {
                let number = rule + 1;
                let note = format!("rule {number}: `{pattern}` names no field that is compared");
                pairs.notes.push(note);
            }
        }
        pairs
    }

    /// The topics of one recording that are compared.
    pub(super) fn selection(&self, side: usize, bag: &Bag) -> Selection {
        let ids = self.rows.iter().filter_map(|row| row.topics[side]);
        Selection::of(ids, bag)
    }
}

impl Row {
    fn new(
        name: &str,
        topics: [Option<TopicId>; 2],
        known: [Option<&Topic>; 2],
        fields: &crate::decode::FieldRules,
    ) -> Self {
        let walk = match known {
            [Some(left), Some(right)] => Some(PairWalk::new(left, right, fields.clone())),
            _ => None,
        };
        let stamp = |topic: Option<&Topic>| {
            let place = FieldPlace::of(topic?, STAMP)?;
            place.is_stamp().then_some(place)
        };
        Self {
            name: name.to_owned(),
            topics,
            align: Align::Index,
            log_time: LogTime::Any,
            types: Vec::new(),
            walk,
            stamps: known.map(stamp),
            waiting: Default::default(),
            tally: Tally::default(),
        }
    }

    /// Decides how messages are paired.
    fn align(&mut self, wanted: Option<Align>, notes: &mut Vec<String>) {
        let has_stamps =
            (0..2).all(|side| self.topics[side].is_none() || self.stamps[side].is_some());
        self.align = match (wanted, has_stamps) {
            (Some(Align::Stamp) | None, true) => Align::Stamp,
            (Some(Align::Index) | None, _) => Align::Index,
            (Some(Align::Stamp), false) => {
                let name = Foreign::text(&self.name);
                notes.push(format!("{name}: there is no `{STAMP}`: aligned by index"));
                Align::Index
            }
        };
    }

    /// The key by which a message of one side finds its partner.
    pub(super) fn stamp(&self, side: usize, payload: &[u8]) -> Option<i128> {
        match (self.align, &self.stamps[side]) {
            (Align::Stamp, Some(place)) => place.read(payload)?.nanos(),
            _ => None,
        }
    }
}

/// The topics of both recordings by name.
fn by_name(bags: [&Bag; 2]) -> BTreeMap<&str, [Vec<TopicId>; 2]> {
    let mut names: BTreeMap<&str, [Vec<TopicId>; 2]> = BTreeMap::new();
    for (side, bag) in bags.into_iter().enumerate() {
        for (id, topic) in (0..).zip(bag.topics()) {
            names.entry(&topic.name).or_default()[side].push(TopicId(id));
        }
    }
    names
}

/// Topics of one name: those of equal type and encoding are pairs, then the others in their order.
fn matched(
    bags: [&Bag; 2],
    left: Vec<TopicId>,
    mut right: Vec<TopicId>,
) -> Vec<[Option<TopicId>; 2]> {
    let kind = |side: usize, id: TopicId| {
        let topic = &bags[side].topics()[id.index()];
        (topic.type_name(), &topic.encoding)
    };
    let mut pairs: Vec<[Option<TopicId>; 2]> = Vec::new();
    for id in left {
        let same = right
            .iter()
            .position(|other| kind(1, *other) == kind(0, id));
        pairs.push([Some(id), same.map(|at| right.remove(at))]);
    }
    let mut right = right.into_iter();
    for pair in pairs.iter_mut().filter(|pair| pair[1].is_none()) {
        pair[1] = right.next();
    }
    pairs.extend(right.map(|id| [None, Some(id)]));
    pairs
}
