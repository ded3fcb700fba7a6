//! Playing on later: the command line for it, and the positions that `Q` remembers.

use bagplay::bag::Bag;
use bagplay::cli::{PlayArgs, RunState, command_line};
use bagplay::time::{Duration, Ros, Time};
use bagplay::tui::{Event, LogLine, Model, Severity};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state_file;

const FILE: &str = "resume.json";
/// The most recordings whose position is remembered; the oldest are forgotten.
const MOST: usize = 200;

/// Where a recording was left.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Left {
    /// The files of the recording.
    recording: Vec<String>,
    /// In nanoseconds from its start.
    position: i64,
}

impl Left {
    fn is_of(&self, bag: &Bag) -> bool {
        let files = bag.files().iter().map(|file| &file.identity);
        files.eq(&self.recording)
    }
}

/// The command line that plays on from what the screen shows.
pub(crate) fn command(model: &Model) -> String {
    let start = model.recording().start();
    let since_start = |time: Time<Ros>| time.saturating_since(start);
    let loop_ends =
        |ends: bagplay::time::TimeRange| (since_start(ends.start()), since_start(ends.stop()));
    let state = RunState {
        position: since_start(model.playhead()),
        pace: model.pace(),
        is_paused: model.is_paused(),
        ab_loop: model.played().ab_loop.map(loop_ends),
        is_loop: model.is_whole_looped(),
        muted: model.muted_topics(),
    };
    command_line(std::env::args_os(), &state)
}

/// Where `Q` left this recording, unless flags say where to start. It is forgotten.
pub(crate) fn take_position(args: &PlayArgs, bag: &Bag) -> Option<Time<Ros>> {
    let time = &args.time;
    let says_start = time.start.is_some() || time.start_offset.is_some();
    if says_start || time.loop_range.is_some() || args.follow.follow.is_some() {
        return None;
    }
    let mut found = None;
    state_file::update(FILE, |all: &mut Vec<Left>| {
        let at = all.iter().position(|left| left.is_of(bag));
        found = at.map(|at| all.remove(at));
    });
    let range = bag.range()?;
    let position = Duration::from_nanos(found?.position);
    let time = range.start().saturating_add(position);
    (range.start() < time && time < range.stop()).then_some(time)
}

/// Says on the screen where playing starts, from the start of the recording.
pub(crate) fn event(position: Duration) -> Event {
    Event::Log(LogLine {
        at: Timestamp::now(),
        severity: Severity::Info,
        text: format!("starts at +{position}, where it was left with Q"),
    })
}

/// Remembers a position of the recording, from its start.
pub(crate) fn remember(bag: &Bag, position: Duration) {
    state_file::update(FILE, |all: &mut Vec<Left>| {
        all.retain(|left| !left.is_of(bag));
        let files = bag.files().iter().map(|file| file.identity.clone());
        all.push(Left {
            recording: files.collect(),
            position: position.as_nanos(),
        });
        all.drain(..all.len().saturating_sub(MOST));
    });
}
