//! What the bar says of damage: how much is lost, where, and while the playhead is in it. And of messages that are sent
//! again.

use bagplay::bag::{DamagedPart, TopicId};
use bagplay::player::State;
use bagplay::tui::{Event, Gesture, Model};

use super::demo_model::*;

/// With these damaged parts, of so many damaged places.
fn with_parts(places: u64, parts: Vec<DamagedPart>) -> Model {
    let mut model = with_events(appearance());
    model.handle(Event::Holes(Some(Vec::new())), stamp(0));
    set_state(&mut model, State::Paused, 12_184);
    assert!(model.wants_damaged_parts(places));
    model.handle(Event::Damaged(parts), stamp(0));
    model
}

fn chunk() -> DamagedPart {
    damaged().swap_remove(0)
}

fn shown(model: &Model, width: u16) -> Vec<String> {
    text(&drawn(model, size(width, 24)).0)
}

#[test]
fn the_header_says_how_much_is_lost_if_that_is_known_of_all_places() {
    let header = |places, parts| shown(&with_parts(places, parts), 160)[0].clone();
    let one = header(1, vec![chunk()]);
    assert!(
        one.contains("  1 damaged  up to 460 messages lost"),
        "{one}"
    );
    let other = DamagedPart {
        messages: Some(40),
        ..chunk()
    };
    let two = header(2, vec![chunk(), other]);
    assert!(
        two.contains("  2 damaged  up to 500 messages lost"),
        "{two}"
    );
    // Of bytes between chunks and of a missing end nothing tells it, nor of a place that has no times.
    for (places, parts) in [(3, damaged()), (2, vec![chunk()]), (1, Vec::new())] {
        let header = header(places, parts);
        assert!(header.contains(" damaged"), "{header}");
        assert!(!header.contains("lost"), "{header}");
    }
}

/// The row under the bar, with the mouse on the first damage.
fn hovered(part: DamagedPart, width: u16) -> String {
    let mut model = with_parts(1, vec![part]);
    model.handle(Event::Resized(size(width, 24)), stamp(0));
    let rows = shown(&model, width);
    let bar = rows.iter().position(|row| row.starts_with('├')).unwrap();
    let column = rows[bar].chars().position(|cell| cell == '╳').unwrap();
    let [column, bar] = [column, bar].map(|at| u16::try_from(at).unwrap());
    mouse(&mut model, Gesture::Move, column, bar);
    shown(&model, width)[usize::from(bar) + 1].trim().to_owned()
}

#[test]
fn under_the_mouse_the_name_of_the_file_gives_way_to_times_and_topics() {
    let mut part = chunk();
    part.damage.file = "/data/drive_2026-06-14_14-32-07_0.mcap".into();
    part.topics = vec![TopicId(4)];
    let when = "damage +00:34.000 to +00:36.000";
    for (width, expected) in [
        (
            160,
            "drive_2026-06-14_14-32-07_0.mcap: up to 460 messages of /imu/data",
        ),
        (
            120,
            "…6-14_14-32-07_0.mcap: up to 460 messages of /imu/data",
        ),
        (104, "up to 460 messages of /imu/data"),
        (80, "/imu/data"),
    ] {
        let said = hovered(part.clone(), width);
        assert!(said.ends_with(&format!("{when}: {expected}")), "{said}");
    }
    // Of many topics as many names as have room.
    part.topics = [2, 4, 9, 3].map(TopicId).to_vec();
    for (width, expected) in [
        (104, "/diagnostics, /imu/data and 2 more"),
        (90, "/diagnostics and 3 more"),
        (80, "4 topics"),
    ] {
        let said = hovered(part.clone(), width);
        assert!(said.ends_with(&format!("{when}: {expected}")), "{said}");
    }
}

#[test]
fn tab_says_what_begins_at_the_playhead_if_there_is_no_other() {
    for (key, side) in [("tab", "later"), ("shift+tab", "earlier")] {
        let mut model = with_parts(1, vec![chunk()]);
        set_state(&mut model, State::Paused, 34_000);
        let said = |model: &Model| {
            let answer = format!(
                "no {side} hole or damage; at the playhead: damage +00:34.000 to +00:36.000: "
            );
            shown(model, 200).iter().any(|row| row.contains(&answer))
        };
        assert!(!said(&model));
        press(&mut model, key);
        assert!(said(&model), "{key}");
    }
}

#[test]
fn rows_of_topics_are_marked_while_the_playhead_is_in_their_damage() {
    let mut model = with_parts(3, damaged());
    let mut marked = |millis| {
        set_state(&mut model, State::Paused, millis);
        let rows = shown(&model, 120);
        let named = ["/imu/data", "/gnss/fix"].map(|name| {
            let row = rows.iter().find(|row| row.contains(name)).unwrap();
            row.chars().nth(1) == Some('╳')
        });
        (named[0], named[1])
    };
    // The chunk has messages of one of them.
    assert_eq!(marked(33_900), (false, false));
    assert_eq!(marked(34_000), (true, false));
    assert_eq!(marked(36_000), (true, false));
    assert_eq!(marked(36_100), (false, false));
    // What is between two chunks may be of any topic. At its ends there are messages.
    assert_eq!(marked(50_000), (false, false));
    assert_eq!(marked(50_050), (true, true));
    assert_eq!(marked(50_100), (false, false));
    // Before a missing end, all is there.
    assert_eq!(marked(SECONDS * 1000), (false, false));
}

/// A topic is lit where it should have messages: from the last one before its hole, which is not in it, to the first one
/// after it. A latched topic has no hole.
#[test]
fn rows_of_topics_are_marked_while_they_are_silent() {
    let camera = "/camera/front/image_raw";
    let all = [camera, "/imu/data", "/diagnostics", "/tf_static"];
    for (appearance, glyph) in [(appearance(), '░'), (ascii(), '!')] {
        let hole = appearance.theme.hole.fg;
        let mut model = with_events(appearance);
        let mut marked = |millis| {
            set_state(&mut model, State::Paused, millis);
            let (buffer, _) = drawn(&model, size(120, 24));
            let rows = text(&buffer);
            all.map(|name| {
                let row = rows.iter().position(|row| row.contains(name)).unwrap();
                let is_marked = rows[row].chars().nth(1) == Some(glyph);
                let cell = &buffer[(1, u16::try_from(row).unwrap())];
                assert_eq!(is_marked, Some(cell.fg) == hole, "{}", rows[row]);
                is_marked
            })
        };
        assert_eq!(marked(20_000), [false; 4]);
        assert_eq!(marked(20_001), [true, true, true, false]);
        assert_eq!(marked(25_999), [true, true, true, false]);
        assert_eq!(marked(26_000), [false; 4]);
        // Only images are missing here.
        assert_eq!(marked(40_000), [false; 4]);
        assert_eq!(marked(40_150), [true, false, false, false]);
        assert_eq!(marked(40_300), [false; 4]);
    }
}

#[test]
fn latched_messages_that_are_sent_again_are_counted_beside_the_others() {
    let mut model = with_events(appearance());
    let mut many = counts(12_184);
    let row = |model: &Model, name: &str| {
        let rows = shown(model, 120);
        rows.into_iter().find(|row| row.contains(name)).unwrap()
    };
    for (sent, refilled, expected) in [
        (0, 2, "    0+2 /       3"),
        (1, 0, "      1 /       3"),
        (123, 456, "123+456 /       3"),
        (1_234, 567, "   1234 /       3"),
    ] {
        (many[10].sent, many[10].refilled) = (sent, refilled);
        let status = status(State::Paused, 12_184, speed(1_000_000));
        model.observe(wall(0), Some(status), many.clone(), None);
        let row = row(&model, "/tf_static");
        assert!(row.contains(expected), "{row}");
    }
}

#[test]
fn a_card_leaves_room_for_the_whole_answer_of_tab() {
    let mut model = with_parts(1, vec![chunk()]);
    model.handle(Event::Resized(size(80, 24)), stamp(0));
    press(&mut model, "enter tab");
    let rows = shown(&model, 80);
    let words: Vec<&str> = rows.iter().flat_map(|row| row.split_whitespace()).collect();
    let said = words.join(" ");
    let answer = "damage +00:34.000 to +00:36.000: drive_0.mcap: up to 460 messages of \
                  /camera/front/camera_info, /imu/data: chunk fails its checksum and is skipped";
    assert!(said.contains(answer), "{}", rows.join("\n"));
    assert!(rows.iter().any(|row| row.starts_with('╰')), "a card");
}
