//! Rewrites the words of the command line before clap parses them, so that lists of values never consume the bag.
//!
//! With `ros2 bag play --topics /a /b bag` the bag is parsed as a topic. Here a list ends at the first word that names
//! an existing file or directory or ends in `.mcap`, `--clock` takes only a number, `--follow` only a
//! name that begins with a slash, and `--foxglove` only what has a port or is an address or `localhost`.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::Path;

use clap::{Arg, Command};

/// Flags that take any number of values.
const LISTS: [&str; 13] = [
    "--topics",
    "--exclude-topics",
    "--services",
    "--exclude-services",
    "--actions",
    "--exclude-actions",
    "--clock-topics",
    "--record-topics",
    "--wait-for-nodes",
    "--expect",
    "--pid",
    "--remap",
    "-m",
];
/// The same, but an empty list has a meaning, too: it becomes one empty value.
const OPEN_LISTS: [&str; 1] = ["--wait-for-subscribers"];
/// Takes a bag, and optionally the name of a storage after it.
const INPUT: [&str; 2] = ["-i", "--input"];
/// The storages of `ros2 bag play`.
const STORAGES: [&str; 2] = ["mcap", "sqlite3"];
/// The frequency of `--clock` without a value, in hertz.
const CLOCK_HZ: &str = "40";
/// The topic of `--follow` without a value.
const CLOCK_TOPIC: &str = "/clock";

/// The address of `--foxglove` without a value.
const VIEWER_ADDRESS: &str = "127.0.0.1:8765";

/// Moves a verb before the global flags of `command` that precede it: clap takes flags before a verb as those of a run.
/// A bag with the name of a verb is reached as `./info`.
pub fn verb_first(words: impl IntoIterator<Item = OsString>, command: &Command) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let mut at = 1;
    while let Some(word) = words.get(at).map(|word| word.to_string_lossy()) {
        if command.find_subcommand(&*word).is_some() {
            let verb = words.remove(at);
            words.insert(1, verb);
            break;
        }
        match words_of_globals(&word, command) {
            Some(taken) => at += taken,
            None => break,
        }
    }
    words
}

/// The number of words that a global flag takes with its value, or several short flags in one word (`-qv`); `None` for
/// any other word.
fn words_of_globals(word: &str, command: &Command) -> Option<usize> {
    let global = |is_it: &dyn Fn(&Arg) -> bool| {
        let mut flags = command.get_arguments().filter(|arg| arg.is_global_set());
        flags.find(|arg| is_it(arg))
    };
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long
            .split_once('=')
            .map_or((long, None), |(name, value)| (name, Some(value)));
        let flag = global(&|arg| arg.get_long() == Some(name))?;
        let takes_next = flag.get_action().takes_values() && value.is_none();
        return Some(if takes_next { 2 } else { 1 });
    }
    let shorts = word.strip_prefix('-').filter(|shorts| !shorts.is_empty())?;
    for (at, short) in shorts.char_indices() {
        let flag = global(&|arg| arg.get_short() == Some(short))?;
        if flag.get_action().takes_values() {
            let is_last = at + short.len_utf8() == shorts.len();
            return Some(if is_last { 2 } else { 1 });
        }
    }
    Some(1)
}

/// Rewrites lists as one `--flag=value` per value.
pub fn spread_lists(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words = words.into_iter().peekable();
    let mut spread = Vec::new();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--") => {
                spread.push(word);
                spread.extend(words.by_ref());
            }
            Some("--clock") => {
                let hz = words.next_if(is_list_value);
                let hz = hz.unwrap_or_else(|| CLOCK_HZ.into());
                spread.push(flag_with("--clock", &hz));
            }
            Some("--follow") => {
                let is_topic = |word: &OsString| {
                    is_list_value(word) && word.to_string_lossy().starts_with('/')
                };
                let topic = words.next_if(is_topic);
                let topic = topic.unwrap_or_else(|| CLOCK_TOPIC.into());
                spread.push(flag_with("--follow", &topic));
            }
            Some("--foxglove") => {
                let address = words.next_if(is_address);
                let address = address.unwrap_or_else(|| VIEWER_ADDRESS.into());
                spread.push(flag_with("--foxglove", &address));
            }
            Some(flag) if INPUT.contains(&flag) => {
                spread.push(word);
                spread.extend(words.next());
                let is_storage = |word: &OsString| {
                    let name = word.to_str();
                    name.is_some_and(|name| STORAGES.contains(&name)) && !Path::new(word).exists()
                };
                let storage = words.next_if(is_storage);
                spread.extend(storage.map(|storage| flag_with("--storage", &storage)));
            }
            Some(flag) if LISTS.contains(&flag) || OPEN_LISTS.contains(&flag) => {
                let before = spread.len();
                while let Some(value) = words.next_if(is_list_value) {
                    spread.push(flag_with(flag, &value));
                }
                if spread.len() == before {
                    let bare = if OPEN_LISTS.contains(&flag) {
                        flag_with(flag, &OsString::new())
                    } else {
                        word
                    };
                    spread.push(bare);
                }
            }
            _ => spread.push(word),
        }
    }
    spread
}

fn is_list_value(word: &OsString) -> bool {
    let text = word.to_string_lossy();
    let is_flag = text.starts_with('-');
    let is_bag =
        Path::new(word).exists() || text.ends_with(".mcap") || text.ends_with(".mcap.zstd");
    !is_flag && !is_bag
}

/// Whether a word after `--foxglove` is an address: not the name of a bag.
fn is_address(word: &OsString) -> bool {
    let text = word.to_string_lossy();
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let has_port = text.rsplit_once(':').is_some_and(|(_, port)| is_port(port));
    let is_host = text == "localhost" || text.starts_with('[') || text.parse::<IpAddr>().is_ok();
    let is_unfinished = text.ends_with(':');
    is_list_value(word) && (is_port(&text) || has_port || is_host || is_unfinished)
}

fn flag_with(flag: &str, value: &OsString) -> OsString {
    // `-mA:=B` would make `=` a part of the value.
    let mut word = OsString::from(if flag == "-m" { "--remap" } else { flag });
    word.push("=");
    word.push(value);
    word
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::super::flags::Cli;
    use super::*;

    #[test]
    fn a_verb_is_one_also_behind_global_flags() {
        let cases = [
            ("play --format json info x", "play info --format json x"),
            ("play -v --color=never man", "play man -v --color=never"),
            ("play -vvv info x", "play info -vvv x"),
            ("play --verbose info x", "play info --verbose x"),
            ("play --log-file F info x", "play info --log-file F x"),
            ("play --log-file=F info x", "play info --log-file=F x"),
            ("play --log-file info x", "play --log-file info x"),
            ("play -vp info", "play -vp info"),
            ("play --rate 2 info", "play --rate 2 info"),
            ("play -- info", "play -- info"),
            ("play - info", "play - info"),
            ("play ./info", "play ./info"),
            ("play", "play"),
        ];
        for (typed, meant) in cases {
            let words = verb_first(typed.split(' ').map(OsString::from), &Cli::command());
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(words.join(" "), meant, "{typed}");
        }
    }

    #[test]
    fn every_global_flag_means_the_same_before_a_verb_and_behind_it() {
        let command = Cli::command();
        let spellings = |arg: &Arg| {
            let value = arg.get_possible_values().into_iter().next();
            let value = value.map_or_else(|| "x".to_owned(), |value| value.get_name().to_owned());
            let long = arg.get_long().map(|name| format!("--{name}"));
            let short = arg.get_short().map(|name| format!("-{name}"));
            let flags = long.into_iter().chain(short);
            let takes = arg.get_action().takes_values();
            let with_value = move |flag: String| {
                if !takes {
                    return vec![vec![flag]];
                }
                let joined = format!("{flag}={value}");
                vec![vec![flag, value.clone()], vec![joined]]
            };
            flags.flat_map(with_value).collect::<Vec<_>>()
        };
        let globals = command.get_arguments().filter(|arg| arg.is_global_set());
        let all: Vec<_> = globals.flat_map(spellings).collect();
        assert!(all.len() >= 9, "{all:?}");
        for flag in all {
            let parsed = |words: Vec<String>| {
                let words = verb_first(words.into_iter().map(OsString::from), &command);
                let cli = Cli::try_parse_from(words).unwrap();
                format!("{cli:?}")
            };
            let words = |parts: [&[String]; 3]| parts.concat();
            let (play, info) = (["play".to_owned()], ["info".to_owned(), "bag".to_owned()]);
            assert_eq!(
                parsed(words([&play, &flag, &info])),
                parsed(words([&play, &info, &flag])),
                "{flag:?}"
            );
        }
    }

    #[test]
    fn a_list_ends_where_the_bag_begins() {
        let cases = [
            (
                "play --topics /a /b bag.mcap -l",
                "play --topics=/a --topics=/b bag.mcap -l",
            ),
            (
                "play bag.mcap --topics /a /b",
                "play bag.mcap --topics=/a --topics=/b",
            ),
            ("play --topics /a src", "play --topics=/a src"),
            ("play --topics=/a bag.mcap", "play --topics=/a bag.mcap"),
            (
                "play -m /a:=/b /c:=/d x.mcap",
                "play --remap=/a:=/b --remap=/c:=/d x.mcap",
            ),
            ("play --topics", "play --topics"),
            ("play --clock bag.mcap", "play --clock=40 bag.mcap"),
            ("play --clock abc bag.mcap", "play --clock=abc bag.mcap"),
            ("play --clock 100 bag.mcap", "play --clock=100 bag.mcap"),
            (
                "play bag.mcap --clock --rate 0.5",
                "play bag.mcap --clock=40 --rate 0.5",
            ),
            ("play --follow bag.mcap", "play --follow=/clock bag.mcap"),
            ("play --follow bag", "play --follow=/clock bag"),
            (
                "play --follow /sim/clock bag.mcap --extrapolate",
                "play --follow=/sim/clock bag.mcap --extrapolate",
            ),
            ("play --follow=clock bag", "play --follow=clock bag"),
            (
                "play --foxglove bag.mcap",
                "play --foxglove=127.0.0.1:8765 bag.mcap",
            ),
            ("play --foxglove bag", "play --foxglove=127.0.0.1:8765 bag"),
            ("play --foxglove 9000 bag", "play --foxglove=9000 bag"),
            ("play --foxglove 0.0.0.0 bag", "play --foxglove=0.0.0.0 bag"),
            (
                "play --foxglove robot:80 bag --clock",
                "play --foxglove=robot:80 bag --clock=40",
            ),
            ("play --foxglove=robot bag", "play --foxglove=robot bag"),
            ("play --foxglove robot: bag", "play --foxglove=robot: bag"),
            (
                "play bag --foxglove --no-tui",
                "play bag --foxglove=127.0.0.1:8765 --no-tui",
            ),
            (
                "play bag.mcap --follow --no-tui",
                "play bag.mcap --follow=/clock --no-tui",
            ),
            (
                "play --wait-for-subscribers bag.mcap",
                "play --wait-for-subscribers= bag.mcap",
            ),
            (
                "play --wait-for-subscribers /a bag.mcap",
                "play --wait-for-subscribers=/a bag.mcap",
            ),
            ("play -- --topics a b", "play -- --topics a b"),
            ("play -i a mcap -i b -l", "play -i a --storage=mcap -i b -l"),
            (
                "play --input a sqlite3 mcap",
                "play --input a --storage=sqlite3 mcap",
            ),
            ("play -i", "play -i"),
            (
                "play --services /a /b --actions /c x.mcap",
                "play --services=/a --services=/b --actions=/c x.mcap",
            ),
        ];
        for (typed, meant) in cases {
            let words = spread_lists(typed.split(' ').map(OsString::from));
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(words.join(" "), meant, "{typed}");
        }
    }
}
