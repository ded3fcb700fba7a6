//! The rates of topics in the recording: `play info` and the table show the same.

use bagplay::bag::TopicId;
use bagplay::cli::Info;
use bagplay::player::{PlayedRange, State};
use bagplay::time::AtEnd;
use bagplay::tui::{Event, Facts, Model, TopicRow};
use jiff::tz::TimeZone;

use super::demo_model::{appearance, facts, picture, set_state, size, stamp};
use crate::support::mcaps::{Note, Spec, TopicSpec, bag};

/// Ten seconds: `/t0` every 100 ms, `/t1` three messages within 2 ms each second, `/t2` once, and `/t3`, which is
/// latched, every 100 ms.
fn recording() -> Vec<u8> {
    const MILLI: u64 = 1_000_000;
    let mut notes: Vec<Note> = Vec::new();
    for at in 0..=100 {
        notes.push(Note::new(0, at * 100 * MILLI, "x"));
        notes.push(Note::new(3, at * 100 * MILLI, "x"));
    }
    for second in 0..10 {
        let burst = (0..3).map(|at| Note::new(1, (second * 1000 + 500 + at) * MILLI, "x"));
        notes.extend(burst);
    }
    notes.push(Note::new(2, 5_000 * MILLI, "x"));
    notes.sort_by_key(|note| note.time);
    let mut spec = Spec::new(vec![notes]);
    let latched = "- history: 1\n  depth: 1\n  reliability: 1\n  durability: 1\n";
    spec.topics[3] = TopicSpec::named("/t3").with("offered_qos_profiles", latched);
    spec.write()
}

/// The word behind `before` in the line that has `name`.
fn word<'a>(text: &'a str, name: &str, before: impl Fn(&'a str) -> &'a str) -> &'a str {
    let line = text.lines().rfind(|line| line.contains(name)).unwrap();
    let rest = before(line).trim_start();
    rest.split(' ').next().unwrap()
}

#[test]
fn a_topic_of_bursts_has_the_mean_as_its_rate_in_the_table_and_in_info() {
    let bag = bag(&recording());
    let info = Info::new(&bag).page(&TimeZone::UTC, None);
    let range = bag.range().unwrap();
    let shown = Facts {
        recording: range,
        played: PlayedRange::new(range, AtEnd::Hold),
        topics: bag.topics().to_vec(),
        ..facts()
    };
    let row = |(topic, id): (&bagplay::bag::Topic, u32)| TopicRow {
        id: TopicId(id),
        name: topic.name.clone(),
        left_out: None,
        offered: None,
        is_muted: false,
    };
    let rows = bag.topics().iter().zip(0..).map(row).collect();
    let mut model = Model::new(shown, appearance(), rows, Vec::new(), size(160, 40));
    set_state(&mut model, State::Paused, 0);
    let periods = bag.timing_while(&mut || true).unwrap().periods;
    model.handle(Event::Periods(periods), stamp(0));
    let table = picture(&model, size(160, 40));
    for (name, rate) in [
        ("/t0", "10.0"),
        ("/t1", "~2.90"),
        ("/t2", "–"),
        ("/t3", "–"),
    ] {
        let in_table = word(&table, name, |line| line.split(" / ").nth(1).unwrap());
        assert_eq!(in_table, rate, "{table}");
        // After the name, the type and the number of messages.
        let in_info = word(&info, name, |line| {
            let columns = line.split("  ").map(str::trim);
            columns.filter(|column| !column.is_empty()).nth(3).unwrap()
        });
        assert_eq!(in_info, rate, "{info}");
    }
}
