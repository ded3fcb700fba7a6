//! What the mouse does beside seeking: the time under it, keys of the footer, column heads.

use bagplay::player::{State, TopicCounts};
use bagplay::tui::{Action, Event, Gesture, Model};
use insta::assert_snapshot;

use super::demo_model::*;

/// Lane in rows 2 and 3, bar in 4, the row under it in 5, heads in 6, topics from 7 on; the bar's columns are 1 to 78.
const WIDTH: u16 = 80;
const HEIGHT: u16 = 24;
const BAR: u16 = 4;

/// Paused 12.184 s in, with marks at 9.5, 27 and 48.25 s and a hole from 20 to 26 s.
fn paused() -> Model {
    let mut model = with_events(appearance());
    model.handle(Event::Resized(size(WIDTH, HEIGHT)), stamp(0));
    set_state(&mut model, State::Paused, 12_184);
    model
}

fn rows(model: &Model) -> Vec<String> {
    text(&drawn(model, size(WIDTH, HEIGHT)).0)
}

fn below_bar(model: &Model) -> String {
    rows(model)[usize::from(BAR) + 1].trim().to_owned()
}

#[test]
fn the_time_under_the_mouse_is_shown_and_what_is_there() {
    let mut model = paused();
    assert_eq!(below_bar(&model), "");
    for (column, row, shown) in [
        (1, BAR, "14:32:07.000 CEST  +00:00.000"),
        (13, BAR, "14:32:16.230 CEST  +00:09.230  mark: pedestrian"),
        // The lane and the row itself are on the same axis.
        (
            13,
            BAR - 1,
            "14:32:16.230 CEST  +00:09.230  mark: pedestrian",
        ),
        (36, BAR + 1, "14:32:33.923 CEST  +00:26.923  mark"),
        (
            30,
            BAR,
            "14:32:29.307 CEST  +00:22.307  hole of all topics from +00:20.000, 6.000 s",
        ),
        (78, BAR, "14:33:07.000 CEST  +01:00.000"),
        (10, BAR + 5, ""),
        (13, 0, ""),
    ] {
        mouse(&mut model, Gesture::Move, column, row);
        assert_eq!(below_bar(&model), shown, "{column} {row}");
    }
    // It is hidden once a key is pressed: the mouse may have left the terminal.
    mouse(&mut model, Gesture::Move, 13, BAR);
    press(&mut model, "T");
    assert_eq!(below_bar(&model), "");
    mouse(&mut model, Gesture::Move, 13, BAR);
    assert_eq!(
        below_bar(&model),
        "12:32:16.230 UTC  +00:09.230  mark: pedestrian"
    );
    // Beside the bar while dragging, the time is the one that the drag means.
    mouse(&mut model, Gesture::RangePress, 13, BAR);
    mouse(&mut model, Gesture::Drag, 20, BAR + 9);
    assert_eq!(below_bar(&model), "12:32:21.615 UTC  +00:14.615  B");
}

/// The bar shows all damage, the lane of a topic that of the topic. In the lanes a column is 5 s.
#[test]
fn the_mouse_tells_what_damage_and_holes_are() {
    let mut model = paused();
    model.handle(Event::Damaged(damaged()), stamp(0));
    let first_topic = BAR + 3;
    let chunk = Some("damage +00:34.000 to +00:36.000: 2 topics");
    let camera = Some("hole of /camera/front/image_raw from +00:40.");
    for (column, row, said) in [
        (45, BAR, chunk),
        (47, BAR, chunk),
        (48, BAR, None),
        (78, BAR, Some("damage from +01:00.000 on: drive_1.mcap")),
        (74, first_topic, chunk),
        (74, first_topic + 1, None),
        (76, first_topic + 1, camera),
        (76, first_topic, None),
        (
            78,
            first_topic + 1,
            Some("damage between +00:50.000 and +00:50.100"),
        ),
        (
            72,
            first_topic + 1,
            Some("hole of all topics from +00:20.000"),
        ),
    ] {
        mouse(&mut model, Gesture::Move, column, row);
        let shown = below_bar(&model);
        assert!(
            shown.contains("CEST  +00:") || shown.contains("CEST  +01:"),
            "{shown}"
        );
        match said {
            Some(said) => assert!(shown.contains(said), "{column} {row}: {shown}"),
            None => assert!(
                !shown.contains("damage") && !shown.contains("hole"),
                "{shown}"
            ),
        }
    }
    // A click on the lane of a topic selects the topic.
    mouse(&mut model, Gesture::Press, 73, first_topic + 1);
    assert_eq!(model.take_effects(), []);
    assert_eq!(selected(&model).map(bagplay::bag::TopicId::index), Some(1));
}

#[test]
fn the_time_under_the_mouse_is_not_shown_over_an_overlay() {
    for key in ["?", "e", "g", "enter"] {
        let mut model = paused();
        press(&mut model, key);
        let before = rows(&model);
        mouse(&mut model, Gesture::Move, 13, BAR);
        assert_eq!(rows(&model), before, "{key}");
    }
}

#[test]
fn hovering() {
    let mut model = paused();
    model.perform(Action::Zoom(1), stamp(0));
    answer_outline(&mut model);
    let frames =
        [("the bar", 60, 5), ("the whole recording", 62, 2)].map(|(title, column, row)| {
            mouse(&mut model, Gesture::Move, column, row);
            format!("== {title}\n{}", picture(&model, size(WIDTH, HEIGHT)))
        });
    assert_snapshot!(frames.join("\n"));
}

#[test]
fn a_mouse_that_is_left_to_the_terminal_does_nothing() {
    let mut model = paused();
    mouse(&mut model, Gesture::Move, 13, BAR);
    press(&mut model, "v");
    for gesture in [Gesture::Move, Gesture::Press, Gesture::Wheel(1)] {
        mouse(&mut model, gesture, 13, BAR);
        assert_eq!(
            (model.take_effects(), below_bar(&model)),
            (Vec::new(), String::new())
        );
    }
    press(&mut model, "v");
    assert_eq!(last_log_line(&model), "the bar uses the mouse");
    mouse(&mut model, Gesture::Press, 13, BAR);
    assert_eq!(model.take_effects().len(), 1);
}

/// The column of the first letter of a text in a row.
fn column_of(row: &str, text: &str) -> u16 {
    let at = row
        .find(text)
        .unwrap_or_else(|| panic!("no `{text}` in `{row}`"));
    u16::try_from(row[..at].chars().count()).unwrap()
}

#[test]
fn a_click_on_a_key_of_the_footer_does_what_the_key_does() {
    for (text, key) in [
        ("space", "space"),
        ("play/pause", "space"),
        (", . step", ","),
        (". step", "."),
        ("step", "."),
        ("[ ]", "["),
        ("] rate", "]"),
        ("rate", "]"),
        ("← →", "left"),
        ("seek", "right"),
        ("g go to", "g"),
        ("? help", "?"),
        ("q quit", "q"),
    ] {
        let mut pressed = paused();
        press(&mut pressed, key);
        let mut model = paused();
        let footer = rows(&model).last().unwrap().clone();
        mouse(
            &mut model,
            Gesture::Press,
            column_of(&footer, text),
            HEIGHT - 1,
        );
        assert_eq!(model.take_effects(), pressed.take_effects(), "{text}");
        assert_eq!(rows(&model), rows(&pressed), "{text}");
    }
    let mut model = paused();
    let before = rows(&model);
    let blank = column_of(before.last().unwrap(), "  [");
    for column in [0, blank, blank + 1] {
        mouse(&mut model, Gesture::Press, column, HEIGHT - 1);
        assert_eq!(
            (model.take_effects(), rows(&model)),
            (Vec::new(), before.clone()),
            "{column}"
        );
    }
    // An overlay has keys of its own, and a prompt takes the line.
    press(&mut model, "?");
    let close = column_of(rows(&model).last().unwrap(), "close");
    mouse(&mut model, Gesture::Press, close, HEIGHT - 1);
    assert_eq!(rows(&model), before);
    press(&mut model, "g");
    let prompt = rows(&model);
    mouse(&mut model, Gesture::Press, 1, HEIGHT - 1);
    assert_eq!((model.take_effects(), rows(&model)), (Vec::new(), prompt));
}

/// The names of the first rows.
fn names(model: &Model, count: usize) -> Vec<String> {
    let name = |row: &String| row.chars().skip(3).take_while(|it| *it != ' ').collect();
    rows(model).iter().skip(7).take(count).map(name).collect()
}

fn click_head(model: &mut Model, word: &str) {
    let head = rows(model)[6].clone();
    mouse(model, Gesture::Press, column_of(&head, word), 6);
    mouse(model, Gesture::Release, column_of(&head, word), 6);
}

#[test]
fn a_click_on_a_head_sorts_then_reverses_then_not() {
    let mut model = paused();
    let unsorted = names(&model, 11);
    press(&mut model, "down down down down");
    for (word, says, head, first) in [
        (
            "in bag",
            "messages in the bag, highest first",
            "↓in bag",
            "/imu/data",
        ),
        (
            "in bag",
            "messages in the bag, lowest first",
            "↑in bag",
            "/map",
        ),
        ("in bag", "", "/  in bag", unsorted[0].as_str()),
        ("rec", "recorded Hz, highest first", "/  ↓rec", "/imu/data"),
        ("subs", "subscriptions, highest first", "↓subs", "/tf"),
        ("topic", "name, A first", "↑topic", unsorted[0].as_str()),
        ("topic", "name, Z first", "↓topic", "/vehicle/status"),
        ("sent", "messages sent, highest first", "↓sent", "/imu/data"),
    ] {
        click_head(&mut model, word);
        let says = match says {
            "" => "topics are not sorted".to_owned(),
            says => format!("topics are sorted by {says}"),
        };
        assert_eq!(last_log_line(&model), says);
        let shown = rows(&model)[6].clone();
        assert!(shown.contains(head), "{shown}");
        let top = model_top(&model);
        assert_eq!(top, first, "{word}: {}", rows(&model).join("\n"));
        // The selection stays on its topic.
        assert_eq!(
            selected(&model).map(bagplay::bag::TopicId::index),
            Some(4),
            "{word}"
        );
        assert_eq!(model.take_effects(), [], "{word}");
    }
}

/// The name of the first topic of the table, wherever it is scrolled to.
fn model_top(model: &Model) -> String {
    let mut model = without_overlay(model);
    model.perform(Action::Move(-100), stamp(0));
    names(&model, 1).remove(0)
}

#[test]
fn a_key_sorts_by_one_column_after_the_other() {
    let mut model = paused();
    model.handle(Event::Resized(size(200, 30)), stamp(0));
    let mut orders = Vec::new();
    for _ in 0..10 {
        press(&mut model, "s");
        orders.push(last_log_line(&model));
    }
    let orders: Vec<&str> = orders
        .iter()
        .map(|it| it.trim_start_matches("topics are "))
        .collect();
    assert_eq!(
        orders,
        [
            "sorted by type, A first",
            "sorted by Hz now, highest first",
            "sorted by recorded Hz, highest first",
            "sorted by MB/s, highest first",
            "sorted by messages sent, highest first",
            "sorted by messages in the bag, highest first",
            "sorted by subscriptions, highest first",
            "sorted by late messages, highest first",
            "sorted by name, A first",
            "not sorted",
        ]
    );
}

#[test]
fn rows_that_are_sorted_by_counts_move_once_a_second() {
    let mut model = paused();
    click_head(&mut model, "sent");
    let status = status(State::Playing, 12_184, speed(1_000_000));
    let mut observe = |millis: i64, busy: usize| {
        let mut counts = vec![TopicCounts::default(); TOPICS.len()];
        counts[busy].sent = 100;
        model.observe(wall(millis), Some(status), counts, None);
        model_top(&model)
    };
    let first = TOPICS.map(|(name, ..)| name.rsplit('/').next().unwrap());
    let mut top = |millis, busy: usize| observe(millis, busy).ends_with(first[busy]);
    // The counts of the last status were taken at 0 s.
    assert!(top(1_000, 3));
    assert!(!top(1_300, 4));
    assert!(!top(1_999, 4));
    assert!(top(2_000, 4));
    assert!(!top(2_999, 5) && top(3_000, 5));
}

#[test]
fn a_sorted_table() {
    let mut model = playing();
    press(&mut model, "s");
    let wide = picture(&model, size(140, 30));
    let mut plain = with_events(ascii());
    play(&mut plain, 12_184, speed(1_000_000));
    plain.handle(Event::Resized(size(WIDTH, HEIGHT)), stamp(0));
    click_head(&mut plain, "rec");
    click_head(&mut plain, "rec");
    let plain = picture(&plain, size(WIDTH, HEIGHT));
    assert_snapshot!(format!(
        "== by Hz now\n{wide}\n== in ASCII, by recorded Hz, reversed\n{plain}"
    ));
}
