//! What a late joiner receives: the last latched message of each publisher, found without scanning.

use bagplay::bag::{
    Bag, CueAt, CuePoll, Cued, Cues, Direction, MessageOrder, Opening, Selection, StartAt, TopicId,
};
use bagplay::ros::Durability;
use bagplay::time::{Time, TimeRange};
use mcap::Compression;

use crate::support::mcaps::{Note, Spec, TopicSpec, all, at, bag, places, texts, topic_id};
use crate::support::patience::{Patience, look_again, until};

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

/// The copy of a message that one jump made is not returned by a later jump for another message.
#[test]
fn latched_messages_outside_chunks_are_not_confused_between_jumps() {
    let bag = bag(&spec().options(|o| o.use_chunks(false)).write());
    assert_eq!(found(&bag, 3), ["tf1", "map2", "pair3"]);
    assert_eq!(found(&bag, 6), ["tf1", "map2", "pair4", "pair6"]);
    assert_eq!(found(&bag, 99), ["tf1", "pair4", "pair6", "map7", "tf8"]);
}

#[test]
fn latched_messages_are_the_last_of_each_publisher() {
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
fn publishers_are_counted_per_channel_and_not_per_file() {
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
    let files = crate::support::mcaps::Files::of([part(0).write(), part(6).write()]);
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
fn a_wrong_message_index_is_damage() {
    let mut bytes = spec()
        .options(|o| o.calculate_summary_section_crc(false))
        .write();
    let index = places(&bytes);
    let index = index
        .iter()
        .rfind(|it| it.opcode == mcap::records::op::MESSAGE_INDEX);
    let index = index.unwrap();
    // The offset in the only entry, that of the last map.
    bytes[index.at + 9 + 2 + 4 + 8] ^= 1;
    let bag = bag(&bytes);
    let (_, damage) = bag.latched(&all(&bag), at(1000));
    assert_eq!(damage.len(), 1, "{damage:?}");
    let walk = bag.cursor(&all(&bag), StartAt::At(at(0)), Direction::Forward);
    assert!(walk.into_iter().all(|item| item.is_ok()));
}

#[test]
fn each_publisher_with_its_own_channel_keeps_its_last_message() {
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
fn the_history_of_a_publisher_limits_its_latched_messages() {
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
fn a_large_latched_message_does_not_displace_a_small_one() {
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
            range: TimeRange::ALL,
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

/// Jumps, with the number of decompressions that each needs.
struct Jumps {
    cues: Cues,
    /// Decompressions so far.
    decompressions: u64,
}

impl Jumps {
    fn new(bag: &Bag) -> Self {
        Self::of(bag, all(bag))
    }

    fn of(bag: &Bag, topics: Selection) -> Self {
        let cues = Cues::new(bag.clone(), topics, 64 << 20, std::sync::Arc::new(|| {}));
        Self {
            cues,
            decompressions: 0,
        }
    }

    /// Jumps to `time`: the refills, and the decompressions until they and the messages of that time were read.
    fn to(&mut self, time: u64, only: Option<TopicId>) -> (Vec<String>, u64) {
        let mut cue = self.cues.start(CueAt {
            from: StartAt::At(at(time)),
            direction: Direction::Forward,
            range: TimeRange::between(at(time), at(time)),
            refill: only.is_none(),
            only,
        });
        let mut refilled = Vec::new();
        loop {
            match cue.poll() {
                CuePoll::Item(Cued::Refill(message)) => refilled.push(message),
                CuePoll::Item(Cued::Message(_)) => {}
                CuePoll::Item(Cued::Damage(damage)) => panic!("{damage}"),
                CuePoll::Pending => std::thread::yield_now(),
                CuePoll::End => break,
            }
        }
        let before = self.decompressions;
        self.decompressions = self.cues.usage().decompressions;
        (texts(&refilled), self.decompressions - before)
    }
}

/// Chunks of ten messages, with transforms in each and a map in the first; times are multiples of ten. Without
/// message indexes messages are large, so that most chunks are not opened when the file is.
fn long(chunks: u64, has_message_indexes: bool) -> Bag {
    let compression = Some(mcap::Compression::Zstd);
    let spec = long_spec(chunks, has_message_indexes).compression(compression);
    bag(&spec.write())
}

fn long_spec(chunks: u64, has_message_indexes: bool) -> Spec {
    let odom = vec![0; if has_message_indexes { 4 } else { 20_000 }];
    let chunk = |i: u64| {
        let mut notes: Vec<Note> = (0..10)
            .map(|n| Note::new(2, i * 100 + n * 10, odom.clone()))
            .collect();
        let transform = if i.is_multiple_of(2) { "even" } else { "odd" };
        notes.insert(1, Note::new(0, i * 100 + 1, transform));
        if i == 0 {
            notes.insert(1, Note::new(1, 1, "map"));
        }
        notes
    };
    let spec = Spec {
        topics: vec![
            offers("/tf_static", LOCAL),
            offers("/map", LOCAL),
            offers("/odom", VOLATILE),
        ],
        ..Spec::new((0..chunks).map(chunk).collect())
    };
    spec.options(|o| o.emit_message_indexes(has_message_indexes))
}

/// Waits for the end of the look-up in the background. As long as it opens chunks it goes on, however seldom it runs.
#[track_caller]
fn until_learned(cues: &Cues) {
    let opened = || cues.usage().decompressions;
    let (mut before, mut patience) = (opened(), Patience::new());
    while cues.is_learning() {
        let now = opened();
        if now != before {
            (before, patience) = (now, Patience::new());
        }
        assert!(patience.slice().is_some(), "the look-up does not go on");
        look_again();
    }
}

/// Once the look-up has ended, the first jump needs as few decompressions as later ones.
#[test]
fn latched_messages_are_looked_up_in_the_background_before_the_first_jump() {
    for has_message_indexes in [true, false] {
        for chunks in [20, 400] {
            let bag = long(chunks, has_message_indexes);
            let mut jumps = Jumps::new(&bag);
            assert_eq!(jumps.to(0, None).0, [""; 0]);
            until_learned(&jumps.cues);
            assert_eq!(jumps.cues.usage().live_bytes, 0);
            let (state, cost) = jumps.to(chunks * 100 - 50, None);
            assert_eq!(state, ["map", "even", "odd"]);
            // The chunk at the position, and those of the map and the two transforms.
            assert!(cost <= 4, "{cost} of {chunks}");
        }
    }
}

/// A jump to the end of many chunks waits for the look-up, and says how far that has come. Another jump or the end of
/// the run does not have to wait for it.
#[test]
fn a_jump_that_waits_for_the_look_up_tells_its_progress_and_is_given_up_at_once() {
    let chunks = 300;
    let noise: Vec<u8> = (0..30_000_u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    let chunk = |i: u64| {
        let tf = Note::new(0, i * 10, i.to_string());
        vec![tf, Note::new(1, i * 10 + 1, noise.clone())]
    };
    let spec = Spec {
        topics: vec![offers("/tf_static", LOCAL), offers("/odom", VOLATILE)],
        ..Spec::new((0..chunks).map(chunk).collect()).compression(Some(Compression::Zstd))
    };
    let bytes = spec.write();
    let jump = |time: u64, refill| CueAt {
        from: StartAt::At(at(time)),
        direction: Direction::Forward,
        range: TimeRange::between(at(time), at(time)),
        refill,
        only: None,
    };
    for is_dropped in [false, true] {
        until("progress of a look-up", || {
            let mut cues = Jumps::new(&bag(&bytes)).cues;
            let reach = cues.reach();
            assert_eq!(reach.looking_up(), None);
            let mut cue = cues.start(jump(chunks * 10 - 10, true));
            cue.lead();
            let (mut refills, mut done, mut is_told) = (0, 0, false);
            loop {
                let polled = cue.poll();
                if let Some(look_up) = reach.looking_up() {
                    // Some chunks may have been searched in the background already.
                    assert!(look_up.of as u64 <= chunks, "{look_up:?}");
                    assert!(
                        done <= look_up.done && look_up.done < look_up.of,
                        "{look_up:?}"
                    );
                    (done, is_told) = (look_up.done, true);
                    if is_dropped {
                        break;
                    }
                }
                match polled {
                    CuePoll::Item(Cued::Refill(_)) => refills += 1,
                    CuePoll::Item(Cued::Message(_)) => {}
                    CuePoll::Item(Cued::Damage(damage)) => panic!("{damage}"),
                    CuePoll::Pending => std::thread::yield_now(),
                    CuePoll::End => break,
                }
            }
            assert!(is_dropped && is_told || refills + 1 == chunks, "{refills}");
            if is_told && is_dropped {
                drop(cue);
                let before = cues.usage().decompressions;
                assert_eq!(reach.looking_up(), None);
                let mut next = cues.start(jump(0, false));
                while !matches!(next.poll(), CuePoll::End) {
                    std::thread::yield_now();
                }
                let after = cues.usage().decompressions;
                // What was being opened, and the chunk at the new position.
                assert!(after <= before + 3, "{before} {after}");
            }
            assert_eq!(reach.looking_up(), None);
            is_told
        });
    }
}

/// Of uncompressed chunks only single messages are read, so that the first jump opens no more chunks than later ones.
#[test]
fn the_first_jump_reads_single_messages_of_uncompressed_chunks() {
    for chunks in [20, 400] {
        let spec = long_spec(chunks, true).options(|o| o.calculate_chunk_crcs(false));
        let mut jumps = Jumps::new(&bag(&spec.write()));
        let (state, cost) = jumps.to(chunks * 100 - 50, None);
        assert_eq!(state, ["map", "even", "odd"]);
        assert!(cost <= 4, "{cost} of {chunks}");
    }
}

#[test]
fn a_seek_opens_as_many_chunks_in_a_long_recording_as_in_a_short_one() {
    for has_message_indexes in [true, false] {
        for chunks in [20, 400] {
            let bag = long(chunks, has_message_indexes);
            let mut jumps = Jumps::new(&bag);
            let (state, first) = jumps.to(chunks * 100 - 50, None);
            assert_eq!(state, ["map", "even", "odd"]);
            assert!(first <= chunks + 4, "{first} of {chunks}");
            let places = [10, 3, 19, 11, 4].map(|n| n * chunks * 5 + 20);
            let mut costs = Vec::new();
            for place in places {
                let (state, cost) = jumps.to(place, None);
                assert_eq!(state.len(), 3, "{place}: {state:?}");
                costs.push(cost);
            }
            // The chunk at the position, and those of the two transforms, if they are in other chunks.
            assert!(costs.iter().all(|cost| *cost <= 3), "{costs:?}");
            // The copies that the first jumps made are still there.
            for place in places {
                assert_eq!(jumps.to(place, None).1, 1);
            }
        }
    }
}

/// With more than 300,000 latched messages, a jump uses what earlier jumps have found.
#[test]
fn very_many_latched_messages_are_not_searched_again_at_each_jump() {
    let chunk = |c: u64| {
        let note = |i: u64| Note::new(usize::from(i > 0), c * 1000 + i, (c * 1000 + i).to_string());
        (0..1000).map(note).collect()
    };
    let spec = Spec {
        topics: vec![offers("/a/tf_static", LOCAL), offers("/b/tf_static", LOCAL)],
        ..Spec::new((0..310).map(chunk).collect()).compression(Some(Compression::Zstd))
    };
    let bag = bag(&spec.write());
    let topic = topic_id(&bag, "/a/tf_static");
    let mut jumps = Jumps::of(&bag, Selection::of([topic], &bag));
    for time in [309_500, 309_500, 200_500, 309_500] {
        let before = jumps.decompressions;
        let (state, cost) = jumps.to(time, None);
        assert_eq!(state.len() as u64, time / 1000 + 1, "{time}");
        assert!(before == 0 || cost <= 2, "{cost} at {time}");
        until_learned(&jumps.cues);
        jumps.decompressions = jumps.cues.usage().decompressions;
    }
}

/// Once a chunk was found to hold messages that its index leaves out, no chunk is skipped because of its index.
#[test]
fn an_index_known_to_be_wrong_is_not_used_for_latched_messages() {
    for compression in [None, Some(Compression::Zstd)] {
        for is_known_before in [false, true] {
            if compression.is_none() && !is_known_before {
                // No chunk would be opened, so the error would not be found.
                continue;
            }
            // Without statistics and message indexes, only opening a chunk shows what the chunk index leaves out.
            let chunk = |c: u64| {
                let map = Note::new(2, c * 10 + 1, format!("map{c}"));
                let tf = Note::new(1, c * 10 + 2, format!("tf{c}"));
                let note = |i| Note::new(0, c * 10 + i, "odom");
                vec![note(0), map, tf, note(9)]
            };
            let spec = Spec {
                topics: vec![
                    offers("/odom", VOLATILE),
                    offers("/tf_static", LOCAL),
                    offers("/map", LOCAL),
                ],
                ..Spec::new((0..5).map(chunk).collect())
            };
            let spec = spec.compression(compression).options(|o| {
                o.calculate_summary_section_crc(false)
                    .calculate_chunk_crcs(false)
                    .emit_statistics(false)
            });
            let mut bytes = spec.write();
            let is_map = |bytes: &[u8], at: usize| bytes[at..at + 2] == [3, 0];
            let found = places(&bytes);
            let of = |opcode| found.iter().filter(move |it| it.opcode == opcode);
            for index in of(mcap::records::op::CHUNK_INDEX).skip(1) {
                let map = index.at + 45;
                let entries = [map, map + 10, map + 20];
                let at = entries.into_iter().find(|at| is_map(&bytes, *at)).unwrap();
                let other = entries.into_iter().find(|other| *other != at).unwrap();
                bytes.copy_within(other..other + 10, at);
            }
            for index in of(mcap::records::op::MESSAGE_INDEX).skip(3) {
                if is_map(&bytes, index.at + 9) {
                    bytes[index.at] = 0x90;
                }
            }
            let bag = bag(&bytes);
            assert_eq!(bag.damage(), []);
            let due = ["map4", "tf0", "tf1", "tf2", "tf3", "tf4"];
            if is_known_before {
                // Until then the index is used.
                let map = topic_id(&bag, "/map");
                let (messages, _) = bag.latched(&Selection::of([map], &bag), at(45));
                assert_eq!(texts(&messages), ["map0"]);
                let walk = bag.cursor(&all(&bag), StartAt::At(at(0)), Direction::Forward);
                assert!(walk.into_iter().any(|item| item.is_err()));
            }
            let (messages, _) = bag.latched(&all(&bag), at(45));
            let mut state = texts(&messages);
            state.sort_unstable();
            assert_eq!(state, due, "{compression:?} {is_known_before}");
        }
    }
}

#[test]
fn a_topic_absent_from_a_chunk_is_not_searched_there_again() {
    let bag = long(50, false);
    let map = Some(topic_id(&bag, "/map"));
    let mut jumps = Jumps::new(&bag);
    // The chunk has to be opened to find that it lacks the topic; after that this is known.
    assert_eq!(jumps.to(3000, map).1, 1);
    assert_eq!(jumps.to(3000, map).1, 0);
    assert_eq!(jumps.to(1, map).1, 1);
    assert_eq!(jumps.to(1, map).1, 1);
}

mod model {
    use proptest::prelude::*;

    use super::*;

    /// The latched messages at a time: the last transform of each frame, of other topics as many as their depth.
    fn due(notes: &[Note], depths: &[usize], time: u64) -> Vec<String> {
        let mut kept: Vec<&Note> = Vec::new();
        let mut counts = vec![0; depths.len()];
        for note in notes.iter().rev().filter(|note| note.time <= time) {
            let is_new = if note.topic == 0 {
                !kept
                    .iter()
                    .any(|it| it.topic == 0 && it.payload == note.payload)
            } else {
                counts[note.topic] < depths[note.topic]
            };
            if is_new {
                counts[note.topic] += 1;
                kept.push(note);
            }
        }
        let text = |note: &&Note| String::from_utf8_lossy(&note.payload).into_owned();
        kept.iter().rev().map(text).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn latched_messages_do_not_depend_on_earlier_look_ups(
            chunks in prop::collection::vec(
                prop::collection::vec((0..4_usize, 0..3_u8), 0..120), 1..6),
            times in prop::collection::vec(0..700_u64, 1..8),
            has_message_indexes: bool,
            is_sent: bool,
            has_checksums: bool,
        ) {
            let mut next = 0;
            let chunks: Vec<Vec<Note>> = chunks.into_iter().map(|chunk| {
                chunk.into_iter().map(|(topic, about)| {
                    next += 1;
                    let text = if topic == 0 { format!("tf{about}") } else { format!("{topic}@{next}") };
                    Note::new(topic, next, text)
                }).collect()
            }).collect();
            let notes: Vec<Note> = chunks.iter().flatten().cloned().collect();
            let spec = Spec {
                topics: vec![
                    TopicSpec::named("/tf_static"),
                    offers("/a", LOCAL),
                    offers("/b", "- {history: keep_last, depth: 4, durability: transient_local}\n"),
                    offers("/c", VOLATILE),
                ],
                ..Spec::new(chunks)
            };
            let files = crate::support::mcaps::Files::of([
                spec.options(|o| {
                    o.emit_message_indexes(has_message_indexes).calculate_chunk_crcs(has_checksums)
                })
                .write(),
            ]);
            let order = if is_sent { MessageOrder::Sent } else { MessageOrder::Received };
            let opening = Opening { order, ..Opening::default() };
            let bag = Bag::open_with(&files.paths, &opening).unwrap();
            for time in times {
                prop_assert_eq!(found(&bag, time), due(&notes, &[1, 1, 4, 0], time), "{}", time);
            }
        }
    }
}

/// A message index that gives a record of `/tf_static` to a channel of another latched topic, too.
#[test]
fn a_record_that_an_index_gives_to_another_topic_too_is_found_once_also_when_asked_again() {
    // The first byte says how the file is treated in fuzzing.
    let file =
        include_bytes!("../../../fuzz/corpus/reader/index_gives_a_latched_record_to_two_topics");
    let bag = Bag::from_bytes("x.mcap", file[1..].to_vec().into()).unwrap();
    let cursor = bag.cursor(&all(&bag), StartAt::At(Time::MIN), Direction::Forward);
    let times: Vec<_> = cursor.flatten().map(|message| message.key.time).collect();
    // Each search knows what those before it have found.
    for time in [&[Time::MIN], &times[..], &[Time::MAX]].concat() {
        let (messages, _) = bag.latched(&all(&bag), time);
        let is_ordered = messages.windows(2).all(|pair| pair[0].key < pair[1].key);
        assert!(is_ordered, "at {time}: {messages:?}");
    }
}
