//! [`Check`]: reads a whole recording and reports its damage.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Serialize;

use super::damaged::DamagedParts;
use crate::bag::{Bag, Damage, DamageKind, Direction, Hole, HoleFinder, Selection, StartAt};
use crate::cli::report::missing::findings::Findings;
use crate::cli::report::units::{bytes, count, plural};
use crate::time::Time;

/// The result of reading everything, as `play info --check --format json` writes it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Check {
    messages: u64,
    /// The number that the recording declares.
    expected: Option<u64>,
    bytes: u64,
    damage: Findings,
    /// How many chunks have messages, and how many of these have contents that no checksum covers.
    chunks: u64,
    unverified_chunks: u64,
    /// Whether there are messages outside chunks that no checksum covers.
    unverified_outside_chunks: bool,
    /// Payload bytes of each topic, by its id.
    #[serde(skip)]
    sizes: Vec<u64>,
    /// The number of messages of each topic, by its id, and in each file.
    #[serde(skip)]
    counts: Vec<u64>,
    #[serde(skip)]
    by_file: Vec<u64>,
    #[serde(skip)]
    holes: Option<Vec<Hole>>,
    #[serde(skip)]
    damaged: DamagedParts,
}

impl Check {
    /// Reads every message of a bag and verifies every checksum.
    pub fn new(bag: &Bag) -> Self {
        let mut check = Self {
            messages: 0,
            expected: bag.message_count(),
            bytes: 0,
            damage: Findings::of(bag.damage()),
            chunks: 0,
            unverified_chunks: 0,
            unverified_outside_chunks: false,
            sizes: vec![0; bag.topics().len()],
            counts: vec![0; bag.topics().len()],
            by_file: vec![0; bag.files().len()],
            holes: None,
            damaged: DamagedParts::of(bag),
        };
        let range = bag.range();
        let mut finder = range.map(|range| HoleFinder::new(bag.topics(), range));
        let mut walked = BTreeSet::new();
        let start = StartAt::At(Time::MIN);
        for item in bag.cursor(&Selection::all(bag), start, Direction::Forward) {
            match item {
                Ok(message) => {
                    let size = message.payload.len() as u64;
                    check.messages += 1;
                    if let Some(finder) = &mut finder {
                        finder.add(message.topic, message.key.time);
                    }
                    check.bytes += size;
                    if let Some(sum) = check.sizes.get_mut(message.topic.index()) {
                        *sum += size;
                    }
                    let of_topic = check.counts.get_mut(message.topic.index());
                    let of_file = check.by_file.get_mut(message.key.input as usize);
                    for count in of_topic.into_iter().chain(of_file) {
                        *count += 1;
                    }
                }
                Err(damage) => {
                    check.damage.add(&damage);
                    check.add_part(bag, &damage);
                    walked.insert((damage.file, damage.offset));
                }
            }
        }
        check.holes = finder.map_or(Some(Vec::new()), HoleFinder::finish);
        let full = bag.check();
        check.chunks = full.chunks;
        check.unverified_chunks = full.unverified_chunks;
        check.unverified_outside_chunks = full.has_unverified_rest;
        for damage in full.damage {
            // Damage at this place may have been added by the walk above; this adds what the walk does not read.
            if !walked.contains(&(damage.file.clone(), damage.offset)) {
                check.damage.add(&damage);
                check.add_part(bag, &damage);
            }
        }
        if let Some(expected) = check.expected.filter(|_| check.is_short()) {
            let file = bag.files().first().map(|file| file.name.clone());
            let detail = format!(
                "{} are declared, {} were read",
                count(expected),
                count(check.messages)
            );
            let damage = Damage {
                file: file.unwrap_or_default(),
                offset: 0,
                kind: DamageKind::Index,
                detail: format!("messages: {detail}"),
            };
            check.damage.add(&damage);
        }
        check
    }

    /// Whether everything could be read as it was written.
    pub fn is_sound(&self) -> bool {
        self.damage.list().is_empty() && !self.is_short()
    }

    /// The number of messages.
    pub(crate) const fn messages(&self) -> u64 {
        self.messages
    }

    /// Payload bytes of each topic, by its id.
    pub(crate) fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// The number of messages of each topic, by its id.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of messages in each file.
    pub(crate) fn by_file(&self) -> &[u64] {
        &self.by_file
    }

    /// The holes in what could be read; `None` if they were not looked for.
    pub(crate) fn holes(&self) -> Option<&[Hole]> {
        self.holes.as_deref()
    }

    /// The parts that could not be read.
    pub(crate) fn damaged(&self) -> &DamagedParts {
        &self.damaged
    }

    /// Adds the part that is lost by damage, if that is known.
    fn add_part(&mut self, bag: &Bag, damage: &Damage) {
        if let Some(part) = bag.damaged_part(damage) {
            self.damaged.add(bag, &part);
        }
    }

    fn is_short(&self) -> bool {
        self.expected
            .is_some_and(|expected| expected != self.messages)
    }

    /// The text for people.
    pub fn page(&self) -> String {
        let (read, size) = (plural(self.messages, "message"), bytes(self.bytes));
        let unverified = self.unverified();
        let verdict = match (self.is_sound(), unverified.is_empty()) {
            (true, true) => "no damage found",
            (true, false) => "no damage found, but not everything can be verified",
            (false, _) => "damage found",
        };
        let mut page = format!("check     {read} read, {size}: {verdict}\n");
        for what in unverified {
            // Writing into a string does not fail.
            let _ = writeln!(page, "          {what}");
        }
        for finding in self.damage.list() {
            let _ = writeln!(page, "{:<9} {finding}", finding.kind);
        }
        if !self.is_sound() {
            page.push_str("hint      to write what can be read: play cut BAG --check -o OUT\n");
        }
        page
    }

    /// What no checksum covers.
    fn unverified(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.unverified_chunks > 0 {
            let (some, of) = (count(self.unverified_chunks), plural(self.chunks, "chunk"));
            all.push(format!(
                "the contents of {some} of {of} have no checksum and cannot be verified"
            ));
        }
        if self.unverified_outside_chunks {
            all.push("messages outside chunks have no checksum and cannot be verified".to_owned());
        }
        all
    }
}
