//! [`Listing`]: the recordings in a directory, in the order of the numbers in their names.
//!
//! Used by `rosbag2.rs`. [`Known`] tells whether two paths are the same recording: through links, or because one is the
//! compressed copy of the other. rosbag2 leaves such copies when it plays or records with compression.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use crate::untrusted::Foreign;

/// A part of a recording that is missing, or is not a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// Where it should be.
    pub path: PathBuf,
    /// What is wrong with it.
    pub detail: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, detail) = (Foreign::path(&self.path), Foreign::text(&self.detail));
        write!(f, "{path}: {detail}")
    }
}

/// The entries of a directory, without its subdirectories.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The recordings, including compressed ones, by the numbers in their names.
    recordings: Vec<PathBuf>,
    /// Entries that have the name of a recording but are not files.
    no_files: Vec<Missing>,
    pub(crate) has_sqlite: bool,
}

impl Listing {
    pub(crate) fn of(dir: &Path) -> io::Result<Self> {
        let mut listing = Self::default();
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            listing.has_sqlite |= suffix(&path) == Some("db3");
            if !is_recording(&path) {
                continue;
            }
            // Checked without opening, because opening a pipe waits for its other end.
            let detail = match fs::metadata(&path) {
                Ok(kind) if kind.is_file() => {
                    listing.recordings.push(path);
                    continue;
                }
                Ok(_) => "not a file".to_owned(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => "no such file".to_owned(),
                Err(error) => error.to_string(),
            };
            listing.no_files.push(Missing { path, detail });
        }
        let in_order = |a: &Path, b: &Path| by_numbers(&name(a), &name(b));
        listing.recordings.sort_unstable_by(|a, b| in_order(a, b));
        listing
            .no_files
            .sort_unstable_by(|a, b| in_order(&a.path, &b.path));
        Ok(listing)
    }

    /// Entries that have the name of a recording not known yet, but are not files.
    pub(crate) fn new_missing(&self, known: &mut Known) -> Vec<Missing> {
        let missing = self.no_files.iter();
        missing
            .filter(|it| known.is_new(&it.path))
            .cloned()
            .collect()
    }

    pub(crate) fn has_no_files(&self) -> bool {
        !self.no_files.is_empty()
    }

    /// The recordings that are not known yet.
    pub(crate) fn others(&self, known: &mut Known) -> Vec<PathBuf> {
        let is_packed = |path: &&PathBuf| suffix(path) == Some("zstd");
        let (packed, plain): (Vec<_>, Vec<_>) = self.recordings.iter().partition(is_packed);
        // Uncompressed ones first: if a recorder is killed while it compresses a file, the original is complete.
        let chosen = plain.into_iter().chain(packed);
        let chosen: BTreeSet<_> = chosen.filter(|path| known.is_new(path)).collect();
        let all = self.recordings.iter();
        all.filter(|path| chosen.contains(path)).cloned().collect()
    }
}

/// The recordings seen so far.
#[derive(Debug, Default)]
pub(crate) struct Known(BTreeSet<PathBuf>);

impl Known {
    /// Whether this is a recording other than those seen so far.
    pub(crate) fn is_new(&mut self, path: &Path) -> bool {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let names = [unpacked(path), unpacked(&target)];
        let is_new = !names.iter().any(|name| self.0.contains(name));
        self.0.extend(names);
        is_new
    }
}

/// The path without `.zstd`: the same for a recording and its compressed copy.
pub(crate) fn unpacked(path: &Path) -> PathBuf {
    if suffix(path) == Some("zstd") {
        path.with_extension("")
    } else {
        path.to_owned()
    }
}

fn suffix(path: &Path) -> Option<&str> {
    path.extension().and_then(OsStr::to_str)
}

pub(crate) fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Decides by the name. Hidden files are files of other systems (`._0.mcap`).
fn is_recording(path: &Path) -> bool {
    !name(path).starts_with('.') && suffix(&unpacked(path)) == Some("mcap")
}

/// Compares names so that runs of digits count as numbers: `_10` and `10_` come after `_2` and `2_`.
fn by_numbers(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    while !left.is_empty() && !right.is_empty() {
        let (first, second) = (run(&mut left), run(&mut right));
        let is_number = |run: &str| run.starts_with(|c: char| c.is_ascii_digit());
        let order = if is_number(first) && is_number(second) {
            let (one, two) = (
                first.trim_start_matches('0'),
                second.trim_start_matches('0'),
            );
            one.len().cmp(&two.len()).then(one.cmp(two))
        } else {
            first.cmp(second)
        };
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Takes the run of digits, or of other characters, at the front.
fn run<'a>(rest: &mut &'a str) -> &'a str {
    let is_digits = rest.starts_with(|c: char| c.is_ascii_digit());
    let end = rest.find(|c: char| c.is_ascii_digit() != is_digits);
    let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
    *rest = after;
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_compared_as_numbers() {
        let orders = [
            &["bag_0.mcap", "bag_2.mcap", "bag_10.mcap", "bag_11.mcap"][..],
            &["0_x_2026.mcap", "2_x_2026.mcap", "10_x_2026.mcap"],
            &["2_run9_a", "2_run10_a", "10_run1_a"],
            &["a", "a01", "a1", "a2", "aa", "b"],
            &[
                "x_18446744073709551615",
                "x_18446744073709551616",
                "x_99999999999999999999999",
            ],
            &["bag_1.mcap", "bag_1.mcap.zstd", "bag_2.mcap"],
            &["é2", "é10"],
        ];
        for names in orders {
            for (i, a) in names.iter().enumerate() {
                for (j, b) in names.iter().enumerate() {
                    assert_eq!(by_numbers(a, b), i.cmp(&j), "{a} {b}");
                }
            }
        }
    }
}
