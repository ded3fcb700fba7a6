//! [`Action`]: everything a key can do, and [`BINDINGS`]: the one table of names, keys and help texts.
//!
//! The footer, the help overlay, the user guide and the names in the configuration file all come from this table, so
//! they always agree. It also says what an action does in `play attach`, where another process reads the recording.

use super::in_attach::{ALERTS, CLOCK, CUT, GAPS, HOLES, InAttach, POSITION, WATCH};
use super::key::{Key, Keys};

/// What a key does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Play or pause; at the end, play again.
    PlayPause,
    /// Jump by a span of log time, in milliseconds.
    SeekBy(i32),
    /// Jump to the start of the played range.
    Start,
    /// Jump to the end of the played range.
    End,
    /// Jump to this many tenths of the recording.
    Tenth(u8),
    /// Publish the next message, or go back one message and publish that.
    Step(i8),
    /// The same for the selected topic.
    StepTopic(i8),
    /// Multiply the rate by this many percent.
    Rate(u16),
    /// Play at 1×.
    NormalRate,
    /// Type a rate.
    AskRate,
    /// Reverse the direction.
    Reverse,
    /// Skip long gaps, or play them.
    SkipGaps,
    /// Publish `/clock`, or no longer.
    Clock,
    /// Type the rate of `/clock`.
    ClockRate,
    /// Set A, then B, then clear both.
    Loop,
    /// Loop over everything, or play once.
    LoopAll,
    /// Write A–B to a new file.
    Cut,
    /// Set a mark at the playhead, or remove the one that is there.
    Mark,
    /// Name the mark at the playhead; set it first if there is none.
    NameMark,
    /// Jump to the next mark.
    NextMark,
    /// Jump to the previous mark.
    PreviousMark,
    /// Jump to the start of the next hole or damaged part, or of the previous one.
    Hole(i8),
    /// Undo the last seek.
    Undo,
    /// Type a time to jump to.
    GoTo,
    /// Jump to the next warning or error of a node, or to the previous one.
    Alert(i8),
    /// Filter the topics by a part of their names; in a topic, search for messages.
    Filter,
    /// Move in the table, or in the overlay.
    Move(i8),
    /// The same by a page.
    Page(i8),
    /// Sort the table by the next column.
    Sort,
    /// Show the selected topic.
    Show,
    /// Mute or unmute the selected topic.
    Mute,
    /// Mute all topics but the selected one, or none.
    Solo,
    /// Watch the selected field of a card, or no longer.
    Watch,
    /// Watch no field.
    Unwatch,
    /// Scroll the plots of watched fields.
    ScrollPlots(i8),
    /// Switch between local time, UTC and seconds.
    TimeFormat,
    /// Zoom the time line in or out.
    Zoom(i8),
    /// Show all keys.
    Help,
    /// Close the overlay, or clear the filter.
    Back,
    /// Show the whole event log.
    Log,
    /// Use the mouse, or leave it to the terminal.
    Mouse,
    /// Redraw the whole screen.
    Redraw,
    /// Suspend the process, as ctrl-Z does.
    Suspend,
    /// Copy the command line that plays on from here.
    CopyCommand,
    /// Stop playback and quit; the next run of this recording starts here.
    QuitToResume,
    /// Stop playback and quit.
    Quit,
}

impl Action {
    /// Whether the player has to do something for it.
    pub(crate) const fn asks_the_player(self) -> bool {
        self.moves_playback()
            || matches!(
                self,
                Self::Mark
                    | Self::NameMark
                    | Self::Mute
                    | Self::Solo
                    | Self::Clock
                    | Self::ClockRate
            )
    }

    /// Whether it changes position, rate, direction or range of playback, or holds it.
    pub(crate) const fn moves_playback(self) -> bool {
        match self {
            Self::PlayPause
            | Self::SeekBy(_)
            | Self::Start
            | Self::End
            | Self::Tenth(_)
            | Self::Step(_)
            | Self::StepTopic(_)
            | Self::Rate(_)
            | Self::NormalRate
            | Self::AskRate
            | Self::Reverse
            | Self::SkipGaps
            | Self::Loop
            | Self::LoopAll
            | Self::NextMark
            | Self::PreviousMark
            | Self::Hole(_)
            | Self::Alert(_)
            | Self::Undo
            | Self::GoTo => true,
            Self::Clock
            | Self::ClockRate
            | Self::Cut
            | Self::Mark
            | Self::NameMark
            | Self::Filter
            | Self::Move(_)
            | Self::Page(_)
            | Self::Sort
            | Self::Show
            | Self::Mute
            | Self::Solo
            | Self::Watch
            | Self::Unwatch
            | Self::ScrollPlots(_)
            | Self::TimeFormat
            | Self::Zoom(_)
            | Self::Help
            | Self::Back
            | Self::Log
            | Self::Mouse
            | Self::Redraw
            | Self::Suspend
            | Self::CopyCommand
            | Self::QuitToResume
            | Self::Quit => false,
        }
    }
}

/// One row: an action, its keys, and its texts.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Its name in the configuration file.
    pub name: &'static str,
    /// The action.
    pub action: Action,
    /// Its keys, separated by blanks, unless the configuration sets others.
    pub keys: &'static str,
    /// Its word in the footer, in the order of the table, if there is room. Successive rows with the same word share
    /// it.
    pub hint: Option<&'static str>,
    /// Its text in the help.
    pub help: &'static str,
    /// What it does in `play attach`.
    pub in_attach: InAttach,
}

impl Binding {
    const fn in_attach(self, in_attach: InAttach) -> Self {
        Self { in_attach, ..self }
    }
}

const fn row(
    name: &'static str,
    action: Action,
    keys: &'static str,
    hint: Option<&'static str>,
    help: &'static str,
) -> Binding {
    Binding {
        name,
        action,
        keys,
        hint,
        help,
        in_attach: InAttach::Same,
    }
}

/// A group of rows under a title.
pub type Group = (&'static str, &'static [Binding]);

/// The whole table.
#[rustfmt::skip]
pub const BINDINGS: &[Group] = &[
    ("Playing", &[
        row("play-pause", Action::PlayPause, "space p", Some("play/pause"), "play or pause; at the end, play again"),
        row("step-back", Action::Step(-1), ",", Some("step"), "back to the previous message, and publish it"),
        row("step-forward", Action::Step(1), ".", Some("step"), "publish the next message in the playing direction"),
        row("topic-back", Action::StepTopic(-1), "<", None, "back to the selected topic's previous message"),
        row("topic-forward", Action::StepTopic(1), ">", None, "on to the selected topic's next message"),
        row("slower", Action::Rate(90), "[", Some("rate"), "rate × 0.9"),
        row("faster", Action::Rate(110), "]", Some("rate"), "rate × 1.1"),
        row("half-rate", Action::Rate(50), "{", None, "half the rate"),
        row("double-rate", Action::Rate(200), "}", None, "twice the rate"),
        row("normal-rate", Action::NormalRate, "backspace =", None, "rate back to 1×"),
        row("ask-rate", Action::AskRate, "R", None, "type a rate"),
        row("reverse", Action::Reverse, "r", None, "reverse the playing direction"),
        row("skip-gaps", Action::SkipGaps, "G", None, "skip long gaps, or play them").in_attach(GAPS),
        row("clock", Action::Clock, "c", None, "turn /clock on or off").in_attach(CLOCK),
        row("clock-rate", Action::ClockRate, "C", None, "type the rate of /clock").in_attach(CLOCK),
    ]),
    ("Seeking", &[
        row("seek-back", Action::SeekBy(-5_000), "left", Some("seek"), "back 5 s"),
        row("seek-forward", Action::SeekBy(5_000), "right", Some("seek"), "forward 5 s"),
        row("fine-back", Action::SeekBy(-100), "shift+left (", None, "back 0.1 s"),
        row("fine-forward", Action::SeekBy(100), "shift+right )", None, "forward 0.1 s"),
        row("coarse-back", Action::SeekBy(-30_000), "ctrl+left b", None, "back 30 s"),
        row("coarse-forward", Action::SeekBy(30_000), "ctrl+right f", None, "forward 30 s"),
        row("start", Action::Start, "home ^", None, "to the start"),
        row("end", Action::End, "end $", None, "to the end"),
        row("tenth-0", Action::Tenth(0), "0", None, "to 0 %"),
        row("tenth-1", Action::Tenth(1), "1", None, "to 10 %"),
        row("tenth-2", Action::Tenth(2), "2", None, "to 20 %"),
        row("tenth-3", Action::Tenth(3), "3", None, "to 30 %"),
        row("tenth-4", Action::Tenth(4), "4", None, "to 40 %"),
        row("tenth-5", Action::Tenth(5), "5", None, "to 50 %"),
        row("tenth-6", Action::Tenth(6), "6", None, "to 60 %"),
        row("tenth-7", Action::Tenth(7), "7", None, "to 70 %"),
        row("tenth-8", Action::Tenth(8), "8", None, "to 80 %"),
        row("tenth-9", Action::Tenth(9), "9", None, "to 90 %"),
        row("next-hole", Action::Hole(1), "tab h", None, "to this topic's next hole or damage, else any's").in_attach(HOLES),
        row("previous-hole", Action::Hole(-1), "shift+tab H", None, "to the previous hole or damage").in_attach(HOLES),
        row("next-alert", Action::Alert(1), "a", None, "to the next warning or error that a node reported").in_attach(ALERTS),
        row("previous-alert", Action::Alert(-1), "A", None, "to the previous one").in_attach(ALERTS),
        row("go-to", Action::GoTo, "g", Some("go to"), "type a time to go to"),
        row("undo-seek", Action::Undo, "u", None, "undo the last seek"),
    ]),
    ("Loop and marks", &[
        row("loop", Action::Loop, "l", Some("loop"), "set A, then B, then clear the loop"),
        row("loop-all", Action::LoopAll, "L", None, "loop the played range, or play it once"),
        row("cut", Action::Cut, "x", None, "write A-B, without muted topics, to a new file").in_attach(CUT),
        row("mark", Action::Mark, "m", Some("mark"), "set a mark here, or remove it"),
        row("name-mark", Action::NameMark, "M", None, "name the mark here"),
        row("next-mark", Action::NextMark, "n", None, "to the next mark, or message found").in_attach(InAttach::Means("to the next mark")),
        row("previous-mark", Action::PreviousMark, "N", None, "to the previous mark"),
    ]),
    ("Topics", &[
        row("up", Action::Move(-1), "up k", None, "up in the table"),
        row("down", Action::Move(1), "down j", None, "down in the table"),
        row("page-up", Action::Page(-1), "pageup", None, "a page up"),
        row("page-down", Action::Page(1), "pagedown", None, "a page down"),
        row("sort", Action::Sort, "s", None, "sort by the next column; after the last, unsorted"),
        row("show-topic", Action::Show, "enter", Some("topic"), "show the topic: type, QoS, last message"),
        row("mute", Action::Mute, "t", Some("mute"), "mute the topic, or publish it again"),
        row("solo", Action::Solo, "S", None, "mute all other topics, or none"),
        row("watch", Action::Watch, "w", None, "watch the selected field of a topic, or stop").in_attach(WATCH),
        row("unwatch", Action::Unwatch, "W", None, "watch no field").in_attach(WATCH),
        row("plots-up", Action::ScrollPlots(-1), "K", None, "up in the plots, if not all fit").in_attach(WATCH),
        row("plots-down", Action::ScrollPlots(1), "J", None, "down in the plots").in_attach(WATCH),
        row("filter", Action::Filter, "/", Some("filter"), "filter topics by name; in a topic: find messages").in_attach(InAttach::Means("filter topics by name")),
    ]),
    ("Screen", &[
        row("time-face", Action::TimeFormat, "T", None, "local time, UTC, or seconds"),
        row("zoom-in", Action::Zoom(1), "z", None, "zoom in around the playhead"),
        row("zoom-out", Action::Zoom(-1), "Z", None, "zoom out"),
        row("log", Action::Log, "e", None, "show or hide all events"),
        row("help", Action::Help, "? f1", Some("help"), "show or hide this help"),
        row("back", Action::Back, "esc", None, "close the overlay, or clear the filter"),
        row("mouse", Action::Mouse, "v", None, "mouse on, or off: the terminal selects text"),
        row("redraw", Action::Redraw, "ctrl+l", None, "redraw the screen"),
        row("suspend", Action::Suspend, "ctrl+z", None, "suspend; fg in the shell continues"),
        row("copy-command", Action::CopyCommand, "y", None, "copy the command line that plays on from here").in_attach(InAttach::Means("copy the command line of this bar")),
        row("quit-to-resume", Action::QuitToResume, "Q", None, "quit; the next run of this recording starts here").in_attach(POSITION),
        row("quit", Action::Quit, "q ctrl+c", Some("quit"), "stop playing and quit").in_attach(InAttach::Means("leave; the player goes on")),
    ]),
];

/// The mouse gestures, for the help and the user guide; `update/pointer.rs` implements them.
#[rustfmt::skip]
pub const GESTURES: &[(&str, &str)] = &[
    ("move", "on the bar or a lane: the time and what is there"),
    ("click, drag", "on the bar or the lane above it: go there"),
    ("wheel", "seek 1 s; in the table or the plots, move"),
    ("right drag", "set A and B (also with shift or ctrl)"),
    ("click", "a topic: select it; again: show it"),
    ("click", "a column's head: sort, reverse, then unsorted"),
    ("click", "a key in the last line: what the key does"),
];

/// All rows, without groups.
pub(crate) fn rows() -> impl Iterator<Item = &'static Binding> {
    BINDINGS.iter().flat_map(|(_, rows)| rows.iter())
}

/// What an action does in `play attach`.
pub(crate) fn in_attach(action: Action) -> InAttach {
    let row = rows().find(|row| row.action == action);
    row.map_or(InAttach::Same, |row| row.in_attach)
}

/// Which key does what: the table, changed by the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bindings {
    keys: Vec<(Action, Keys)>,
}

impl Default for Bindings {
    fn default() -> Self {
        let keys = rows().map(|row| {
            (
                row.action,
                Keys::parse(row.keys).expect("keys of the table"),
            )
        });
        Self {
            keys: keys.collect(),
        }
    }
}

impl Bindings {
    /// The action of `key`, if it has one.
    pub fn action(&self, key: Key) -> Option<Action> {
        let bound = self.keys.iter().find(|(_, keys)| keys.has(key));
        bound.map(|(action, _)| *action)
    }

    /// The keys of an action.
    pub fn keys(&self, action: Action) -> &Keys {
        const NONE: &Keys = &Keys::NONE;
        let bound = self.keys.iter().find(|(known, _)| *known == action);
        bound.map_or(NONE, |(_, keys)| keys)
    }

    /// The same with other keys for an action; these keys are taken from all other actions.
    #[must_use]
    pub fn rebound(mut self, action: Action, keys: &Keys) -> Self {
        for (known, bound) in &mut self.keys {
            if *known == action {
                *bound = keys.clone();
            } else {
                bound.remove_all(keys);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_name_action_or_key_occurs_twice() {
        let (mut names, mut actions, mut keys) = (HashSet::new(), HashSet::new(), HashSet::new());
        for row in rows() {
            assert!(names.insert(row.name), "{}", row.name);
            assert!(actions.insert(row.action), "{}", row.name);
            for key in Keys::parse(row.keys).unwrap().iter() {
                assert!(keys.insert(*key), "{key} of {}", row.name);
            }
        }
    }

    #[test]
    fn every_action_has_a_key_without_ctrl_or_shift() {
        let without = ["redraw", "suspend"];
        for row in rows().filter(|row| !without.contains(&row.name)) {
            let keys = Keys::parse(row.keys).unwrap();
            assert!(keys.iter().any(|key| key.is_plain()), "{}", row.name);
        }
    }

    #[test]
    fn a_key_that_is_rebound_loses_its_old_action() {
        let bindings = Bindings::default().rebound(Action::Quit, &Keys::parse("x m").unwrap());
        let does = |key: &str| bindings.action(Keys::parse(key).unwrap().first().unwrap());
        assert_eq!(does("x"), Some(Action::Quit));
        assert_eq!(does("m"), Some(Action::Quit));
        assert_eq!(does("q"), None);
        assert_eq!(bindings.keys(Action::Mark).first(), None);
    }
}
