//! [`CaseList`]: all cases of a suite, from folders and files of scenarios, and the digest by which reports know it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::error::SuiteError;
use super::scenario::{Case, Environment, Scenario, ScenarioError};
use crate::untrusted::Foreign;

/// How deep the folders of a suite may lie in each other.
const DEEPEST: usize = 32;
/// The most files and folders that are looked at, and the most cases of a suite.
const MOST: usize = 100_000;

/// The cases of a suite, sorted by their names, which are all different. There is at least one.
#[derive(Clone, Debug)]
pub struct CaseList {
    cases: Vec<Case>,
    /// The digest of the scenario of each case.
    digests: Vec<u128>,
}

impl CaseList {
    /// The scenarios in these folders, and these files. In a folder each file `*.toml` is a scenario, also in folders
    /// below it, except those that a scenario reads, such as expectations, and files and folders that begin with a dot.
    pub fn find<P: AsRef<Path>>(
        paths: &[P],
        environment: Environment<'_>,
    ) -> Result<Self, SuiteError> {
        let mut files = Vec::new();
        for path in paths.iter().map(AsRef::as_ref) {
            if fs::metadata(path).is_ok_and(|facts| facts.is_dir()) {
                walk(path, path, 0, &mut files)?;
            } else {
                let name = path.file_stem().unwrap_or_default();
                files.push((path.to_owned(), name.to_string_lossy().into_owned()));
            }
        }
        let read = |(file, name): &(PathBuf, String)| Scenario::read(file, name, environment);
        let (scenarios, errors): (Vec<_>, Vec<_>) = files.iter().map(read).partition(Result::is_ok);
        let scenarios: Vec<Scenario> = scenarios.into_iter().flatten().collect();
        let others: BTreeSet<PathBuf> = scenarios
            .iter()
            .flat_map(|scenario| &scenario.cases)
            .flat_map(Case::reads)
            .filter_map(|file| fs::canonicalize(file).ok())
            .collect();
        let is_scenario = |error: &ScenarioError| {
            fs::canonicalize(error.file()).map_or(true, |file| !others.contains(&file))
        };
        let errors = errors.into_iter().filter_map(Result::err);
        let errors: Vec<ScenarioError> = errors.filter(is_scenario).collect();
        if !errors.is_empty() {
            return Err(SuiteError::Scenarios(errors));
        }
        if scenarios.is_empty() {
            let names = paths
                .iter()
                .map(|path| Foreign::path(path.as_ref()).to_string());
            return Err(SuiteError::Empty {
                place: names.collect::<Vec<_>>().join(", "),
            });
        }
        Self::of(scenarios)
    }

    /// The cases of these scenarios.
    pub fn of(scenarios: Vec<Scenario>) -> Result<Self, SuiteError> {
        let mut by_name: BTreeMap<String, (Case, u128)> = BTreeMap::new();
        for Scenario { cases, digest, .. } in scenarios {
            for case in cases {
                if let Some((other, _)) = by_name.get(&case.name) {
                    return Err(SuiteError::SameName {
                        name: case.name.clone(),
                        files: [other.scenario.clone(), case.scenario],
                    });
                }
                by_name.insert(case.name.clone(), (case, digest));
                if by_name.len() > MOST {
                    return Err(SuiteError::TooMany { most: MOST });
                }
            }
        }
        let (cases, digests) = by_name.into_values().unzip();
        Ok(Self { cases, digests })
    }

    /// The cases, sorted by name.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Only the cases for which `is_wanted` holds; `filter` is how it is named in an error.
    pub fn filtered(
        &self,
        filter: &str,
        is_wanted: impl Fn(&Case) -> bool,
    ) -> Result<Self, SuiteError> {
        let both = self.cases.iter().zip(&self.digests);
        let wanted = both.filter(|(case, _)| is_wanted(case));
        let (cases, digests): (Vec<Case>, Vec<u128>) =
            wanted.map(|(case, digest)| (case.clone(), *digest)).unzip();
        if cases.is_empty() {
            return Err(SuiteError::NoneLeft {
                filter: filter.to_owned(),
            });
        }
        Ok(Self { cases, digests })
    }

    /// XXH3-128 of the names of the cases and the texts of their scenarios, in hexadecimal digits. Reports of shards
    /// belong together if it is the same.
    pub fn digest(&self) -> String {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        for (case, digest) in self.cases.iter().zip(&self.digests) {
            hash.update(case.name.as_bytes());
            hash.update(&[0]);
            hash.update(&digest.to_be_bytes());
        }
        format!("{:032x}", hash.digest128())
    }

    /// Refuses a suite of which a reference, a file of expectations or another file that is read is not there. With
    /// `makes_golden` references need not be there yet.
    pub fn check_files(&self, makes_golden: bool) -> Result<(), SuiteError> {
        let mut missing = Vec::new();
        for case in &self.cases {
            let golden: Vec<&Path> = case.values("golden").map(Path::new).collect();
            let needed = case
                .needs()
                .filter(|file| !makes_golden || !golden.contains(file));
            for file in needed.filter(|file| !file.exists()) {
                missing.push((case.name.clone(), file.to_owned()));
            }
        }
        if !missing.is_empty() {
            return Err(SuiteError::Missing(missing));
        }
        if makes_golden {
            self.check_references()?;
        }
        Ok(())
    }

    /// The first case that reads this file: its scenario, a recording, or what one of its keys names. Symbolic links
    /// are followed.
    pub fn reader_of(&self, file: &Path) -> Option<&Case> {
        let file = fs::canonicalize(file).ok()?;
        let is_it = |read: &Path| fs::canonicalize(read).is_ok_and(|read| read == file);
        // What lies in a folder of splits belongs to the recording.
        let is_inside =
            |bag: &PathBuf| fs::canonicalize(bag).is_ok_and(|bag| file.starts_with(bag));
        self.cases.iter().find(|case| {
            is_it(&case.scenario) || case.bags.iter().any(is_inside) || case.needs().any(is_it)
        })
    }

    /// Refuses cases that would write one reference: the last one would decide.
    fn check_references(&self) -> Result<(), SuiteError> {
        let mut cases = BTreeMap::new();
        for case in &self.cases {
            for golden in case.values("golden") {
                if let Some(other) = cases.insert(golden, &case.name) {
                    return Err(SuiteError::SameGolden {
                        file: golden.into(),
                        cases: [other.clone(), case.name.clone()],
                    });
                }
            }
        }
        Ok(())
    }
}

/// The scenario files in a folder, with their names relative to `root`, in the order of their names.
fn walk(
    root: &Path,
    folder: &Path,
    depth: usize,
    files: &mut Vec<(PathBuf, String)>,
) -> Result<(), SuiteError> {
    let unreadable = |error| SuiteError::Folder {
        folder: folder.to_owned(),
        error,
    };
    if depth > DEEPEST {
        return Err(SuiteError::TooDeep {
            folder: folder.to_owned(),
            deepest: DEEPEST,
        });
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        entries.push(entry.map_err(unreadable)?.path());
        if entries.len() + files.len() > MOST {
            return Err(SuiteError::TooMany { most: MOST });
        }
    }
    entries.sort_unstable();
    for path in entries {
        let is_hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
        if path.file_name().is_none_or(is_hidden) {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, depth + 1, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let below = path.strip_prefix(root).unwrap_or(&path).with_extension("");
            let name = below.to_string_lossy().into_owned();
            files.push((path, name));
        }
    }
    Ok(())
}
