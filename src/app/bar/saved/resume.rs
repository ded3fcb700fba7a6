//! Playing on later: the command line for it, and the positions that `Q` remembers.

use bagplay::bag::Bag;
use bagplay::cli::{PlayArgs, command_line};
use bagplay::player::Pace;
use bagplay::time::{Ros, Time, TimeRange};
use bagplay::tui::{Event, LogLine, Model, Severity};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state_file;

const FILE: &str = "resume.json";
/// The most recordings whose position is remembered; the oldest are forgotten.
const MOST: usize = 200;

/// Where a recording was left.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct SavedPosition {
    recording: RecordingKey,
    /// In nanoseconds since 1970.
    time: i64,
}

/// Tells a recording from others, and from a new recording under its name.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct RecordingKey {
    /// The identity and the length of each file, in any order.
    files: Vec<(String, u64)>,
    /// The first and the last time, in nanoseconds since 1970.
    range: (i64, i64),
}

impl RecordingKey {
    fn of(bag: &Bag) -> Option<Self> {
        let range = bag.range()?;
        let files = bag.files().iter();
        let mut files: Vec<_> = files
            .map(|file| (file.identity.clone(), file.bytes))
            .collect();
        files.sort_unstable();
        Some(Self {
            files,
            range: (range.start().as_nanos(), range.stop().as_nanos()),
        })
    }
}

/// The command line that plays on from what the screen shows; `None` before the start.
pub(crate) fn command(model: &Model) -> Option<String> {
    let state = model.run_state()?;
    Some(command_line(std::env::args_os(), &state))
}

/// The same when the bar has been left; `None` if the run was played to its end as it was begun.
pub(crate) fn last_command(model: &Model) -> Option<String> {
    let state = model.state_to_resume()?;
    Some(command_line(std::env::args_os(), &state))
}

/// Where `Q` left this recording, unless flags say where to begin, or all of it is to be played.
pub(crate) fn position(args: &PlayArgs, bag: &Bag) -> Option<Time<Ros>> {
    let time = &args.time;
    let says_where = time.start.is_some() || time.start_offset.is_some() || time.begin_at.is_some();
    let is_checked = time.rate == Some(Pace::Max);
    if says_where || is_checked || time.loop_range.is_some() || args.follow.follow.is_some() {
        return None;
    }
    let key = RecordingKey::of(bag)?;
    let all: Vec<SavedPosition> = state_file::load(FILE);
    let saved = all.iter().find(|saved| saved.recording == key)?;
    Some(Time::from_nanos(saved.time))
}

/// Says on the screen where playing begins, and forgets that position.
pub(crate) fn begun(bag: &Bag, position: Time<Ros>) -> Event {
    set(bag, None);
    let start = bag.range().map_or(position, TimeRange::start);
    let since = position.saturating_since(start);
    Event::Log(LogLine {
        at: Timestamp::now(),
        severity: Severity::Info,
        text: format!("begins at +{since}, where the last run was left"),
    })
}

/// Remembers a position of the recording.
pub(crate) fn remember(bag: &Bag, position: Time<Ros>) {
    set(bag, Some(position));
}

fn set(bag: &Bag, position: Option<Time<Ros>>) {
    let Some(recording) = RecordingKey::of(bag) else {
        return;
    };
    state_file::update(FILE, |all: &mut Vec<SavedPosition>| {
        all.retain(|saved| saved.recording != recording);
        all.extend(position.map(|position| SavedPosition {
            recording,
            time: position.as_nanos(),
        }));
        all.drain(..all.len().saturating_sub(MOST));
    });
}
