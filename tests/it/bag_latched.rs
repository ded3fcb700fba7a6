//! What a late joiner is given: the last message of each publisher, found without scanning.

use bagplay::bag::{Bag, Direction, Durability, StartAt};
use mcap::Compression;

use crate::mcaps::{Note, Spec, TopicSpec, all, at, bag, place, texts};

const LOCAL: &str = "- durability: transient_local\n";
const VOLATILE: &str = "- durability: volatile\n";

fn offers(name: &str, yaml: &str) -> TopicSpec {
    TopicSpec::named(name).with("offered_qos_profiles", yaml)
}

/// `/map` latched by one publisher, `/pair` by two, `tf_static` by its name, `/odom` not at all.
fn spec() -> Spec {
    let both = LOCAL.repeat(2);
    let chunks = vec![
        vec![
            Note::new(2, 1, "tf1"),
            Note::new(0, 2, "map2"),
            Note::new(1, 3, "pair3"),
            Note::new(1, 4, "pair4"),
        ],
        vec![Note::new(3, 5, "odom5"), Note::new(1, 6, "pair6")],
        vec![Note::new(2, 8, "tf8"), Note::new(0, 7, "map7")],
        (9..99).map(|i| Note::new(3, i, "odom")).collect(),
        vec![Note::new(0, 100, "map100")],
    ];
    Spec {
        topics: vec![
            offers("/map", LOCAL),
            offers("/pair", &both),
            TopicSpec::named("/robot/tf_static"),
            offers("/odom", VOLATILE),
        ],
        ..Spec::new(chunks).compression(Some(Compression::Zstd))
    }
}

fn found(bag: &Bag, time: u64) -> Vec<String> {
    let (messages, damage) = bag.latched(&all(bag), at(time));
    assert_eq!(damage, []);
    texts(&messages)
}

#[test]
fn it_is_what_the_publishers_last_said() {
    for has_message_indexes in [true, false] {
        let spec = spec().options(|o| o.emit_message_indexes(has_message_indexes));
        let bag = bag(&spec.write());
        let latched = bag.topics().iter().map(|topic| topic.is_latched);
        assert_eq!(latched.collect::<Vec<_>>(), [true, true, true, false]);
        assert_eq!(found(&bag, 0), [""; 0]);
        assert_eq!(found(&bag, 3), ["tf1", "map2", "pair3"]);
        assert_eq!(found(&bag, 6), ["tf1", "map2", "pair4", "pair6"]);
        assert_eq!(found(&bag, 99), ["tf1", "pair4", "pair6", "map7", "tf8"]);
        assert_eq!(found(&bag, 100), ["tf1", "pair4", "pair6", "tf8", "map100"]);
    }
}

#[test]
fn publishers_are_counted_over_channels_and_not_over_parts() {
    let part = |from: u64| Spec {
        topics: vec![
            TopicSpec::named("/a")
                .with("callerid", "/x")
                .with("latching", "1"),
            TopicSpec::named("/a")
                .with("callerid", "/y")
                .with("latching", "1"),
            offers("/b", LOCAL),
        ],
        ..Spec::new(vec![
            (from..from + 6)
                .map(|i| Note::new((i % 3) as usize, i, i.to_string()))
                .collect(),
        ])
    };
    let files = crate::mcaps::Files::of([part(0).write(), part(6).write()]);
    let bag = files.bag();
    assert_eq!(bag.topics().len(), 2);
    assert_eq!(bag.topics()[1].offered_qos.len(), 1);
    assert_eq!(
        bag.topics()[1].offered_qos[0].durability,
        Durability::TransientLocal
    );
    assert_eq!(found(&bag, 50), ["9", "10", "11"]);
}

#[test]
fn a_lying_message_index_is_damage() {
    let mut bytes = spec()
        .options(|o| o.calculate_summary_section_crc(false))
        .write();
    let index = place(&bytes, mcap::records::op::MESSAGE_INDEX, 2);
    // The offset of the only entry, of the transform: one byte off.
    bytes[index.at + 9 + 2 + 4 + 8] ^= 1;
    let bag = bag(&bytes);
    let (_, damage) = bag.latched(&all(&bag), at(1000));
    assert_eq!(damage.len(), 1, "{damage:?}");
    let walk = bag.cursor(&all(&bag), StartAt::At(at(0)), Direction::Forward);
    assert!(walk.into_iter().all(|item| item.is_ok()));
}

#[test]
fn each_publisher_that_can_be_told_keeps_its_own_last_message() {
    let publisher = |id: &str| {
        let topic = TopicSpec::named("/a").with("callerid", id);
        topic.with("latching", "1")
    };
    let chatter: Vec<Note> = (2..9).map(|i| Note::new(1, i, format!("b{i}"))).collect();
    for has_message_indexes in [true, false] {
        let spec = Spec {
            topics: vec![publisher("/a"), publisher("/b")],
            ..Spec::new(vec![vec![Note::new(0, 1, "a1")], chatter.clone()])
        };
        let spec = spec.options(|o| o.emit_message_indexes(has_message_indexes));
        let bag = bag(&spec.write());
        assert_eq!(found(&bag, 6), ["a1", "b6"]);
        assert_eq!(found(&bag, 50), ["a1", "b8"]);
    }
}

#[test]
fn as_many_are_given_as_a_publisher_kept() {
    let yaml = |history: &str| format!("- {{{history}, durability: transient_local}}\n");
    for (history, count) in [
        ("history: keep_last, depth: 5", 5),
        ("history: 1, depth: 3", 3),
        ("history: keep_last, depth: 0", 1),
        ("history: unknown, depth: 7", 1),
        ("history: keep_all", 10),
        ("history: keep_last, depth: 1000", 10),
        ("depth: 4", 1),
    ] {
        let spec = Spec {
            topics: vec![offers("/a", &yaml(history))],
            ..Spec::new(vec![
                (0..19).map(|i| Note::new(0, i, i.to_string())).collect(),
            ])
        };
        assert_eq!(found(&bag(&spec.write()), 50).len(), count, "{history}");
    }
}

#[test]
fn a_large_message_costs_no_small_one_its_place() {
    use bagplay::bag::{CueAt, CuePoll, Cued, Cues};
    let spec = Spec {
        topics: vec![offers("/tf_static", LOCAL), offers("/cloud", LOCAL)],
        ..Spec::new(vec![
            vec![Note::new(0, 1, "tf")],
            vec![Note::new(1, 2, vec![7; 1 << 20])],
            vec![Note::new(0, 50, "end")],
        ])
    };
    let bag = bag(&spec.write());
    for (budget, due) in [(1 << 20, vec![2]), (16 << 20, vec![2, 1 << 20])] {
        let mut cues = Cues::new(bag.clone(), all(&bag), budget, std::sync::Arc::new(|| {}));
        let mut cue = cues.start(CueAt {
            from: StartAt::At(at(40)),
            direction: Direction::Forward,
            range: bagplay::time::TimeRange::ALL,
            refill: true,
            only: None,
        });
        let mut refilled = Vec::new();
        loop {
            match cue.poll() {
                CuePoll::Item(Cued::Refill(message)) => refilled.push(message.payload.len()),
                CuePoll::Item(_) | CuePoll::End => break,
                CuePoll::Pending => std::thread::yield_now(),
            }
        }
        assert_eq!(refilled, due, "{budget}");
    }
}
