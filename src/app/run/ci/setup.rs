//! [`Setup`]: what all repetitions of a run have in common.

use std::cell::{OnceCell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};

use bagplay::bag::Bag;
use bagplay::ci::gates::Burst;
use bagplay::ci::outputs::file_digest;
use bagplay::ci::report::{ReadFile, RecordedFile};
use bagplay::cli::{Chosen, Exit, Plan, PlayArgs};
use bagplay::untrusted::Foreign;
use crossbeam_channel::Receiver;

use super::held::System;
use super::limit::TimeLimit;
use super::result::reports::Results;
use crate::app::log::LogTarget;
use crate::app::signals::asked;

/// What all repetitions of a run have in common.
#[derive(Debug)]
pub(super) struct Setup<'a> {
    pub(super) args: &'a PlayArgs,
    pub(super) bag: &'a Bag,
    pub(super) plan: &'a Plan,
    pub(super) signals: &'a Receiver<Exit>,
    pub(super) results: &'a Results,
    pub(super) log_target: &'a LogTarget,
    /// The system under test, if it is not started and ended here.
    pub(super) system: Option<&'a System>,
    pub(super) time_limit: TimeLimit,
    /// The longest bursts of the topics for which they were counted last: repetitions play the same.
    pub(super) bursts: RefCell<Option<(Vec<Chosen>, Vec<Burst>)>>,
    recordings: OnceCell<Vec<RecordedFile>>,
    read_files: OnceCell<Vec<ReadFile>>,
}

impl<'a> Setup<'a> {
    pub(super) fn new(
        args: &'a PlayArgs,
        (bag, plan): (&'a Bag, &'a Plan),
        signals: &'a Receiver<Exit>,
        (results, log_target): (&'a Results, &'a LogTarget),
        system: Option<&'a System>,
    ) -> Self {
        Self {
            args,
            bag,
            plan,
            signals,
            results,
            log_target,
            system,
            time_limit: TimeLimit::start(args.ci.timeout),
            bursts: RefCell::default(),
            recordings: OnceCell::new(),
            read_files: OnceCell::new(),
        }
    }

    /// The exit code of the signal that asked for the end, if there was one, whichever thread has received it.
    #[expect(clippy::unused_self, reason = "it is a fact of all repetitions")]
    pub(super) fn stopped(&self) -> Option<Exit> {
        asked()
    }

    /// The files that are played, with their digests: those that were not computed before a signal are missing.
    pub(super) fn recordings(&self) -> Vec<RecordedFile> {
        let bags = self.args.bags.iter();
        self.once(&self.recordings, || {
            bags.flat_map(|bag| self.files(bag)).collect()
        })
    }

    /// The other files that decide the result, with their digests at the first call: a reference may be replaced after
    /// that.
    pub(super) fn read_files(&self) -> Vec<ReadFile> {
        let ci = &self.args.ci;
        let scenario = ci.read_from.iter().map(|from| ("scenario", &from.file));
        let expect = ci.expect.iter().map(|file| ("expect", file));
        let golden = ci.golden.iter().map(|file| ("golden", file));
        let rules = ci.golden_rules.iter().map(|file| ("golden-rules", file));
        let all = scenario.chain(expect).chain(golden).chain(rules);
        // A reference that this run writes does not exist yet.
        let all = all.filter(|(_, file)| file.exists());
        let named = |(what, path): (&str, &PathBuf)| {
            let files = self.files(path).into_iter();
            let named = files.map(|file| ReadFile {
                what: what.to_owned(),
                file,
            });
            named.collect::<Vec<_>>()
        };
        self.once(&self.read_files, || all.flat_map(named).collect())
    }

    /// Computes a value once. After a signal the value may be incomplete, and is not kept.
    fn once<T: Clone>(&self, cell: &OnceCell<T>, compute: impl FnOnce() -> T) -> T {
        if let Some(known) = cell.get() {
            return known.clone();
        }
        let found = compute();
        if self.stopped().is_none() {
            // It was empty, and this thread alone uses it.
            let _ = cell.set(found.clone());
        }
        found
    }

    fn files(&self, bag: &Path) -> Vec<RecordedFile> {
        let paths: Vec<PathBuf> = match fs::read_dir(bag) {
            Ok(entries) => {
                let entries = entries.filter_map(Result::ok).map(|entry| entry.path());
                let mut paths: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
                paths.sort_unstable();
                paths
            }
            Err(_) => vec![bag.to_path_buf()],
        };
        let is_wanted = || self.stopped().is_none();
        let file = |path: PathBuf| RecordedFile {
            name: Foreign::path(&path).to_string(),
            bytes: fs::metadata(&path).map_or(0, |it| it.len()),
            xxh3_128: file_digest(&path, is_wanted).ok().flatten(),
        };
        paths.into_iter().map(file).collect()
    }
}
