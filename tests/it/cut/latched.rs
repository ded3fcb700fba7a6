//! The latched state at the start of a cut.

use std::ops::ControlFlow;

use bagplay::bag::{Bag, Selection};
use bagplay::cut::{Cut, CutOutcome};
use bagplay::time::Time;
use mcap::Compression;

use crate::cut::{Content, Folder, contents, plain, range, whole};
use crate::support::mcaps::{Note, Spec, TopicSpec, at, bag, topic_id};

const LOCAL: &str = "- durability: transient_local\n";

/// `/map` is latched by one publisher, `/pair` keeps two, `/odom` is not latched.
fn spec() -> Spec {
    let latched =
        |name: &str, yaml: &str| TopicSpec::named(name).with("offered_qos_profiles", yaml);
    let chunks = vec![
        vec![Note::new(1, 1, "pair1"), Note::new(0, 2, "map2")],
        vec![
            Note::new(1, 3, "pair3"),
            Note::new(1, 4, "pair4"),
            Note::new(2, 5, "odom5"),
        ],
        vec![Note::new(0, 7, "map7"), Note::new(2, 8, "odom8")],
        vec![
            Note::new(2, 9, "odom9"),
            Note::new(0, 10, "map10"),
            Note::new(2, 10, "odom10"),
        ],
    ];
    Spec {
        topics: vec![
            latched("/map", LOCAL),
            latched(
                "/pair",
                "- durability: transient_local\n  history: keep_last\n  depth: 2\n",
            ),
            TopicSpec::named("/odom"),
        ],
        ..Spec::new(chunks).compression(Some(Compression::Zstd))
    }
}

/// Time and text of the messages.
fn shown(messages: &[Content]) -> Vec<(i64, i64, String)> {
    let text = |payload: &[u8]| String::from_utf8(payload.to_vec()).unwrap();
    let shown = |(_, log, publish, _, payload): &Content| (*log, *publish, text(payload));
    messages.iter().map(shown).collect()
}

fn cut_from(bag: &Bag, start: u64) -> (u64, Vec<(i64, i64, String)>, Bag) {
    let folder = Folder::new();
    let (written, cut) = folder.cut(bag, &Cut::new(bag, range(start, 20)));
    let messages = whole(&cut);
    assert_eq!(messages.len() as u64, written.messages + written.latched);
    (written.latched, shown(&messages), cut)
}

fn text(log: i64, publish: i64, text: &str) -> (i64, i64, String) {
    (log, publish, text.to_owned())
}

#[test]
fn what_a_late_joiner_would_have_comes_first_with_the_time_of_the_start() {
    let bag = bag(&spec().write());
    let (latched, messages, _) = cut_from(&bag, 8);
    assert_eq!(latched, 3);
    let due = [
        text(8, 3, "pair3"),
        text(8, 4, "pair4"),
        text(8, 7, "map7"),
        text(8, 8, "odom8"),
        text(9, 9, "odom9"),
        text(10, 10, "map10"),
        text(10, 10, "odom10"),
    ];
    assert_eq!(messages, due);
}

#[test]
fn a_late_joiner_of_the_cut_receives_the_same_at_every_time() {
    let bag = bag(&spec().write());
    for start in 3..=10 {
        let (_, _, cut) = cut_from(&bag, start);
        for time in start..=11 {
            let joined = |bag: &Bag| {
                let (messages, damage) = bag.latched(&Selection::all(bag), at(time));
                assert_eq!(damage, []);
                let named = messages.iter().map(|message| {
                    let topic = bag.topics()[message.topic.index()].name.clone();
                    (topic, message.publish_time, message.payload.clone())
                });
                let mut named: Vec<_> = named.collect();
                named.sort();
                named
            };
            assert_eq!(joined(&cut), joined(&bag), "from {start} at {time}");
        }
    }
}

#[test]
fn a_message_at_the_start_replaces_the_one_before() {
    let bag = bag(&spec().write());
    let (latched, messages, _) = cut_from(&bag, 10);
    assert_eq!(latched, 2, "both of /pair");
    let due = [
        text(10, 3, "pair3"),
        text(10, 4, "pair4"),
        text(10, 10, "map10"),
        text(10, 10, "odom10"),
    ];
    assert_eq!(messages, due);
}

#[test]
fn nothing_is_added_at_the_start_of_the_recording_or_if_it_is_left_out() {
    let bag = bag(&spec().write());
    for start in [0, 1] {
        let (latched, messages, _) = cut_from(&bag, start);
        assert_eq!((latched, messages.len()), (0, 10));
    }
    let folder = Folder::new();
    let (written, cut) = folder.cut(&bag, &plain(&bag, range(8, 20)));
    assert_eq!(written.latched, 0);
    assert_eq!(
        whole(&cut),
        contents(&bag, &Selection::all(&bag), range(8, 20))
    );
}

#[test]
fn only_selected_topics_are_added_and_counted() {
    let bag = bag(&spec().write());
    let (map, odom) = (topic_id(&bag, "/map"), topic_id(&bag, "/odom"));
    let cut = Cut {
        topics: Selection::of([map, odom], &bag),
        ..Cut::new(&bag, range(8, 9))
    };
    let folder = Folder::new();
    let (written, cut) = folder.cut(&bag, &cut);
    assert_eq!((written.messages, written.latched), (2, 1));
    let share = |id| written.topics.iter().find(|share| share.id == id).cloned();
    let counts = |id| share(id).map(|share| (share.messages, share.latched));
    assert_eq!((counts(map), counts(odom)), (Some((0, 1)), Some((2, 0))));
    assert_eq!(shown(&whole(&cut))[0], text(8, 7, "map7"));
    assert_eq!(cut.range().unwrap().start(), Time::from_nanos(8));
}

#[test]
fn the_search_tells_how_far_it_has_come_and_can_be_ended() {
    // Transforms about different frames complete each other, so all chunks have to be searched.
    let chunk = |c: u64| vec![Note::new(0, c, format!("tf{c}"))];
    let spec = Spec {
        topics: vec![TopicSpec::named("/tf_static")],
        ..Spec::new((0..9).map(chunk).collect()).compression(Some(Compression::Zstd))
    };
    let bag = bag(&spec.write());
    let cut = Cut::new(&bag, range(8, 20));
    let folder = Folder::new();
    let mut told = Vec::new();
    let outcome = cut.write(&bag, &folder.path("x.mcap"), &mut |progress| {
        told.extend(progress.look_up);
        if told.len() < 2 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    assert_eq!(outcome.unwrap(), CutOutcome::Cancelled);
    assert!(
        told.iter().all(|it| it.done <= it.of && it.of >= 8),
        "{told:?}"
    );
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn state_alone_makes_no_cut() {
    let bag = bag(&spec().write());
    let map = Selection::of([topic_id(&bag, "/map")], &bag);
    let cut = Cut {
        topics: map,
        ..Cut::new(&bag, range(8, 9))
    };
    let folder = Folder::new();
    let error = folder.try_cut(&bag, &cut).unwrap_err().to_string();
    assert!(
        error.starts_with("no message of the selected topics between"),
        "{error}"
    );
    assert_eq!(folder.names(), [""; 0]);
}
