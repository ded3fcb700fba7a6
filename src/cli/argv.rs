//! The words of the command line, before clap sees them: lists of values never swallow the bag.
//!
//! `ros2 bag play` lets `--topics /a /b bag` take the bag for a topic. Here a list ends at the first
//! word that names something on disk or ends in `.mcap`, and `--clock` takes only a number.

use std::ffi::OsString;
use std::path::Path;

/// Flags that take any number of values.
const LISTS: [&str; 5] = [
    "--topics",
    "--exclude-topics",
    "--clock-topics",
    "--remap",
    "-m",
];
/// The same, but none at all means something too: it becomes one empty value.
const OPEN_LISTS: [&str; 1] = ["--wait-for-subscribers"];
/// What bare `--clock` means, in hertz.
const CLOCK_HZ: &str = "40";

/// The verbs; a bag of such a name is reached as `./info`.
const VERBS: [&str; 3] = ["info", "completions", "man"];
/// Flags that may stand before a verb as well as behind it, with the number of words they take.
const GLOBAL: [(&str, usize); 6] = [
    ("--format", 2),
    ("--color", 2),
    ("-v", 1),
    ("-vv", 1),
    ("-q", 1),
    ("--quiet", 1),
];

/// Puts a verb before the global flags that stand before it.
pub fn verb_first(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let mut at = 1;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
        let flag = word.split('=').next().unwrap_or(word);
        match GLOBAL.iter().find(|(name, _)| *name == flag) {
            Some((_, takes)) => at += if flag == word { *takes } else { 1 },
            None if VERBS.contains(&word) => {
                let verb = words.remove(at);
                words.insert(1, verb);
                break;
            }
            None => break,
        }
    }
    words
}

/// Rewrites lists as one `--flag=value` a value.
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

fn flag_with(flag: &str, value: &OsString) -> OsString {
    // `-mA:=B` would read `=` as part of the value.
    let mut word = OsString::from(if flag == "-m" { "--remap" } else { flag });
    word.push("=");
    word.push(value);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_is_one_also_behind_global_flags() {
        let cases = [
            ("play --format json info x", "play info --format json x"),
            ("play -v --color=never man", "play man -v --color=never"),
            ("play --rate 2 info", "play --rate 2 info"),
            ("play ./info", "play ./info"),
            ("play", "play"),
        ];
        for (typed, meant) in cases {
            let words = verb_first(typed.split(' ').map(OsString::from));
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(words.join(" "), meant, "{typed}");
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
            (
                "play --wait-for-subscribers bag.mcap",
                "play --wait-for-subscribers= bag.mcap",
            ),
            (
                "play --wait-for-subscribers /a bag.mcap",
                "play --wait-for-subscribers=/a bag.mcap",
            ),
            ("play -- --topics a b", "play -- --topics a b"),
        ];
        for (typed, meant) in cases {
            let words = spread_lists(typed.split(' ').map(OsString::from));
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(words.join(" "), meant, "{typed}");
        }
    }
}
