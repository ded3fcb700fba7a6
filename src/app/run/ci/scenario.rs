//! `play --scenario FILE`: the file becomes the words of a command line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use bagplay::ci::suite::scenario::Scenario;
use bagplay::cli::{Cli, Exit, FromScenario, Given};
use bagplay::untrusted::Foreign;

use crate::app::failure::{Failure, OrExit};

/// The command line of a scenario and of the other words that were given, the program's name first. What is given
/// replaces what the scenario has.
pub(crate) fn command_line(
    file: &Path,
    run_dir: Option<&PathBuf>,
    given: impl IntoIterator<Item = OsString>,
) -> Result<Cli, Failure> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let lookup = |variable: &str| std::env::var_os(variable);
    let scenario = Scenario::read(file, &name, &lookup).or_exit(Exit::Usage)?;
    let [case] = scenario.cases.as_slice() else {
        let (file, count) = (Foreign::path(file), scenario.cases.len());
        let error = anyhow!("{file} has {count} cases; hint: play suite {file} runs all of them");
        return Err(Failure::new(Exit::Usage, error));
    };
    let run_dir = run_dir.map_or(Path::new("."), PathBuf::as_path);
    // The words were read once, to find the scenario among them.
    let given = Given::read(given).or_exit(Exit::Usage)?;
    let mut case = case.clone().without(&given.flags);
    if given.has_bags {
        case.bags.clear();
    }
    if given.has_command {
        (case.command, case.env) = (Vec::new(), BTreeMap::new());
    }
    let mut words = case.words(run_dir, &[]);
    if let Some(timeout) = case.timeout.filter(|_| !given.flags.contains("timeout")) {
        words.insert(0, format!("--timeout={}", timeout.as_secs_f64()).into());
    }
    let command = words.iter().position(|word| word == "--");
    let command = words.split_off(command.unwrap_or(words.len()));
    let words = words.into_iter().chain(given.words).chain(command);
    let program = OsString::from("play");
    let words: Vec<OsString> = [program].into_iter().chain(words).collect();
    let mut cli = Cli::read(words.iter().cloned());
    if let Ok(cli) = &mut cli {
        let file = file.to_owned();
        cli.play.ci.read_from = Some(FromScenario { file, words });
    }
    cli.map_err(|error| Failure::new(Exit::Usage, case.refused(&error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_the_words_beside_it_are_one_command_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.toml");
        let text =
            "bags = 'a.mcap'\nlockstep = true\nrecord = 'x.mcap'\ncommand = ['node', '--fast']\n";
        std::fs::write(&file, text).unwrap();
        let path = file.to_str().unwrap();
        for given in [
            vec!["play", "--scenario", path, "--repeat", "3"],
            vec!["play", "--repeat=3", &format!("--scenario={path}")],
        ] {
            let given = given.into_iter().map(OsString::from);
            let cli = command_line(&file, Some(&PathBuf::from("out")), given).unwrap();
            let ci = cli.play.ci;
            assert_eq!(cli.play.bags, [folder.path().join("a.mcap")]);
            assert!(ci.lockstep && ci.scenario.is_none());
            assert_eq!((ci.repeat.get(), ci.command.len()), (3, 2));
            assert_eq!(ci.record.as_deref(), Some(Path::new("out/x.mcap")));
            // The command line that the record of the run has as its equivalent.
            let from = ci.read_from.unwrap();
            assert_eq!(from.file, file);
            let again = Cli::read(from.words).unwrap().play;
            assert_eq!(again.bags, cli.play.bags);
            let again = again.ci;
            assert!(again.lockstep && again.scenario.is_none());
            assert_eq!((again.repeat, again.command), (ci.repeat, ci.command));
            assert_eq!(again.record, ci.record);
        }
    }

    #[test]
    fn what_is_given_replaces_what_the_scenario_has() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.toml");
        let text = "bags = 'a.mcap'\nclock = 100\ntopics = ['/a', '/b']\nlockstep = true\ngolden = 'g.mcap'\n\
                    command = ['node', '--fast']\nenv = { A = '1' }\n";
        std::fs::write(&file, text).unwrap();
        let path = file.to_str().unwrap();
        let read = |line: &str| {
            let words = line.split(' ').map(|word| word.replace("FILE", path));
            let cli = command_line(&file, None, words.map(OsString::from));
            cli.unwrap_or_else(|failure| panic!("{line}: {}", failure.error))
                .play
        };
        let played = read("play --scenario FILE --clock 50 --topics /imu --playback-duration 2");
        assert_eq!(played.bags, [folder.path().join("a.mcap")]);
        assert_eq!(played.topics.selection.topics, ["/imu"]);
        assert_eq!(played.clock.clock, Some(50.0));
        assert_eq!(played.ci.command, ["env", "A=1", "node", "--fast"]);
        let played = read("play --scenario=FILE --update-golden other.mcap -- x --scenario y");
        assert!(played.ci.update_golden && played.ci.golden.is_some());
        assert_eq!(played.bags, [Path::new("other.mcap")]);
        assert_eq!(played.ci.command, ["x", "--scenario", "y"]);
    }

    #[test]
    fn the_timeout_of_a_scenario_is_that_of_its_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.toml");
        std::fs::write(&file, "bags = 'a.mcap'\ntimeout = '2m'").unwrap();
        let timeout = |given: &[&str]| {
            let given = ["play"].iter().chain(given).map(OsString::from);
            let cli = command_line(&file, None, given).unwrap();
            cli.play.ci.timeout.unwrap().as_secs_f64()
        };
        assert!((timeout(&[]) - 120.0).abs() < 1e-9);
        assert!((timeout(&["--timeout", "3"]) - 3.0).abs() < 1e-9);
        assert!((timeout(&["--timeout=1.5"]) - 1.5).abs() < 1e-9);
    }

    #[test]
    fn a_scenario_with_several_cases_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.toml");
        std::fs::write(
            &file,
            "bags = 'a.mcap'\nrate = '${r}'\nmatrix = { r = ['1', '2'] }",
        )
        .unwrap();
        let refused = command_line(&file, None, [OsString::from("play")]).unwrap_err();
        assert_eq!(refused.exit, Exit::Usage);
        assert!(refused.error.to_string().contains("has 2 cases"));
    }
}
