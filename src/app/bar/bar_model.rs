//! The initial model of the transport bar, and its subscribers: made from plan, recording and network.

use bagplay::bag::{Bag, TopicId};
use bagplay::cli::{PlayArgs, Unreadable, When};
use bagplay::marks::Marks;
use bagplay::time::{AtEnd, Ros, Time, TimeRange};
use bagplay::tui::{AbLoop, Appearance, Event, Facts, Model, Size, Subscribers, TopicRow};
use jiff::tz::TimeZone;

use crate::app::supervise::Run;

/// The present subscribers of each topic.
pub(crate) fn subscribers(run: &Run<'_>, bag: &Bag) -> Event {
    let mut subscribers = Subscribers {
        topics: vec![None; bag.topics().len()],
        clock: run
            .network
            .clock_followers()
            .filter(|_| run.plan.options.clock.is_served()),
    };
    for topic in run.network.topics() {
        // Plain subscribers cannot be counted: there are some or none.
        let count = if topic.qos.is_some() {
            topic.subscribers
        } else {
            usize::from(topic.has_match)
        };
        for id in topic.ids {
            if let Some(slot) = subscribers.topics.get_mut(id.index()) {
                *slot = Some(count);
            }
        }
    }
    Event::Subscribers(subscribers)
}

/// The model before any event.
pub(crate) fn model(
    run: &Run<'_>,
    args: &PlayArgs,
    bag: &Bag,
    appearance: Appearance,
    marks: Option<&Marks>,
) -> Model {
    let options = &run.plan.options;
    let is_looped = options.at_end == AtEnd::Loop;
    let is_part_looped = args.time.loop_range.is_some();
    let facts = Facts {
        recording: options.recording,
        played: if is_part_looped {
            options.recording
        } else {
            options.range
        },
        clock_shift: options.clock.shift,
        clock: clock(run, args),
        topics: bag.topics().to_vec(),
        parse_time,
        zone: TimeZone::system(),
    };
    let ab_loop = if is_part_looped {
        AbLoop::Ab(options.range)
    } else {
        AbLoop::None
    };
    let marks = marks.map_or_else(Vec::new, |marks| marks.list().to_vec());
    // Drawing asks the terminal for its size.
    let size = Size {
        width: 80,
        height: 24,
    };
    Model::new(facts, appearance, rows(run, bag), marks, size)
        .with_loop(ab_loop, is_looped && !is_part_looped)
}

/// How the clock is served, in a word or two.
fn clock(run: &Run<'_>, args: &PlayArgs) -> Option<String> {
    let clock = &run.plan.options.clock;
    let hz = args.clock.clock.map(|hz| format!("{hz} Hz"));
    clock
        .is_served()
        .then(|| hz.unwrap_or_else(|| "by message".into()))
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
    rows.sort_by(|a, b| a.name.cmp(&b.name));
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

fn parse_time(text: &str, range: TimeRange) -> Result<Time<Ros>, String> {
    let when: When = text
        .parse()
        .map_err(|error: Unreadable| error.to_string())?;
    Ok(when.in_range(range))
}
