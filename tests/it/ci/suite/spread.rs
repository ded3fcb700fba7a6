//! A suite that is spread over jobs: each job finds its part in its environment, as the jobs of a Kubernetes Indexed
//! Job do.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use bagplay::ci::suite::{
    CaseList, Event, Header, Partition, PartitionArg, Planned, Runner, SCHEMA, ShardFile,
    ShardWriter, merge, plan,
};
use crossbeam_channel::never;

use super::stand_in::Place;

const JOB: &str = "BAGPLAY_TEST_JOB";
const ENTRY: &str = "ci::suite::spread::processes_with_a_completion_index_run_each_case_once";

fn cases(place: &Place) -> CaseList {
    let names: Vec<String> = (0..23).map(|at| format!("case-{at:02}")).collect();
    let what: Vec<(&str, &str)> = names
        .iter()
        .map(|name| {
            (
                name.as_str(),
                if name == "case-07" { "fail" } else { "pass" },
            )
        })
        .collect();
    place.cases(&what)
}

/// What one job does, in the environment of its process.
fn job(folder: &Path) {
    let place = Place::new();
    let cases = cases(&place);
    let arg: PartitionArg = "auto/5".parse().unwrap();
    let environment = |name: &str| -> Option<OsString> { std::env::var_os(name) };
    let Partition {
        cut,
        shard,
        shards,
        from,
        ..
    } = arg.resolve(&environment).unwrap();
    let weights: Vec<(&str, u64)> = cases
        .cases()
        .iter()
        .map(|case| (case.name.as_str(), 1))
        .collect();
    let plan = plan(&weights, shards, cut);
    let planned = cases.cases().iter().zip(plan.shards());
    let header = Header {
        schema: SCHEMA,
        digest: cases.digest(),
        plan: plan.digest(),
        cases: planned
            .map(|(case, shard)| Planned {
                name: case.name.clone(),
                shard: *shard,
                golden: false,
            })
            .collect(),
        shard,
        shards,
        from,
        ..Header::default()
    };
    let mut file = ShardWriter::create(folder, header).unwrap();
    let mine: Vec<_> = plan.of(shard).map(|at| &cases.cases()[at]).collect();
    let runner = Runner {
        program: place.program(),
        more: Vec::new(),
        folder: place.path().join("runs"),
        holder: None,
        jobs: 2,
        repeat: 1,
        fail_fast: false,
        timeout: None,
        grace: crate::support::patience::PATIENCE,
    };
    let finished = runner.run(&mine, &never::<u8>(), &mut |event| match event {
        Event::CaseEnded { record, .. } => file.add(record),
        _ => Ok(()),
    });
    file.finish(finished.unwrap().why).unwrap();
}

#[test]
fn processes_with_a_completion_index_run_each_case_once() {
    if let Some(folder) = std::env::var_os(JOB) {
        job(Path::new(&folder));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let start = |index: u32| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let command = command
            .args([ENTRY, "--exact"])
            .env(JOB, dir.path())
            .env("JOB_COMPLETION_INDEX", index.to_string());
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let mut jobs: Vec<_> = (0..5).map(start).collect();
    // A replacement may overlap the job that it replaces.
    jobs.push(start(2));
    for mut job in jobs {
        assert!(job.wait().unwrap().success());
    }
    let files = ShardFile::read_all(&[dir.path()]).unwrap();
    assert_eq!(files.len(), 6);
    let merged = merge(&files).unwrap();
    assert_eq!(
        (merged.runs.len(), merged.exit, merged.problems.len()),
        (23, 5, 0)
    );
    let failed: Vec<&str> = merged
        .runs
        .iter()
        .filter(|run| run.exit_code != 0)
        .map(|run| run.name.as_str())
        .collect();
    assert_eq!(failed, ["case-07"]);
}
