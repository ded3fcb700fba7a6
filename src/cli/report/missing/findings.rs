//! [`Findings`]: the damage of recordings, each kind listed once per file with a count.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use serde::Serialize;

use crate::bag::{Damage, DamageKind, DamagedPlace};
use crate::cli::report::units::count;
use crate::untrusted::{FileName, Foreign};

/// The maximum number of characters of a detail that is shown to people.
const LONGEST: usize = 500;

/// A kind of damage in a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// The kind, in a word.
    pub kind: &'static str,
    /// The file. Bytes of its name that are not valid UTF-8 are written as `\xNN`.
    pub file: FileName,
    /// The position of the first occurrence, in bytes from the start of the file.
    pub offset: u64,
    /// A description of the first occurrence.
    pub detail: String,
    /// The number of occurrences.
    pub count: u64,
}

/// Damaged places, each once, in the order in which they were found.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Findings {
    list: Vec<Finding>,
    /// The places that were added one by one.
    #[serde(skip)]
    known: HashSet<DamagedPlace>,
    /// The index in the list of each kind in each file; for missing parts each directory counts as one file.
    #[serde(skip)]
    places: HashMap<(&'static str, FileName), usize>,
}

impl Findings {
    /// Of each kind in each file the first place, and how many there are.
    pub fn of_kinds(kinds: impl IntoIterator<Item = (Damage, u64)>) -> Self {
        let mut findings = Self::default();
        for (first, count) in kinds {
            findings.add_kind(&first, count);
        }
        findings
    }

    /// How many there are of each kind, as in `checksum 2, framing 1`.
    pub fn kinds(&self) -> String {
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        for finding in &self.list {
            *kinds.entry(finding.kind).or_default() += finding.count;
        }
        let kinds = kinds.iter().map(|(kind, times)| format!("{kind} {times}"));
        kinds.collect::<Vec<_>>().join(", ")
    }

    /// Adds a damaged place, if it is new.
    pub fn add(&mut self, damage: &Damage) {
        if self.known.insert(damage.place()) {
            self.add_kind(damage, 1);
        }
    }

    /// Adds so many places of a kind in a file; `damage` is the first of them.
    pub fn add_kind(&mut self, damage: &Damage, times: u64) {
        let (kind, file) = (damage.kind.name(), &damage.file);
        let whole = match damage.kind {
            DamageKind::Missing => file.folder().into(),
            _ => file.clone(),
        };
        let place = (kind, whole);
        let place = *self.places.entry(place).or_insert(self.list.len());
        match self.list.get_mut(place) {
            Some(known) => known.count = known.count.saturating_add(times),
            None => self.list.push(Finding {
                kind,
                file: file.clone(),
                offset: damage.offset,
                detail: damage.detail.clone(),
                count: times,
            }),
        }
    }

    /// All of these.
    pub fn of(damage: &[Damage]) -> Self {
        let mut findings = Self::default();
        for one in damage {
            findings.add(one);
        }
        findings
    }

    /// What was found.
    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    /// How much was found in all.
    pub fn total(&self) -> u64 {
        let counts = self.list.iter().map(|finding| finding.count);
        counts.fold(0, u64::saturating_add)
    }

    /// Whether an entry is a defect of this program and not of a recording.
    pub fn has_defect(&self) -> bool {
        let defect = DamageKind::Internal.name();
        self.list.iter().any(|finding| finding.kind == defect)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            offset,
            detail,
            ..
        } = self;
        let detail = Foreign::text(detail);
        write!(f, "{file}: ")?;
        if self.kind != DamageKind::Missing.name() && *offset != 0 {
            write!(f, "byte {offset}: ")?;
        }
        write!(f, "{}", detail.at_most(LONGEST))?;
        match self.count {
            0 | 1 => Ok(()),
            more => write!(
                f,
                ", and {} more of this kind ({})",
                count(more - 1),
                self.kind
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_said_once_a_file() {
        let damage = |kind, file: &str, offset| Damage {
            file: file.into(),
            offset,
            kind,
            detail: "it is broken".into(),
        };
        let findings = Findings::of(&[
            damage(DamageKind::Checksum, "a", 5),
            damage(DamageKind::Checksum, "b", 6),
            damage(DamageKind::Checksum, "a", 7),
            damage(DamageKind::Internal, "a", 8),
        ]);
        let said: Vec<_> = findings.list().iter().map(Finding::to_string).collect();
        assert_eq!(
            said,
            [
                "a: byte 5: it is broken, and 1 more of this kind (checksum)",
                "b: byte 6: it is broken",
                "a: byte 8: it is broken"
            ]
        );
        assert_eq!((findings.total(), findings.has_defect()), (4, true));
        let findings = Findings::of(&[
            damage(DamageKind::Missing, "x/a", 0),
            damage(DamageKind::Missing, "x/b", 0),
            damage(DamageKind::Missing, "y/a", 0),
        ]);
        let said: Vec<_> = findings.list().iter().map(Finding::to_string).collect();
        assert_eq!(
            said,
            [
                "x/a: it is broken, and 1 more of this kind (missing)",
                "y/a: it is broken"
            ]
        );
    }

    #[test]
    fn nothing_in_it_steers_a_terminal_or_floods_it() {
        let detail = format!("topic \x1b]0;\x07{}", "x".repeat(2 << 20));
        let findings = Findings::of(&[Damage {
            file: "a\r\nb".into(),
            offset: 0,
            kind: DamageKind::Index,
            detail,
        }]);
        let said = findings.list()[0].to_string();
        assert!(
            said.starts_with("a\\r\\nb: topic \\u{1b}]0;\\u{7}xxx"),
            "{said}"
        );
        assert!(said.len() < 600 && !said.contains(char::is_control));
    }
}
