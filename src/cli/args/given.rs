//! [`Given`]: what stands on a command line beside a scenario, and replaces what the scenario has.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::parser::ValueSource;

use super::argv::spread_lists;
use super::flags::Cli;
use super::printable::printable;

const SCENARIO: &str = "--scenario";

/// The words beside `--scenario FILE` on a command line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Given {
    /// The words, without the name of the program and the scenario. Each value of a list has its flag.
    pub words: Vec<OsString>,
    /// The flags among them: their long names without the hyphens.
    pub flags: BTreeSet<String>,
    /// Whether there are recordings.
    pub has_bags: bool,
    /// Whether there is a program under test.
    pub has_command: bool,
}

impl Given {
    /// Reads the words of a command line, the program's name first.
    ///
    /// # Errors
    /// They are no command line of `play`.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut command = Cli::command();
        let words = spread_lists(words);
        let matches = command.try_get_matches_from_mut(words.iter().cloned());
        let matches = matches.map_err(|error| printable(error, &mut command))?;
        let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let args = command.get_arguments();
        let given = args.filter(|arg| is_given(arg.get_id().as_str()));
        let flags: BTreeSet<String> = given
            .filter_map(|arg| arg.get_long().map(str::to_owned))
            .collect();
        Ok(Self {
            words: without_scenario(words),
            has_bags: is_given("bags") || flags.contains("input"),
            has_command: is_given("command"),
            flags,
        })
    }
}

fn without_scenario(words: Vec<OsString>) -> Vec<OsString> {
    let mut words = words.into_iter().skip(1);
    let mut others = Vec::new();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "--" {
            others.push(word);
            others.extend(words.by_ref());
        } else if text == SCENARIO {
            words.next();
        } else if !text.starts_with(&format!("{SCENARIO}=")) {
            others.push(word);
        }
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &str) -> Given {
        Given::read(line.split(' ').map(OsString::from)).unwrap()
    }

    #[test]
    fn flags_are_known_by_their_long_names_with_and_without_an_equals_sign() {
        for line in [
            "play --scenario s.toml --rate 2 --topics /a /b --isolated",
            "play --rate=2 --topics=/a --topics=/b --isolated --scenario=s.toml",
            "play -r 2 --scenario s.toml --isolated --topics /a /b",
        ] {
            let given = given(line);
            let flags: Vec<&str> = given.flags.iter().map(String::as_str).collect();
            assert_eq!(flags, ["isolated", "rate", "scenario", "topics"], "{line}");
            assert!(!given.has_bags && !given.has_command, "{line}");
            assert!(!given.words.iter().any(|word| word == "s.toml"), "{line}");
        }
    }

    #[test]
    fn recordings_and_a_program_are_seen() {
        let both = given("play --scenario s.toml x.mcap -- node --scenario y");
        assert!(both.has_bags && both.has_command);
        let words: Vec<_> = both
            .words
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        assert_eq!(words.join(" "), "x.mcap -- node --scenario y");
        assert!(given("play --scenario s.toml -i x.mcap").has_bags);
    }
}
