//! [`Listing`]: the recordings in a directory, in the order of the numbers in their names.
//!
//! Used by `rosbag2.rs`. [`Known`] tells whether two paths are one recording: by links, or because one
//! is the packed copy of the other, which playing and recording with compression both leave behind.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use crate::untrusted::Foreign;

/// A part of a directory that is not there, or is no file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// Where it should be.
    pub path: PathBuf,
    /// What is there instead.
    pub detail: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, detail) = (Foreign::path(&self.path), Foreign::text(&self.detail));
        write!(f, "{path}: {detail}")
    }
}

/// What is in a directory, not below it.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The recordings, packed ones too, by the numbers in their names.
    recordings: Vec<PathBuf>,
    /// What has the name of a recording and is no file.
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
            // Asked and not opened: to open a pipe is to wait for its other end.
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
        listing.recordings.sort_by(|a, b| in_order(a, b));
        listing.no_files.sort_by(|a, b| in_order(&a.path, &b.path));
        Ok(listing)
    }

    /// What has the name of a recording that is not known, and is no file.
    pub(crate) fn gone(&self, known: &mut Known) -> Vec<Missing> {
        let gone = self.no_files.iter();
        gone.filter(|it| known.is_new(&it.path)).cloned().collect()
    }

    pub(crate) fn has_no_files(&self) -> bool {
        !self.no_files.is_empty()
    }

    /// The recordings that are not known yet.
    pub(crate) fn others(&self, known: &mut Known) -> Vec<PathBuf> {
        let is_packed = |path: &&PathBuf| suffix(path) == Some("zstd");
        let (packed, plain): (Vec<_>, Vec<_>) = self.recordings.iter().partition(is_packed);
        // Unpacked ones first: a recorder that is killed while it packs leaves its source whole.
        let chosen = plain.into_iter().chain(packed);
        let chosen: BTreeSet<_> = chosen.filter(|path| known.is_new(path)).collect();
        let all = self.recordings.iter();
        all.filter(|path| chosen.contains(path)).cloned().collect()
    }
}

/// The recordings that have been seen.
#[derive(Debug, Default)]
pub(crate) struct Known(BTreeSet<PathBuf>);

impl Known {
    /// Whether this is another recording than those asked about before.
    pub(crate) fn is_new(&mut self, path: &Path) -> bool {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let names = [unpacked(path), unpacked(&target)];
        let is_new = !names.iter().any(|name| self.0.contains(name));
        self.0.extend(names);
        is_new
    }
}

/// The path without `.zstd`: the same for a recording and its packed copy.
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

/// By its name; hidden files are leavings of other systems (`._0.mcap`).
fn is_recording(path: &Path) -> bool {
    !name(path).starts_with('.') && suffix(&unpacked(path)) == Some("mcap")
}

/// The order of names in which runs of digits count as the numbers they are, so that `_10` and `10_`
/// come after `_2` and `2_`.
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

/// Takes the run of digits, or of anything else, at the front.
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
    fn numbers_in_names_count_as_numbers() {
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
