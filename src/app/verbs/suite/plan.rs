//! [`ShardPlan`]: which cases are run here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use anyhow::anyhow;
use bagplay::ci::suite::scenario::Case;
use bagplay::ci::suite::{
    CaseList, Cut, Header, Partition, Plan, Planned, Runner, SCHEMA, Timings, Weights, attempt,
    plan,
};
use bagplay::cli::{Cli, Exit, Format, SuiteFilter, SuiteRunArgs, check_reports, plural};
use bagplay::untrusted::Foreign;
use serde::Serialize;

use super::misfits::Misfits;
use crate::app::failure::{Failure, OrExit};
use crate::app::log::stdout;

/// The cases of the suite, and which of them are run here.
#[derive(Debug)]
pub(super) struct ShardPlan {
    list: CaseList,
    pub(super) partition: Partition,
    plan: Plan,
    weights: Weights,
}

/// If only references are missing, the error names the flag that writes them.
fn check_files(list: &CaseList, makes_golden: bool) -> anyhow::Result<()> {
    list.check_files(makes_golden).map_err(|error| {
        if !makes_golden && list.check_files(true).is_ok() {
            return anyhow!("{error}; hint: --update-golden writes it");
        }
        error.into()
    })
}

/// Refuses reports in the place of another file of the suite: one that a case reads, the weights, or the report of a
/// shard.
fn refuse_overwriting(list: &CaseList, args: &SuiteRunArgs) -> anyhow::Result<()> {
    let weights = args.timings.iter();
    let weights = weights.map(|file| (file.as_path(), "the file of --timings".to_owned()));
    check_reports(&args.reports, weights)?;
    let out = fs::canonicalize(&args.out).ok();
    for (flag, file) in args.reports.named() {
        let shown = Foreign::path(file);
        if let Some(case) = list.reader_of(file) {
            let case = Foreign::text(&case.name);
            return Err(anyhow!(
                "{flag} {shown} would overwrite a file that {case} reads"
            ));
        }
        let folder = file.parent().and_then(|folder| match folder.as_os_str() {
            empty if empty.is_empty() => fs::canonicalize(".").ok(),
            _ => fs::canonicalize(folder).ok(),
        });
        if file.extension().is_some_and(|it| it == "ndjson") && folder.is_some() && folder == out {
            return Err(anyhow!(
                "{flag} {shown} would have the name of a report of a shard; hint: give another name"
            ));
        }
    }
    Ok(())
}

impl ShardPlan {
    /// From the arguments, the scenarios, their recordings and the environment.
    pub(super) fn new(args: &SuiteRunArgs) -> Result<Self, Failure> {
        if args.paths.is_empty() {
            let error = anyhow!(
                "no folder of scenarios is given; hint: play suite DIR, or play suite --help"
            );
            return Err(Failure::new(Exit::Usage, error));
        }
        let partition = args.partition.map(|part| part.resolve(&environment));
        let partition = partition.transpose().or_exit(Exit::Usage)?;
        let partition = partition.unwrap_or_else(Partition::whole);
        let mut list = CaseList::find(&args.paths, &environment).or_exit(Exit::Usage)?;
        if !args.filter.is_empty() {
            let texts: Vec<&str> = args.filter.iter().map(SuiteFilter::text).collect();
            let is_wanted = |case: &Case| args.filter.iter().any(|filter| filter.selects(case));
            list = list
                .filtered(&texts.join("`, `"), is_wanted)
                .or_exit(Exit::Usage)?;
        }
        let has_reference = |case: &Case| case.has("golden");
        if args.update_golden && !list.cases().iter().any(has_reference) {
            let error =
                anyhow!("--update-golden: no case has a reference; hint: golden = \"FILE\"");
            return Err(Failure::new(Exit::Usage, error));
        }
        check_files(&list, args.update_golden).or_exit(Exit::Usage)?;
        refuse_overwriting(&list, args).or_exit(Exit::Usage)?;
        let timings = args.timings.as_deref().map(Timings::read).transpose();
        let timings = timings.or_exit(Exit::Usage)?;
        // Where nothing is cut or put in order by weight, recordings need not be opened.
        let is_weighed = args.list
            || args.jobs.get() > 1
            || (partition.shards > 1 && partition.cut == Cut::Weight);
        let weights = if is_weighed {
            Weights::of(list.cases(), timings.as_ref())
        } else {
            Weights {
                millis: vec![0; list.cases().len()],
                notes: Vec::new(),
            }
        };
        for note in &weights.notes {
            tracing::warn!("{note}");
        }
        let names = list.cases().iter().map(|case| case.name.as_str());
        let weighed: Vec<(&str, u64)> = names.zip(weights.millis.iter().copied()).collect();
        let plan = plan(&weighed, partition.shards, partition.cut);
        Ok(Self {
            list,
            partition,
            plan,
            weights,
        })
    }

    /// The digest of the case list.
    pub(super) fn digest(&self) -> String {
        self.list.digest()
    }

    /// The cases that are run here, the longest first.
    pub(super) fn own_cases(&self) -> Vec<&Case> {
        let mut own: Vec<usize> = self.plan.of(self.partition.shard).collect();
        own.sort_unstable_by_key(|at| (std::cmp::Reverse(self.weights.millis[*at]), *at));
        own.into_iter().map(|at| &self.list.cases()[at]).collect()
    }

    /// The first line of the report of this shard.
    pub(super) fn header(&self, args: &SuiteRunArgs) -> Header {
        let cases = self.list.cases().iter().zip(self.plan.shards());
        let planned = |(case, shard): (&Case, &u32)| Planned {
            name: case.name.clone(),
            shard: *shard,
            golden: case.has("golden") && !args.update_golden,
        };
        Header {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            digest: self.list.digest(),
            plan: self.plan.digest(),
            cases: cases.map(planned).collect(),
            shard: self.partition.shard,
            shards: self.partition.shards,
            from: self.partition.from.clone(),
            attempt: attempt(&environment).unwrap_or(1),
        }
    }

    /// Checks the command lines of all cases, as far as that is possible without running them: if `with_recordings`,
    /// also whether they fit the recordings. A recording that cannot be opened is an error of the run.
    pub(super) fn check_words(
        &self,
        runner: &Runner,
        with_recordings: bool,
    ) -> Result<(), Failure> {
        let mut misfits = Misfits::default();
        for case in self.list.cases() {
            let words = runner.words(case);
            let words = [OsString::from("play")].into_iter().chain(words);
            let refused = match Cli::read(words) {
                Err(error) => Some(error.to_string()),
                Ok(read) if with_recordings => misfits.find(&read.play),
                Ok(_) => None,
            };
            if let Some(reason) = refused {
                return Err(Failure::new(Exit::Usage, case.refused(&reason)));
            }
        }
        Ok(())
    }

    /// Prints all cases with their shards.
    pub(super) fn print(&self, format: Format) -> Result<(), Failure> {
        let mut systems = BTreeMap::new();
        for system in self.list.cases().iter().filter_map(Case::system) {
            let next = systems.len() + 1;
            systems.entry(system).or_insert(next);
        }
        let rows = self
            .list
            .cases()
            .iter()
            .zip(self.plan.shards())
            .zip(&self.weights.millis);
        let rows = rows.map(|((case, shard), millis)| Row {
            name: &case.name,
            shard: *shard,
            system: case
                .system()
                .and_then(|system| systems.get(&system).copied()),
            secs: Duration::from_millis(*millis).as_secs_f64(),
            tags: &case.tags,
        });
        let rows: Vec<Row<'_>> = rows.collect();
        if format == Format::Json {
            return stdout::json(&Listed {
                digest: self.list.digest(),
                shards: self.partition.shards,
                cases: rows,
            });
        }
        let mut text = String::new();
        for row in &rows {
            // Writing into a string does not fail.
            let _ = write!(text, "{:>5}  {:>8.1} s  {}", row.shard, row.secs, row.name);
            if let Some(system) = row.system {
                let _ = write!(text, "  (stays on system {system})");
            }
            text.push('\n');
        }
        let number = plural(rows.len() as u64, "case");
        let _ = writeln!(text, "{number}, digest {}", self.list.digest());
        stdout::page(&text)
    }
}

#[derive(Serialize)]
struct Listed<'a> {
    digest: String,
    shards: u32,
    cases: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    shard: u32,
    /// How long it is thought to take.
    secs: f64,
    /// The number of the system that it shares with the other cases of this number, if it stays.
    system: Option<usize>,
    tags: &'a [String],
}

fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
