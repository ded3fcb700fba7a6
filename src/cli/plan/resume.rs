//! [`command_line`]: the command line that plays on from where a run is.

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory as _};

use crate::cli::args::flags::Cli;
use crate::player::Pace;
use crate::time::Duration;

/// Flags that the state of the run replaces.
const REPLACED: [&str; 9] = [
    "rate",
    "loop",
    "loop-range",
    "start",
    "start-offset",
    "start-paused",
    "playback-duration",
    "playback-until-sec",
    "playback-until-nsec",
];

/// The state of a run, as far as flags can say it. Positions count from the start of the recording.
#[derive(Clone, PartialEq, Debug)]
pub struct RunState {
    /// The position of playback.
    pub position: Duration,
    /// How fast it plays.
    pub pace: Pace,
    /// Whether playback is paused.
    pub is_paused: bool,
    /// The A–B loop.
    pub ab_loop: Option<(Duration, Duration)>,
    /// Whether all of it is played again at the end.
    pub is_loop: bool,
    /// The recorded names of the topics that are muted.
    pub muted: Vec<String>,
}

/// The words of a command line, the name of the program first, with the flags that bring about this state; quoted for a
/// shell. What has no flag is left out: the zoom, and the position within an A–B loop.
pub fn command_line(words: impl IntoIterator<Item = OsString>, state: &RunState) -> String {
    let command = Cli::command();
    let given = words.into_iter().skip(1);
    let mut words = vec!["play".to_owned()];
    let kept = kept(given, state, &command);
    // What follows `--` is no flag.
    let end = kept.iter().position(|word| word == "--");
    let (before, after) = kept.split_at(end.unwrap_or(kept.len()));
    words.extend_from_slice(before);
    let mut flag = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    match state.ab_loop {
        Some((a, b)) => flag("loop-range", format!("+{a}..+{b}")),
        None => flag("start", format!("+{}", state.position)),
    }
    match state.pace {
        Pace::At(speed) => flag("rate", speed.to_string()),
        Pace::Max => flag("rate", "max".to_owned()),
        // The rate is that of the clock that is followed.
        Pace::Follow => {}
    }
    if state.is_loop && state.ab_loop.is_none() {
        words.push("--loop".to_owned());
    }
    if state.is_paused {
        words.push("--start-paused".to_owned());
    }
    if !state.muted.is_empty() {
        words.push("--exclude-topics".to_owned());
        words.extend_from_slice(&state.muted);
    }
    words.extend_from_slice(after);
    shell_words::join(words)
}

/// The words without the flags that are replaced. In an A–B loop, the end of what is played is, too.
fn kept(words: impl Iterator<Item = OsString>, state: &RunState, command: &Command) -> Vec<String> {
    let is_replaced = |arg: &Arg| {
        let long = arg.get_long().unwrap_or_default();
        REPLACED.contains(&long) || (long == "end" && state.ab_loop.is_some())
    };
    let mut kept = Vec::new();
    let mut words = words.map(|it| it.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        if word == "--" {
            kept.push(word);
            kept.extend(words.by_ref());
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, _)) => (name, true),
                None => (long, false),
            };
            let arg = command.get_arguments().find(|arg| {
                let aliases = arg.get_all_aliases().unwrap_or_default();
                arg.get_long() == Some(name) || aliases.contains(&name)
            });
            let takes_next = arg.is_some_and(|arg| arg.get_action().takes_values()) && !value;
            let next = if takes_next { words.next() } else { None };
            if !arg.is_some_and(is_replaced) {
                kept.push(word);
                kept.extend(next);
            }
        } else if let Some(shorts) = word.strip_prefix('-').filter(|shorts| !shorts.is_empty()) {
            kept.extend(kept_shorts(shorts, &mut words, &is_replaced, command));
        } else {
            kept.push(word);
        }
    }
    kept
}

/// Of several short flags in one word (`-pl`, `-r2`) those that are kept, each in a word of its own.
fn kept_shorts(
    shorts: &str,
    words: &mut impl Iterator<Item = String>,
    is_replaced: &impl Fn(&Arg) -> bool,
    command: &Command,
) -> Vec<String> {
    let mut kept = Vec::new();
    for (at, short) in shorts.char_indices() {
        let arg = command
            .get_arguments()
            .find(|arg| arg.get_short() == Some(short));
        let is_kept = !arg.is_some_and(is_replaced);
        if arg.is_some_and(|arg| arg.get_action().takes_values()) {
            let rest = &shorts[at + short.len_utf8()..];
            let value = if rest.is_empty() {
                words.next()
            } else {
                Some(rest.to_owned())
            };
            if is_kept {
                kept.push(format!("-{short}"));
                kept.extend(value);
            }
            break;
        }
        if is_kept {
            kept.push(format!("-{short}"));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Speed;

    fn state() -> RunState {
        RunState {
            position: Duration::from_millis(12_500),
            pace: Pace::At(Speed::NORMAL),
            is_paused: false,
            ab_loop: None,
            is_loop: false,
            muted: Vec::new(),
        }
    }

    fn resumed(line: &str, state: &RunState) -> String {
        let words = shell_words::split(line).unwrap();
        command_line(words.into_iter().map(OsString::from), state)
    }

    #[test]
    fn flags_of_the_state_replace_those_that_were_given() {
        for (line, expected) in [
            ("play a.mcap", "play a.mcap --start +12.5s --rate 1"),
            (
                "/usr/bin/play 'my bag.mcap' --rate 2 --start=+3 --end 20 --clock",
                "play 'my bag.mcap' --end 20 --clock --start +12.5s --rate 1",
            ),
            (
                "play -pl -r2 -e /imu a.mcap --topics /a /b",
                "play -e /imu a.mcap --topics /a /b --start +12.5s --rate 1",
            ),
            (
                "play a.mcap --rate -1 --start-offset 3 --playback-duration 4 -- --rate",
                "play a.mcap --start +12.5s --rate 1 -- --rate",
            ),
        ] {
            assert_eq!(resumed(line, &state()), expected, "{line}");
        }
    }

    #[test]
    fn the_line_is_parsed_as_the_state() {
        let state = RunState {
            pace: Pace::At("-0.5".parse().unwrap()),
            is_paused: true,
            ab_loop: Some((Duration::from_secs(1), Duration::from_millis(2_250))),
            muted: vec!["/a b".to_owned()],
            ..state()
        };
        let line = resumed("play a.mcap --end 5 --loop", &state);
        assert_eq!(
            line,
            "play a.mcap --loop-range +1s..+2.25s --rate -0.5 --start-paused --exclude-topics '/a b'"
        );
        let words = shell_words::split(&line).unwrap();
        let cli = Cli::read(words.into_iter().map(OsString::from)).unwrap();
        assert_eq!(cli.play.time.rate, Some(state.pace));
        assert!(cli.play.time.start_paused && cli.play.time.loop_range.is_some());
        assert_eq!(cli.play.topics.selection.exclude_topics, ["/a b"]);
        let looped = RunState {
            is_loop: true,
            pace: Pace::Max,
            ab_loop: None,
            ..state
        };
        let line = resumed("play a.mcap", &looped);
        assert!(
            line.contains("--start +12.5s --rate max --loop --start-paused"),
            "{line}"
        );
    }
}
