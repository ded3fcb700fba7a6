//! The initial model of the transport bar, and its subscribers: made from plan, recording and network.

use bagplay::bag::{Bag, TopicId};
use bagplay::cli::{Unreadable, When};
use bagplay::marks::Mark;
use bagplay::time::{Ros, Time, TimeRange};
use bagplay::tui::{
    Appearance, Awaited, Event, Facts, Followed, Model, Size, Subscribers, TopicRow,
};
use jiff::tz::TimeZone;

use crate::app::supervise::Run;
use crate::app::supervise::awaited::Waiting;
use crate::app::supervise::followed::FollowedView;

/// The present subscribers of each topic.
pub(crate) fn subscribers(run: &Run<'_>, bag: &Bag) -> Event {
    let (topics, clock) = run.network.subscriber_counts(bag.topics().len()).get();
    Event::Subscribers(Subscribers { topics, clock })
}

/// The motion of the clock that is followed.
pub(crate) fn followed(run: &Run<'_>) -> Option<Event> {
    let FollowedView { topic, motion } = run.followed.as_ref()?.view();
    Some(Event::Followed(Followed { topic, motion }))
}

/// The topics without the subscribers that are waited for.
pub(crate) fn awaited(waiting: Option<Waiting>) -> Event {
    Event::Awaited(waiting.map(|Waiting { topics, left }| Awaited {
        topics: topics.into_iter().map(|topic| topic.id).collect(),
        left,
    }))
}

/// The model before any event.
pub(crate) fn model(run: &Run<'_>, bag: &Bag, appearance: Appearance, marks: Vec<Mark>) -> Model {
    let options = &run.plan.options;
    let name = bag.files().first().map(|file| file.name.last_part());
    let facts = Facts {
        name: name.unwrap_or_default().to_owned(),
        recording: options.recording,
        played: options.played,
        is_elsewhere: false,
        clock_shift: options.clock.shift,
        clock: options.clock.mode(),
        skip_empty: options.skip_empty,
        topics: bag.topics().to_vec(),
        parse_time,
        zone: TimeZone::system(),
    };
    // Drawing asks the terminal for its size.
    let size = Size {
        width: 80,
        height: 24,
    };
    Model::new(facts, appearance, rows(run, bag), marks, size)
}

/// The topics that are played, then those that are not.
fn rows(run: &Run<'_>, bag: &Bag) -> Vec<TopicRow> {
    let on_the_wire = run.network.topics();
    let played = run.plan.chosen.iter().map(|chosen| {
        let topic = on_the_wire
            .iter()
            .find(|topic| topic.ids.contains(&chosen.id));
        TopicRow {
            id: chosen.id,
            name: chosen.name.clone(),
            left_out: None,
            offered: topic.and_then(|topic| topic.qos),
            is_muted: false,
        }
    });
    let mut rows: Vec<TopicRow> = played.collect();
    rows.sort_unstable_by(|a, b| (&a.name, a.id.0).cmp(&(&b.name, b.id.0)));
    for left_out in &run.plan.left_out {
        let known = bag.topics().iter().zip(0..).find(|(topic, id)| {
            topic.name == left_out.topic && rows.iter().all(|row| row.id.0 != *id)
        });
        rows.extend(known.map(|(topic, id)| TopicRow {
            id: TopicId(id),
            name: topic.name.clone(),
            left_out: Some(left_out.reason.clone()),
            offered: None,
            is_muted: false,
        }));
    }
    rows
}

pub(crate) fn parse_time(text: &str, range: TimeRange) -> Result<Time<Ros>, String> {
    let when: When = text
        .parse()
        .map_err(|error: Unreadable| error.to_string())?;
    Ok(when.in_range(range))
}
