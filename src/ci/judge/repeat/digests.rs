//! [`Repeat`]: the digests of all repetitions, and the recordings of their outputs.

use std::path::{Path, PathBuf};

/// The runs so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Repeat {
    runs: Vec<Repetition>,
}

/// A run that came to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repetition {
    /// Its number, from 1.
    pub number: u32,
    /// The digest of its outputs.
    pub digest: String,
    /// The recording of its outputs.
    pub outputs: PathBuf,
}

/// The runs of one digest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DigestGroup<'a> {
    /// The digest.
    pub digest: &'a str,
    /// The runs, in the order in which they were added.
    pub runs: Vec<&'a Repetition>,
}

impl Repeat {
    /// Adds a run.
    pub fn add(&mut self, run: Repetition) {
        self.runs.push(run);
    }

    /// All runs, in the order in which they were added.
    pub fn runs(&self) -> &[Repetition] {
        &self.runs
    }

    /// The runs by digest, the most frequent digest first; of equally frequent ones the one that came first.
    pub fn groups(&self) -> Vec<DigestGroup<'_>> {
        let mut groups: Vec<DigestGroup<'_>> = Vec::new();
        for run in &self.runs {
            match groups.iter_mut().find(|group| group.digest == run.digest) {
                Some(group) => group.runs.push(run),
                None => groups.push(DigestGroup {
                    digest: &run.digest,
                    runs: vec![run],
                }),
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.runs.len()));
        groups
    }

    /// The two runs that are compared if not all are equal: the first of the most frequent digest, and the first of the
    /// next.
    pub fn differing(&self) -> Option<(&Repetition, &Repetition)> {
        let groups = self.groups();
        let first = |group: usize| Some(*groups.get(group)?.runs.first()?);
        Some((first(0)?, first(1)?))
    }

    /// The recordings that no comparison needs, so far: all but the first of each digest. They may be deleted.
    pub fn unneeded(&self) -> Vec<&Path> {
        let groups = self.groups();
        let later = groups.iter().flat_map(|group| &group.runs[1..]);
        later.map(|run| run.outputs.as_path()).collect()
    }

    /// How many runs gave which digest: `98 of 100 runs gave 3fa2…, 2 gave 91c0…`.
    pub fn flake_rate(&self) -> String {
        const SHOWN: usize = 5;
        let groups = self.groups();
        let all = self.runs.len();
        let mut parts = Vec::new();
        for (index, group) in groups.iter().take(SHOWN).enumerate() {
            let count = group.runs.len();
            let digest = short(group.digest);
            parts.push(match index {
                0 => format!("{count} of {all} runs gave {digest}"),
                _ => format!("{count} gave {digest}"),
            });
        }
        if let Some(others) = groups.get(SHOWN..).filter(|others| !others.is_empty()) {
            let runs: usize = others.iter().map(|group| group.runs.len()).sum();
            parts.push(format!("{runs} gave {} other digests", others.len()));
        }
        parts.join(", ")
    }
}

/// A digest by its first eight digits.
pub(super) fn short(digest: &str) -> String {
    let mut digits = digest.chars();
    let start: String = digits.by_ref().take(8).collect();
    match digits.next() {
        Some(_) => format!("{start}…"),
        None => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(digests: &[&str]) -> Repeat {
        let mut repeat = Repeat::default();
        for (number, digest) in (1..).zip(digests) {
            repeat.add(Repetition {
                number,
                digest: (*digest).to_owned(),
                outputs: PathBuf::from(format!("{number}.mcap")),
            });
        }
        repeat
    }

    #[test]
    fn digests_are_counted_the_most_frequent_first() {
        let repeat = repeat(&["91c0aaaabbbb", "3fa2aaaabbbb", "3fa2aaaabbbb", "77"]);
        assert_eq!(
            repeat.flake_rate(),
            "2 of 4 runs gave 3fa2aaaa…, 1 gave 91c0aaaa…, 1 gave 77"
        );
        let (a, b) = repeat.differing().unwrap();
        assert_eq!((a.number, b.number), (2, 1));
        assert_eq!(repeat.unneeded(), [Path::new("3.mcap")]);
    }

    #[test]
    fn many_digests_are_summed_up() {
        let digests: Vec<String> = (0..9).map(|n| n.to_string()).collect();
        let digests: Vec<&str> = digests.iter().map(String::as_str).collect();
        let shown = repeat(&digests).flake_rate();
        assert!(
            shown.ends_with("1 gave 4, 4 gave 4 other digests"),
            "{shown}"
        );
        assert!(repeat(&["a", "a"]).differing().is_none());
        assert!(repeat(&[]).differing().is_none());
        assert_eq!(repeat(&[]).flake_rate(), "");
    }
}
