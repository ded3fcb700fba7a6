//! The initial model of the transport bar for a player elsewhere: made from what the player tells.

use bagplay::bag::TopicId;
use bagplay::player::{ClockMode, PlayedRange, Status};
use bagplay::time::{AtEnd, Duration};
use bagplay::tui::{Appearance, Event, Facts, Model, Size, TopicRow};
use bagplay::wire::{RemoteRecording, RemoteTopic};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::bar_model::parse_time;

/// How much of the time of a clock server the bar shows.
const CLOCK_WINDOW: Duration = Duration::from_secs(600);

/// The model before any event.
pub(crate) fn model(
    recording: &RemoteRecording,
    status: Option<Status>,
    appearance: Appearance,
) -> Model {
    let whole = PlayedRange::new(recording.range, AtEnd::Hold);
    let facts = Facts {
        name: recording.name.clone(),
        recording: recording.range,
        played: status.map_or(whole, |status| status.played),
        is_elsewhere: true,
        clock_shift: recording.clock_shift,
        clock: ClockMode::Off,
        skip_empty: None,
        topics: recording
            .topics
            .iter()
            .map(|topic| topic.recorded.clone())
            .collect(),
        parse_time,
        zone: TimeZone::system(),
    };
    // Drawing asks the terminal for its size.
    let size = Size {
        width: 80,
        height: 24,
    };
    let has_recording = !recording.topics.is_empty();
    let mut model = Model::new(facts, appearance, rows(&recording.topics), Vec::new(), size);
    let clock = Event::ClockServed(recording.clock.clone());
    model.handle(clock, Timestamp::now());
    if has_recording {
        model
    } else {
        model.with_window(CLOCK_WINDOW)
    }
}

/// The topics that are played, by name, then those that are not.
fn rows(topics: &[RemoteTopic]) -> Vec<TopicRow> {
    let mut rows: Vec<TopicRow> = topics
        .iter()
        .zip(0..)
        .map(|(topic, id)| TopicRow {
            id: TopicId(id),
            name: topic.name.clone(),
            left_out: topic.left_out.clone(),
            offered: topic.qos,
            is_muted: false,
        })
        .collect();
    rows.sort_unstable_by(|a, b| {
        let place = |row: &TopicRow| (row.left_out.is_some(), row.name.clone(), row.id.0);
        place(a).cmp(&place(b))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_that_are_not_played_come_last() {
        let topic = |name: &str, left_out: Option<&str>| RemoteTopic {
            recorded: bagplay::bag::Topic {
                name: name.to_owned(),
                schema: None,
                encoding: "cdr".to_owned(),
                offered_qos: Vec::new(),
                type_hash: None,
                ros1_md5: None,
                is_latched: false,
                message_count: None,
            },
            name: name.to_owned(),
            qos: None,
            left_out: left_out.map(str::to_owned),
        };
        let topics = [
            topic("/c", None),
            topic("/a", Some("excluded")),
            topic("/b", None),
        ];
        let names: Vec<(u32, String)> = rows(&topics)
            .into_iter()
            .map(|row| (row.id.0, row.name))
            .collect();
        let expected = [(2, "/b"), (0, "/c"), (1, "/a")];
        assert_eq!(names, expected.map(|(id, name)| (id, name.to_owned())));
    }
}
