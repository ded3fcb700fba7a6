//! [`command_line`]: the command line that plays on from where a run is; [`same_command_line`]: the one that was given.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use clap::{Arg, Command, CommandFactory as _};

use super::shell_word::quoted;
use crate::cli::args::argv::spread_lists;
use crate::cli::args::flags::Cli;
use crate::player::{ClockMode, Pace, RunState};
use crate::time::{AtEnd, Duration, Ros, Speed, Time, hertz};

/// Flags that the state of the run replaces.
const REPLACED: [&str; 14] = [
    "begin-at",
    "clock",
    "clock-start",
    "end",
    "loop",
    "loop-range",
    "playback-duration",
    "playback-until-nsec",
    "playback-until-sec",
    "rate",
    "skip-empty",
    "start",
    "start-offset",
    "start-paused",
];

/// The words of a command line, the name of the program first, with the flags that bring about this state; quoted for a
/// shell. What has no flag is left out, such as the zoom. A run that follows a clock keeps its flags: the clock says
/// where it is.
pub fn command_line(words: impl IntoIterator<Item = OsString>, state: &RunState) -> String {
    let given = spread_lists(words.into_iter().skip(1));
    let end = given.iter().position(|word| word == "--");
    let (flags, rest) = given.split_at(end.unwrap_or(given.len()));
    let mut words = vec![OsString::from("play")];
    if state.pace == Pace::Follow {
        words.extend_from_slice(flags);
    } else {
        let kept = kept(flags, &Cli::command()).into_iter();
        words.extend(kept.filter(|word| !awaits(word, &state.muted)));
        words.extend(flags_of(state).into_iter().map(OsString::from));
    }
    let muted = state.muted.iter();
    words.extend(muted.map(|name| OsString::from(format!("--exclude-topics={name}"))));
    words.extend_from_slice(rest);
    let words = words.iter().map(|word| quoted(word));
    words.collect::<Vec<_>>().join(" ")
}

/// The words of a command line as they were given, the name of the program first; quoted for a shell.
pub fn same_command_line(words: impl IntoIterator<Item = OsString>) -> String {
    let words = words.into_iter().skip(1).map(|word| quoted(&word));
    let words = std::iter::once("play".to_owned()).chain(words);
    words.collect::<Vec<_>>().join(" ")
}

/// Whether a word waits for the subscribers of one of these topics: a topic that is not played cannot be awaited.
fn awaits(word: &OsStr, topics: &[String]) -> bool {
    let value = word
        .to_str()
        .and_then(|word| word.strip_prefix("--wait-for-subscribers="));
    let name = value.and_then(|value| value.split('=').next());
    name.is_some_and(|name| topics.iter().any(|topic| topic == name))
}

fn flags_of(state: &RunState) -> Vec<String> {
    let since_start =
        |time: Time<Ros>| format!("+{}", time.saturating_since(state.recording.start()));
    let mut flags = Vec::new();
    let mut flag = |name: &str, value: String| flags.extend([format!("--{name}"), value]);
    let (range, whole) = (state.played.range, state.recording);
    if let Some(ab) = state.played.ab_loop {
        let ends = [ab.start(), ab.stop()].map(since_start);
        flag("loop-range", ends.join(".."));
    } else {
        if range.start() != whole.start() {
            flag("start", since_start(range.start()));
        }
        if range.stop() != whole.stop() {
            flag("end", since_start(range.stop()));
        }
    }
    if let Some(position) = state.position {
        flag("begin-at", since_start(position));
    }
    match state.pace {
        Pace::At(speed) if speed == Speed::NORMAL => {}
        Pace::At(speed) => flag("rate", speed.to_string()),
        Pace::Max => flag("rate", "max".to_owned()),
        Pace::Follow => {}
    }
    match state.clock {
        ClockMode::Every(period) | ClockMode::WithMessages(Some(period)) => {
            flag("clock", hertz(period));
        }
        ClockMode::WithMessages(None) | ClockMode::Off => {}
    }
    if let Some(longest) = state.skip_empty {
        flag("skip-empty", longest.to_string());
    }
    if state.clock_shift != Duration::ZERO {
        let (range, _) = state.played.current();
        let is_reverse = matches!(state.pace, Pace::At(speed) if speed.is_reverse());
        let entry = if is_reverse {
            range.stop()
        } else {
            range.start()
        };
        let shown = entry.saturating_add(state.clock_shift);
        flag("clock-start", shown.as_nanos().to_string());
    }
    if state.played.at_end == AtEnd::Loop {
        flags.push("--loop".to_owned());
    }
    if state.is_paused {
        flags.push("--start-paused".to_owned());
    }
    flags
}

/// The words without the flags that are replaced, and without their values.
fn kept(words: &[OsString], command: &Command) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut words = words.iter().cloned();
    while let Some(word) = words.next() {
        let bytes = word.as_bytes();
        if let Some(long) = bytes.strip_prefix(b"--") {
            let name = long.split(|byte| *byte == b'=').next().unwrap_or_default();
            let arg = command.get_arguments().find(|arg| is_named(arg, name));
            let has_value = name.len() < long.len();
            let takes_next = arg.is_some_and(|arg| arg.get_action().takes_values()) && !has_value;
            let value = if takes_next { words.next() } else { None };
            if !arg.is_some_and(is_replaced) {
                kept.push(word);
                kept.extend(value);
            }
        } else if let Some(shorts) = bytes.strip_prefix(b"-").filter(|shorts| !shorts.is_empty()) {
            kept.extend(kept_shorts(shorts, &mut words, command));
        } else {
            kept.push(word);
        }
    }
    kept
}

fn is_replaced(arg: &Arg) -> bool {
    REPLACED.contains(&arg.get_long().unwrap_or_default())
}

fn is_named(arg: &Arg, name: &[u8]) -> bool {
    let aliases = arg.get_all_aliases().unwrap_or_default();
    let mut names = arg.get_long().into_iter().chain(aliases);
    names.any(|it| it.as_bytes() == name)
}

/// Of several short flags in one word (`-pl`, `-r2`) those that are kept, each in a word of its own.
fn kept_shorts(
    shorts: &[u8],
    words: &mut impl Iterator<Item = OsString>,
    command: &Command,
) -> Vec<OsString> {
    let mut kept = Vec::new();
    for (at, short) in shorts.iter().enumerate() {
        let is_it = |arg: &&Arg| arg.get_short() == Some(char::from(*short));
        let arg = command.get_arguments().find(is_it);
        let is_kept = !arg.is_some_and(is_replaced);
        let flag = OsString::from(format!("-{}", char::from(*short)));
        if arg.is_some_and(|arg| arg.get_action().takes_values()) {
            let rest = shorts.get(at + 1..).unwrap_or_default();
            let rest = rest.strip_prefix(b"=").unwrap_or(rest);
            let value = if rest.is_empty() {
                words.next()
            } else {
                Some(OsString::from_vec(rest.to_vec()))
            };
            if is_kept {
                kept.push(flag);
                kept.extend(value);
            }
            break;
        }
        if is_kept {
            kept.push(flag);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::plan::plan;
    use crate::player::{Options, PlayedRange};
    use crate::ros::QosOverrides;
    use crate::time::TimeRange;

    fn at(secs: i64) -> Time<Ros> {
        Time::from_secs(1000 + secs)
    }

    fn range(from: i64, to: i64) -> TimeRange {
        TimeRange::between(at(from), at(to))
    }

    fn state() -> RunState {
        RunState {
            recording: range(0, 100),
            played: PlayedRange::new(range(0, 100), AtEnd::Hold),
            position: Some(at(12)),
            pace: Pace::At(Speed::NORMAL),
            is_paused: false,
            clock: ClockMode::Off,
            clock_shift: Duration::ZERO,
            skip_empty: None,
            muted: Vec::new(),
        }
    }

    fn resumed(line: &str, state: &RunState) -> String {
        command_line(line.split(' ').map(OsString::from), state)
    }

    /// What a line plays.
    fn options(line: &str) -> Options {
        let cli = Cli::read(line.split(' ').map(OsString::from)).unwrap();
        let topics = crate::cli::fixtures::topics(&["/a"]);
        let plan = plan(&cli.play, &QosOverrides::default(), range(0, 100), &topics);
        plan.unwrap().options
    }

    #[test]
    fn flags_of_the_state_replace_those_that_were_given() {
        for (line, expected) in [
            ("play a.mcap", "play a.mcap --begin-at +12s"),
            (
                "/usr/bin/play b.mcap --rate 2 --start=+3 --end 20 --clock",
                "play b.mcap --begin-at +12s",
            ),
            (
                "play a.mcap --clock --rate 2 --wait-for-subscribers -l",
                "play a.mcap --wait-for-subscribers= --begin-at +12s",
            ),
            (
                "play -pl -r2 -e=/imu a.mcap --topics /a /b b.mcap",
                "play -e /imu a.mcap --topics=/a --topics=/b b.mcap --begin-at +12s",
            ),
            (
                "play -i a.mcap --playback-duration 4 --rate -1 -- --rate",
                "play -i a.mcap --begin-at +12s -- --rate",
            ),
        ] {
            assert_eq!(resumed(line, &state()), expected, "{line}");
        }
    }

    #[test]
    fn the_given_line_is_quoted_for_a_shell() {
        let words = ["/usr/bin/play", "attach", "--node", "/my player"];
        let line = same_command_line(words.map(OsString::from));
        assert_eq!(line, "play attach --node '/my player'");
    }

    #[test]
    fn the_clock_and_the_gaps_are_those_that_keys_have_set() {
        let ms = Duration::from_millis;
        for (clock, skip_empty, line) in [
            (ClockMode::Every(ms(25)), None, "--clock 40"),
            (
                ClockMode::Every(ms(2_000)),
                Some(ms(500)),
                "--clock 0.5 --skip-empty 0.5s",
            ),
            (ClockMode::Off, Some(ms(2_000)), "--skip-empty 2s"),
            (ClockMode::WithMessages(Some(ms(10))), None, "--clock 100"),
            (ClockMode::WithMessages(None), None, ""),
        ] {
            let state = RunState {
                clock,
                skip_empty,
                ..state()
            };
            let with_messages = if matches!(clock, ClockMode::WithMessages(_)) {
                " --clock-topics-all"
            } else {
                ""
            };
            let given = format!("play a.mcap --clock 7 --skip-empty=9{with_messages}");
            let expected = format!("play a.mcap{with_messages} --begin-at +12s {line}");
            let resumed = resumed(&given, &state);
            assert_eq!(resumed, expected.trim_end());
            let options = options(&resumed);
            assert_eq!(
                (options.clock.mode(), options.skip_empty),
                (clock, skip_empty)
            );
        }
    }

    #[test]
    fn the_line_brings_about_the_state() {
        let played = |range, at_end, ab_loop| PlayedRange {
            range,
            at_end,
            ab_loop,
        };
        let speed = |text: &str| Pace::At(text.parse().unwrap());
        for (played, pace, is_paused) in [
            (
                played(range(0, 100), AtEnd::Hold, None),
                speed("0.5"),
                false,
            ),
            (played(range(0, 100), AtEnd::Hold, None), speed("-2"), true),
            (played(range(10, 20), AtEnd::Loop, None), speed("1"), true),
            (
                played(range(0, 50), AtEnd::Hold, None),
                speed("-0.25"),
                false,
            ),
            (
                played(range(0, 100), AtEnd::Hold, Some(range(11, 15))),
                Pace::Max,
                true,
            ),
        ] {
            let state = RunState {
                played,
                pace,
                is_paused,
                ..state()
            };
            let line = resumed("play a.mcap --start 5 --end 7 --loop --rate 3", &state);
            let options = options(&line);
            assert_eq!(options.played, played, "{line}");
            assert_eq!(options.pace, pace, "{line}");
            assert_eq!(options.begin_at, Some(at(12)), "{line}");
            let intent = options.intent == crate::player::Intent::Pause;
            assert_eq!(intent, is_paused, "{line}");
            // A shifted clock keeps its shift, wherever playing begins.
            let shifted = RunState {
                clock_shift: Duration::from_secs(500),
                ..state
            };
            let line = resumed("play a.mcap --clock-start 7 --clock", &shifted);
            assert_eq!(
                self::options(&line).clock.shift,
                shifted.clock_shift,
                "{line}"
            );
        }
    }

    #[test]
    fn without_a_position_it_plays_all_of_the_range() {
        let state = RunState {
            position: None,
            played: PlayedRange::new(range(10, 20), AtEnd::Loop),
            pace: Pace::At("-2".parse().unwrap()),
            ..state()
        };
        let line = resumed("play a.mcap --begin-at +3", &state);
        assert_eq!(line, "play a.mcap --start +10s --end +20s --rate -2 --loop");
        assert_eq!(options(&line).begin_at, None);
    }

    #[test]
    fn muted_topics_are_excluded_and_a_followed_clock_is_kept() {
        let muted = RunState {
            muted: vec!["/a b".to_owned(), "/tmp".to_owned()],
            ..state()
        };
        let tail = "'--exclude-topics=/a b' --exclude-topics=/tmp";
        assert!(resumed("play a.mcap", &muted).ends_with(tail));
        let awaited = resumed("play a.mcap --wait-for-subscribers /b /tmp=2", &muted);
        assert!(
            awaited.starts_with("play a.mcap --wait-for-subscribers=/b --begin-at"),
            "{awaited}"
        );
        let followed = RunState {
            pace: Pace::Follow,
            ..muted
        };
        assert_eq!(
            resumed("play a.mcap --follow --start 3", &followed),
            format!("play a.mcap --follow=/clock --start 3 {tail}")
        );
    }
}
