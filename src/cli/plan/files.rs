//! [`check_written`]: a run does not write over what it reads, nor over another of its results.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bag::{FileSummary, file_identity};
use crate::cli::args::flags::PlayArgs;
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
/// # Errors
/// The first pair that is one file.
pub fn check_written(args: &PlayArgs, recordings: &[FileSummary]) -> Result<(), Overwrites> {
    let named = |file: &FileSummary| format!("the recording {}", file.name);
    let recordings = recordings.iter();
    let recordings = recordings.map(|file| (OsString::from(&file.identity), named(file)));
    let mut known: Vec<(OsString, String)> = recordings.collect();
    for (flag, file) in read(args) {
        known.push((identity(file), format!("the file of {flag}")));
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

fn read(args: &PlayArgs) -> impl Iterator<Item = (&'static str, &Path)> {
    let ci = &args.ci;
    let golden = ci.golden.iter().filter(|_| !ci.update_golden);
    let named = [
        ("--golden-rules", ci.golden_rules.as_ref()),
        (
            "--qos-profile-overrides-path",
            args.topics.qos_profile_overrides_path.as_ref(),
        ),
        ("--zenoh-config", args.wire.zenoh_config.as_ref()),
    ];
    let named = named
        .into_iter()
        .filter_map(|(flag, file)| Some((flag, file?)));
    let expected = ci.expect.iter().map(|file| ("--expect", file));
    let golden = golden.map(|file| ("--golden", file));
    let all = named.chain(expected).chain(golden);
    all.map(|(flag, file)| (flag, file.as_path()))
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
        for flags in [
            format!("--record {other} --junit {page} --golden {bag}"),
            format!("--golden {other} --update-golden --expect {rules}"),
        ] {
            assert_eq!(check(&format!("{bag} {flags}")), None, "{flags}");
        }
    }
}
