//! Plots of watched fields with more values than columns.

use bagplay::player::State;
use bagplay::time::{Duration, Ros, Time, TimeRange};
use bagplay::tui::{Appearance, Event, Model, Series, WatchedValue, WatchedValues};

use super::demo_model::*;

const VALUES: i64 = 100_000;

/// A plot of a hundred thousand zeros, one of which is a one, 0.8 s after the playhead.
fn spiked(appearance: Appearance) -> Model {
    let field = saved_pin(
        "/imu/data",
        "sensor_msgs/msg/Imu",
        Some("angular_velocity.z"),
    );
    let mut model = with_events(appearance).watching(&[field]);
    set_state(&mut model, State::Paused, 12_184);
    model.handle(Event::Resized(size(120, 40)), stamp(0));
    let (pins, range) = model.wanted_values().expect("a plot");
    let spike = at(13_000);
    let mut series = Series::new(range);
    let mut before = None;
    for time in (0..VALUES).map(|index| nth(range, index)) {
        let is_spike = before.is_some_and(|before| before < spike) && spike <= time;
        series.push(time, WatchedValue::Number(f64::from(u8::from(is_spike))));
        before = Some(time);
    }
    let series = vec![series];
    let values = WatchedValues {
        pins,
        range,
        series,
    };
    model.handle(Event::Watched(values), stamp(0));
    model
}

fn nth(range: TimeRange, index: i64) -> Time<Ros> {
    let step = range.duration().as_nanos() / VALUES;
    range.start() + Duration::from_nanos(step * index)
}

#[test]
fn one_spike_among_a_hundred_thousand_values_is_as_high_as_the_plot() {
    for appearance in [appearance(), ascii()] {
        let model = spiked(appearance);
        let rows = text(&drawn(&model, size(120, 40)).0);
        let shown = rows.join("\n");
        let title = rows.iter().position(|row| row.contains("velocity.z"));
        let plot: Vec<Vec<char>> = rows[title.unwrap() + 1..]
            .iter()
            .map(|row| row.chars().collect())
            .collect();
        let label = |row: &[char]| row.iter().take(10).collect::<String>().trim().to_owned();
        assert_eq!(label(&plot[0]), "1", "{shown}");
        let lowest = plot.iter().position(|row| label(row) == "0");
        let plot = &plot[..=lowest.expect("the lowest number")];
        let is_drawn = |cell: Option<&char>| {
            cell.is_some_and(|cell| *cell == '*' || ('\u{2801}'..='\u{28ff}').contains(cell))
        };
        let columns = |rows: &[Vec<char>]| {
            let columns = 11..120;
            let full = columns.filter(|column| rows.iter().all(|row| is_drawn(row.get(*column))));
            full.count()
        };
        assert!(plot.len() > 3, "{shown}");
        // A cell has two columns of dots, and lines lead to the next ones.
        assert!((1..=3).contains(&columns(plot)), "{shown}");
        // The zeros are one line.
        let lowest = &plot[plot.len() - 1..];
        assert!(columns(lowest) > 100, "{shown}");
    }
}
