//! [`check_written`]: a run does not write over what it reads, nor over another of its results.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bag::{FileSummary, file_identity};
use crate::ci::judge::compare::Rules;
use crate::cli::args::flags::PlayArgs;
use crate::cli::args::verbs::suite::ReportFiles;
use crate::untrusted::Foreign;

/// A file that would be written over another one that the same run reads or writes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{flag} {} would overwrite {what}; hint: give another name",
    Foreign::path(file)
)]
pub struct Overwrites {
    /// The flag that names it.
    pub flag: &'static str,
    /// The name.
    pub file: PathBuf,
    /// What is there, or would be there.
    pub what: String,
}

/// Compares the files that a run writes with those that it reads, and with each other. Links to one file are that file.
///
/// The folder of a run is emptied before the run, so nothing that the run reads may be in it.
///
/// # Errors
/// The first pair that is one file, or the first file that would be removed.
pub fn check_written(args: &PlayArgs, recordings: &[FileSummary]) -> Result<(), Overwrites> {
    let named = |file: &FileSummary| format!("the recording {}", file.name);
    let recordings = recordings.iter();
    let recordings = recordings.map(|file| (OsString::from(&file.identity), named(file)));
    let mut known: Vec<(OsString, String)> = recordings.collect();
    // The recordings as they were named, too: `recordings` lacks one that could not be opened.
    for bag in &args.bags {
        let inside = fs::read_dir(bag).into_iter().flatten().flatten();
        let files = inside.map(|entry| entry.path()).chain([bag.clone()]);
        let what = format!("the recording {}", Foreign::path(bag));
        known.extend(files.map(|file| (identity(&file), what.clone())));
    }
    for (flag, file) in read(args) {
        known.push((identity(&file), format!("the file of {flag}")));
    }
    if let Some(what) = removed(args) {
        let file = args.ci.run_dir.clone().unwrap_or_default();
        let flag = "--run-dir";
        return Err(Overwrites { flag, file, what });
    }
    for (flag, file) in written(args) {
        let identity = identity(file);
        if let Some((_, what)) = known.iter().find(|(other, _)| *other == identity) {
            return Err(Overwrites {
                flag,
                file: file.to_owned(),
                what: what.clone(),
            });
        }
        known.push((identity, format!("the file of {flag}")));
    }
    Ok(())
}

/// The same for the reports of a suite: they are different files, and none is one of `known`, each with what it is.
///
/// # Errors
/// The first pair that is one file.
pub fn check_reports<'a>(
    reports: &'a ReportFiles,
    known: impl IntoIterator<Item = (&'a Path, String)>,
) -> Result<(), Overwrites> {
    let known = known.into_iter();
    let mut known: Vec<(OsString, String)> =
        known.map(|(file, what)| (identity(file), what)).collect();
    for (flag, file) in reports.named() {
        let identity = identity(file);
        if let Some((_, what)) = known.iter().find(|(other, _)| *other == identity) {
            let (file, what) = (file.to_owned(), what.clone());
            return Err(Overwrites { flag, file, what });
        }
        known.push((identity, format!("the file of {flag}")));
    }
    Ok(())
}

/// What is read, or replaced only when the run has ended, and lies in the folder of the run.
fn removed(args: &PlayArgs) -> Option<String> {
    let folder = fs::canonicalize(args.ci.run_dir.as_ref()?).ok()?;
    let is_inside = |file: &Path| fs::canonicalize(file).is_ok_and(|it| it.starts_with(&folder));
    if let Some(bag) = args.bags.iter().find(|bag| is_inside(bag)) {
        return Some(format!("the recording {}", Foreign::path(bag)));
    }
    let golden = args.ci.golden.clone().map(|file| ("--golden", file));
    let mut files = read(args).into_iter().chain(golden);
    let (flag, _) = files.find(|(_, file)| is_inside(file))?;
    Some(format!("the file of {flag}"))
}

fn read(args: &PlayArgs) -> Vec<(&'static str, PathBuf)> {
    let ci = &args.ci;
    let beside = ci.golden.as_ref().map(|golden| Rules::file_beside(golden));
    let golden = ci.golden.clone().filter(|_| !ci.update_golden);
    let named = [
        ("--golden-rules", ci.golden_rules.clone().or(beside)),
        (
            "--qos-profile-overrides-path",
            args.topics.qos_profile_overrides_path.clone(),
        ),
        ("--zenoh-config", args.wire.zenoh_config.clone()),
        (
            "--scenario",
            ci.read_from.as_ref().map(|from| from.file.clone()),
        ),
        ("--golden", golden),
    ];
    let named = named
        .into_iter()
        .filter_map(|(flag, file)| Some((flag, file?)));
    let expected = ci.expect.iter().map(|file| ("--expect", file.clone()));
    named.chain(expected).collect()
}

fn written(args: &PlayArgs) -> impl Iterator<Item = (&'static str, &Path)> {
    let ci = &args.ci;
    let golden = ci.golden.as_ref().filter(|_| ci.update_golden);
    let all = [
        ("--record", ci.record.as_ref()),
        ("--golden", golden),
        ("--junit", ci.junit.as_ref()),
        ("--report", ci.report.as_ref()),
        ("--markdown", ci.markdown.as_ref()),
        ("--html", ci.html.as_ref()),
    ];
    all.into_iter()
        .filter_map(|(flag, file)| Some((flag, file?.as_path())))
}

/// What tells a file from others: of one that is there the same as that of a recording, else its path.
fn identity(file: &Path) -> OsString {
    file_identity(file).map_or_else(|_| absolute(file).into(), OsString::from)
}

fn absolute(file: &Path) -> PathBuf {
    let folder = file.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
    let name = file.file_name().unwrap_or_default();
    folder.map_or_else(|_| file.to_owned(), |folder| folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::Bag;
    use crate::cli::Cli;

    fn check(line: &str) -> Option<String> {
        let words = std::iter::once("play").chain(line.split(' '));
        let args = Cli::read(words.map(OsString::from)).unwrap().play;
        let bag = Bag::open(&args.bags).unwrap();
        let refused = check_written(&args, bag.files()).err();
        refused.map(|error| error.to_string())
    }

    #[test]
    fn nothing_is_written_over_what_is_read_or_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let [bag, link, hard, rules, page] =
            ["a.mcap", "link.mcap", "hard.mcap", "e.toml", "x.html"].map(path);
        fs::copy("testdata/demo.mcap", &bag).unwrap();
        fs::write(&rules, "").unwrap();
        std::os::unix::fs::symlink(&bag, &link).unwrap();
        fs::hard_link(&bag, &hard).unwrap();
        let other = path("other.mcap");
        let recording = format!("the recording {bag}");
        for (flags, what) in [
            (format!("--record {bag}"), recording.as_str()),
            (format!("--record {link}"), &recording),
            (format!("--junit {hard}"), &recording),
            (format!("--golden {bag} --update-golden"), &recording),
            (
                format!("--record {rules} --expect {rules}"),
                "the file of --expect",
            ),
            (
                format!("--record {other} --golden {other}"),
                "the file of --golden",
            ),
            (
                format!("--junit {page} --html {page}"),
                "the file of --junit",
            ),
            (
                format!("--golden-rules {rules} --golden {other} --report {rules}"),
                "the file of --golden-rules",
            ),
        ] {
            let said = check(&format!("{bag} {flags}"));
            let is_said = said
                .as_ref()
                .is_some_and(|it| it.contains(&format!("would overwrite {what};")));
            assert!(is_said, "{flags}: {said:?}");
        }
        let run = path("run");
        fs::create_dir(&run).unwrap();
        let inner = path("run/outputs.mcap");
        fs::copy("testdata/demo.mcap", &inner).unwrap();
        for (line, what) in [
            (
                format!("{bag} --run-dir {run} --golden {inner}"),
                "the file of --golden",
            ),
            (
                format!("{bag} --run-dir {run} --golden {inner} --update-golden"),
                "the file of --golden",
            ),
            (
                format!("{inner} --run-dir {run}"),
                &format!("the recording {inner}"),
            ),
        ] {
            let said = check(&line).unwrap_or_default();
            let expected = format!("--run-dir {run} would overwrite {what};");
            assert!(said.starts_with(&expected), "{line}: {said}");
        }
        for flags in [
            format!("--run-dir {run} --report {run}/report.json"),
            format!("--record {other} --junit {page} --golden {bag}"),
            format!("--golden {other} --update-golden --expect {rules}"),
        ] {
            assert_eq!(check(&format!("{bag} {flags}")), None, "{flags}");
        }
    }
}
