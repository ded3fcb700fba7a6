//! The read-ahead: order, end, flush, and the byte bound.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bagplay::bag::{
    Bag, ChunkBuffer, ChunkMemory, Cue, CueAt, CuePoll, Cued, Cues, DamageKind, Direction, Message,
    Selection, StartAt, TopicId, Waker,
};
use bagplay::time::{Time, TimeRange};
use bytes::Bytes;
use crossbeam_channel::Receiver;
use mcap::Compression;

use crate::support::mcaps::{Note, Spec, TopicSpec, all, at, bag, incompressible, place, texts};
use crate::support::patience::PATIENCE;
use crate::support::waker;

/// Takes items until the end, and waits for the waker whenever there are none.
fn drain(cue: &mut Cue, woken: &Receiver<()>, mut take: impl FnMut(Cued)) {
    loop {
        match cue.poll() {
            CuePoll::Item(item) => take(item),
            CuePoll::Pending => woken.recv().expect("the waker is held by the test"),
            CuePoll::End => return,
        }
    }
}

fn messages(cue: &mut Cue, woken: &Receiver<()>) -> Vec<Message> {
    let mut messages = Vec::new();
    drain(cue, woken, |item| match item {
        Cued::Message(message) => {
            // A copy, because chunks that the receiver keeps alive count against the bound.
            let payload = Bytes::copy_from_slice(&message.payload);
            messages.push(Message { payload, ..message });
        }
        other => panic!("{other:?}"),
    });
    messages
}

fn whole(direction: Direction) -> CueAt {
    CueAt {
        from: match direction {
            Direction::Forward => StartAt::At(Time::MIN),
            Direction::Reverse => StartAt::At(Time::MAX),
        },
        direction,
        range: TimeRange::ALL,
        refill: false,
        only: None,
    }
}

/// `chunks` chunks of `each` messages, in order.
fn long(chunks: u64, each: u64, size: usize) -> Spec {
    let note = |i| Note::new(0, i, vec![7; size]);
    let chunk = |c| (c * each..(c + 1) * each).map(note).collect();
    Spec::new((0..chunks).map(chunk).collect()).compression(Some(Compression::Lz4))
}

#[test]
fn the_first_messages_are_handed_over_together() {
    let bag = bag(&long(3, 200, 100).write());
    for direction in [Direction::Forward, Direction::Reverse] {
        let (wake, woken) = waker();
        let mut cues = Cues::new(bag.clone(), Selection::all(&bag), 64 << 20, wake);
        let mut cue = cues.start(whole(direction));
        let mut is_there = false;
        while !is_there {
            match cue.poll() {
                CuePoll::Item(_) => is_there = true,
                CuePoll::Pending => woken.recv().unwrap(),
                CuePoll::End => panic!("no messages"),
            }
        }
        for n in 1..200 {
            assert!(
                matches!(cue.poll(), CuePoll::Item(_)),
                "message {n}, {direction:?}"
            );
        }
    }
}

#[test]
fn a_cue_yields_the_messages_of_its_range_and_ends() {
    let bag = bag(&long(40, 30, 100).write());
    let (wake, woken) = waker();
    let mut cues = Cues::new(bag.clone(), all(&bag), 20_000, wake);
    for (direction, from) in [(Direction::Forward, 0), (Direction::Reverse, 5000)] {
        let at = CueAt {
            from: StartAt::At(at(from)),
            range: TimeRange::between(at(100), at(900)),
            ..whole(direction)
        };
        let mut times: Vec<_> = messages(&mut cues.start(at), &woken)
            .iter()
            .map(|message| message.log_time.as_nanos())
            .collect();
        if direction == Direction::Reverse {
            times.reverse();
        }
        assert_eq!(times, (100..=900).collect::<Vec<_>>());
    }
}

#[test]
fn decompressed_bytes_stay_within_the_bound_and_two_chunks() {
    let spec = long(60, 10, 10_000);
    let bag = bag(&spec.write());
    let (wake, woken) = waker();
    let bound = 400_000;
    let mut cues = Cues::new(bag.clone(), all(&bag), bound, wake);
    let mut cue = cues.start(whole(Direction::Forward));
    let mut count = 0;
    let mut kept = None;
    drain(&mut cue, &woken, |item| {
        count += 1;
        // A message that the receiver holds keeps its chunk in memory.
        kept = Some(item);
    });
    assert_eq!(count, 600);
    let usage = cues.usage();
    assert!(usage.peak_bytes <= bound + 2 * 110_000, "{usage:?}");
    assert_eq!(usage.decompressions, 60);
    drop(kept);
    drop(cue);
    assert_eq!(cues.usage().live_bytes, 0);
}

#[test]
fn hundreds_of_overlapping_chunks_stay_within_the_bound() {
    // Each chunk spans the whole time, with 64 messages of 64 KiB.
    let (chunks, rounds) = (300, 64);
    let note = |c: u64, r: u64| Note::new(0, r * chunks + c, vec![0; 64 << 10]);
    let chunk = |c| (0..rounds).map(|r| note(c, r)).collect();
    let spec = Spec::new((0..chunks).map(chunk).collect());
    let spec = spec.compression(Some(Compression::Zstd));
    let bag = bag(&spec.options(|o| o.calculate_chunk_crcs(false)).write());
    let (wake, woken) = waker();
    let bound = 256 << 20;
    let mut cues = Cues::new(bag.clone(), all(&bag), bound, wake);
    let mut count = 0;
    let mut cue = cues.start(whole(Direction::Forward));
    drain(&mut cue, &woken, |item| match item {
        Cued::Message(message) => {
            assert_eq!(message.log_time.as_nanos(), count);
            count += 1;
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(count, 300 * 64);
    let usage = cues.usage();
    assert!(usage.peak_bytes <= bound + (10 << 20), "{usage:?}");
    // A quarter of the bound is shared by 300 chunks: three messages each and more.
    assert!(usage.decompressions <= 300 * 22, "{usage:?}");
}

#[test]
fn a_cue_with_a_bound_of_one_byte_yields_all_messages() {
    let bag = bag(&long(20, 5, 1000).write());
    let (wake, woken) = waker();
    let mut cues = Cues::new(bag.clone(), all(&bag), 1, wake);
    let mut cue = cues.start(whole(Direction::Reverse));
    assert_eq!(messages(&mut cue, &woken).len(), 100);
}

#[test]
fn a_cue_begins_at_its_own_start_after_one_that_was_dropped() {
    // Far more messages than are queued and bytes than are allowed: the worker is always waiting.
    let bag = bag(&long(100, 100, 100).write());
    let (wake, woken) = waker();
    let mut cues = Cues::new(bag.clone(), all(&bag), 100_000, wake);
    for start in 0..50 {
        let from = StartAt::At(at(start));
        let mut cue = cues.start(CueAt {
            from,
            ..whole(Direction::Forward)
        });
        let first = loop {
            match cue.poll() {
                CuePoll::Item(Cued::Message(message)) => break message,
                CuePoll::Pending => woken.recv().expect("the waker is held by the test"),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(first.log_time, at(start));
    }
    drop(cues);
}

/// Bytes that are slow to decompress.
fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let byte = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u8::try_from(state % 13).unwrap()
    };
    (0..size).map(byte).collect()
}

#[test]
fn quick_seeks_stay_within_the_bound_and_two_chunks() {
    // Chunks that take much longer to decompress than to read or to seek in.
    let (chunks, size) = (4, 16 << 20);
    let note = |c| vec![Note::new(0, c, noise(c, 1024).repeat(size / 1024))];
    let spec = Spec::new((0..chunks).map(note).collect());
    let bag = bag(&spec.compression(Some(Compression::Zstd)).write());
    for bound in [1, 40_u64 << 20] {
        let (wake, woken) = waker();
        let mut cues = Cues::new(bag.clone(), all(&bag), bound, wake);
        for n in 0..16 {
            let from = StartAt::At(at(n % chunks));
            let before = cues.usage().decompressions;
            let mut cue = cues.start(CueAt {
                from,
                ..whole(Direction::Forward)
            });
            // The cue is dropped during a decompression, or soon after it.
            while cues.usage().decompressions == before {
                std::thread::yield_now();
            }
            match cue.poll() {
                CuePoll::Item(Cued::Message(first)) => assert_eq!(first.log_time, at(n % chunks)),
                CuePoll::Pending => {}
                other => panic!("{other:?}"),
            }
        }
        let mut last = cues.start(CueAt {
            from: StartAt::At(at(3)),
            ..whole(Direction::Forward)
        });
        let mut times = Vec::new();
        drain(&mut last, &woken, |item| match item {
            Cued::Message(message) => times.push(message.log_time),
            other => panic!("{other:?}"),
        });
        assert_eq!(times, (3..chunks).map(at).collect::<Vec<_>>());
        let usage = cues.usage();
        let chunk = size as u64 + 200;
        assert!(usage.peak_bytes <= bound + 2 * chunk, "{bound}: {usage:?}");
    }
}

/// Many latched messages, each in a chunk with one of the same size that is not latched.
fn maps(count: u64, size: usize) -> Spec {
    let noise = noise(9, size);
    let chunk = |i| {
        let mut map = Note::new(0, 2 * i, noise.clone());
        // Different payloads, because a repeated one would replace those before it.
        map.payload[0] = u8::try_from(i).unwrap();
        vec![map, Note::new(1, 2 * i + 1, noise.clone())]
    };
    let tf = TopicSpec::named("/tf_static");
    Spec {
        topics: vec![tf, TopicSpec::named("/scan")],
        ..Spec::new((0..count).map(chunk).collect()).compression(Some(Compression::Zstd))
    }
}

#[test]
fn the_newest_refills_that_fit_the_bound_are_yielded() {
    let (count, size) = (40, 50_000);
    let bag = bag(&maps(count, size).write());
    for (bound, most) in [(1, 1), (1_200_000, 12), (1 << 30, 40)] {
        let (wake, woken) = waker();
        let mut cues = Cues::new(bag.clone(), all(&bag), bound, wake);
        let mut cue = cues.start(CueAt {
            refill: true,
            ..whole(Direction::Reverse)
        });
        let (mut refills, mut played) = (Vec::new(), 0);
        drain(&mut cue, &woken, |item| match item {
            Cued::Refill(message) => refills.push(message.log_time),
            Cued::Message(_) => played += 1,
            Cued::Damage(damage) => panic!("{damage}"),
        });
        let newest = (count - most..count).map(|i| at(2 * i));
        assert_eq!(refills, newest.collect::<Vec<_>>(), "{bound}");
        assert_eq!(played, 80);
        let usage = cues.usage();
        let chunk = 2 * size as u64 + 500;
        assert!(usage.peak_bytes <= bound + 2 * chunk, "{bound}: {usage:?}");
        // Chunks are decompressed to learn the payloads the first time, for refills unless they were copied then,
        // and for playing.
        let learn = if bound == 1 { count } else { 0 };
        let decompressions = usage.decompressions;
        assert!(decompressions <= learn + most + count, "{bound}: {usage:?}");
        drop(cue);
        assert_eq!(cues.usage().live_bytes, 0);
    }
}

#[test]
fn a_dropped_cue_stops_looking_for_refills() {
    let bag = bag(&maps(60, 200_000).write());
    let (wake, woken) = waker();
    let mut cues = Cues::new(bag.clone(), all(&bag), 1 << 30, wake);
    let cue = cues.start(CueAt {
        refill: true,
        ..whole(Direction::Reverse)
    });
    while cues.usage().decompressions == 0 {
        std::thread::yield_now();
    }
    drop(cue);
    // The next worker reads only after the one before has stopped.
    let at = CueAt {
        from: StartAt::At(at(119)),
        ..whole(Direction::Forward)
    };
    let before = cues.usage().decompressions;
    let mut next = cues.start(at);
    assert_eq!(messages(&mut next, &woken).len(), 1);
    let usage = cues.usage();
    assert!(usage.decompressions <= before + 3, "{usage:?}");
}

#[test]
fn dropping_cues_ends_a_cue_that_is_still_held() {
    for read_ahead in [1, u64::MAX] {
        let bag = bag(&long(100, 100, 100).write());
        let (wake, woken) = waker();
        let mut cues = Cues::new(bag.clone(), all(&bag), read_ahead, wake);
        let mut cue = cues.start(whole(Direction::Forward));
        woken.recv().expect("the waker is held by the test");
        // Joins the worker, which waits for room in the queue or in the budget.
        drop(cues);
        let mut count = 0;
        drain(&mut cue, &woken, |_| count += 1);
        assert!(count < 10_000);
    }
}

#[test]
fn a_worker_that_panics_is_reported_as_damage_and_the_next_cue_plays() {
    let bag = bag(&long(100, 100, 100).write());
    let (wake, woken) = waker();
    // The waker, which is called with the first item, is the only code of the caller in a worker.
    let is_first = AtomicBool::new(true);
    let breaks_once: Waker = Arc::new(move || {
        wake();
        assert!(!is_first.swap(false, Ordering::SeqCst), "on purpose");
    });
    let mut cues = Cues::new(bag.clone(), all(&bag), 1 << 20, breaks_once);
    let mut cue = cues.start(whole(Direction::Forward));
    let (mut count, mut damage) = (0, Vec::new());
    drain(&mut cue, &woken, |item| match item {
        Cued::Message(_) => count += 1,
        Cued::Damage(found) => damage.push(found),
        Cued::Refill(refill) => panic!("{refill:?}"),
    });
    assert!(count < 10_000);
    let kinds: Vec<_> = damage.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [DamageKind::Internal]);
    assert!(damage[0].to_string().contains("missing"), "{}", damage[0]);
    // The next cue is whole.
    drop(cue);
    let mut cue = cues.start(whole(Direction::Forward));
    assert_eq!(messages(&mut cue, &woken).len(), 10_000);
}

#[test]
fn refills_come_before_messages() {
    let spec = Spec {
        topics: vec![
            TopicSpec::named("/map").with("offered_qos_profiles", "- durability: 1"),
            TopicSpec::named("/odom"),
        ],
        ..Spec::new(vec![
            vec![Note::new(0, 1, "map1"), Note::new(1, 2, "odom2")],
            vec![Note::new(1, 3, "odom3"), Note::new(0, 4, "map4")],
        ])
    };
    let bag = bag(&spec.write());
    let (wake, woken) = waker();
    let mut cues = Cues::new(bag.clone(), all(&bag), 1 << 20, wake);
    for (direction, rest) in [
        (Direction::Forward, ["odom3", "map4"]),
        (Direction::Reverse, ["odom2", "map1"]),
    ] {
        let from = match direction {
            Direction::Forward => 3,
            Direction::Reverse => 2,
        };
        let mut cue = cues.start(CueAt {
            from: StartAt::At(at(from)),
            refill: true,
            ..whole(direction)
        });
        let mut refills = Vec::new();
        let mut played = Vec::new();
        drain(&mut cue, &woken, |item| match item {
            Cued::Refill(message) => {
                assert!(played.is_empty());
                refills.push(message);
            }
            Cued::Message(message) => played.push(message),
            Cued::Damage(damage) => panic!("{damage}"),
        });
        assert_eq!(texts(&refills), ["map1"]);
        assert_eq!(texts(&played), rest);
    }
}

#[test]
fn latched_messages_at_the_start_are_refills_in_reverse_only() {
    let spec = Spec {
        topics: vec![TopicSpec::named("/tf_static"), TopicSpec::named("/odom")],
        ..Spec::new(vec![vec![
            Note::new(0, 1, "tf1"),
            Note::new(0, 3, "tf3a"),
            Note::new(1, 3, "odom3"),
            Note::new(0, 3, "tf3b"),
            Note::new(0, 4, "tf4"),
        ]])
    };
    let bag = bag(&spec.write());
    let walk = bag.cursor(&all(&bag), StartAt::At(at(3)), Direction::Forward);
    let odom = walk.map(Result::unwrap).nth(1).unwrap().key;
    let (wake, woken) = waker();
    let mut cues = Cues::new(bag.clone(), all(&bag), 1 << 20, wake);
    let mut started = |from, direction| {
        let mut cue = cues.start(CueAt {
            from,
            refill: true,
            ..whole(direction)
        });
        let (mut refills, mut played) = (Vec::new(), Vec::new());
        drain(&mut cue, &woken, |item| match item {
            Cued::Refill(message) => refills.push(message),
            Cued::Message(message) => played.push(message),
            Cued::Damage(damage) => panic!("{damage}"),
        });
        (texts(&refills).join(" "), texts(&played).join(" "))
    };
    for (from, direction, refills, played) in [
        (
            StartAt::At(at(3)),
            Direction::Forward,
            "tf1",
            "tf3a odom3 tf3b tf4",
        ),
        (
            StartAt::At(at(3)),
            Direction::Reverse,
            "tf1 tf3a tf3b",
            "tf3b odom3 tf3a tf1",
        ),
        (
            StartAt::After(odom),
            Direction::Forward,
            "tf1 tf3a",
            "tf3b tf4",
        ),
    ] {
        let found = started(from, direction);
        assert_eq!(found, (refills.to_owned(), played.to_owned()), "{from:?}");
    }
}

#[test]
fn a_cue_without_topics_ends_at_once() {
    let bag: Bag = bag(&long(3, 3, 3).write());
    let (wake, woken) = waker();
    let mut cues = Cues::new(bag.clone(), Selection::of([], &bag), 1 << 20, wake);
    assert_eq!(
        messages(&mut cues.start(whole(Direction::Forward)), &woken).len(),
        0
    );
    assert_eq!(cues.usage().decompressions, 0);
}

#[test]
fn a_cue_can_be_filled_without_a_bag() {
    let bag = bag(&long(1, 2, 3).write());
    let walk = bag.cursor(&all(&bag), StartAt::At(Time::MIN), Direction::Forward);
    let items: Vec<_> = walk.map(|item| Cued::Message(item.unwrap())).collect();
    let mut cue = Cue::from_items(items.clone());
    assert!(matches!(cue.poll(), CuePoll::Item(Cued::Message(_))));
    assert!(matches!(cue.poll(), CuePoll::Item(Cued::Message(_))));
    assert!(matches!(cue.poll(), CuePoll::End));
    let (feed, mut cue) = Cue::channel();
    assert!(matches!(cue.poll(), CuePoll::Pending));
    assert!(feed.push(items[0].clone()));
    assert!(matches!(cue.poll(), CuePoll::Item(Cued::Message(_))));
    feed.end();
    assert!(matches!(cue.poll(), CuePoll::End));
}

#[test]
fn a_chunk_larger_than_the_bound_does_not_stop_the_read_ahead() {
    // One long chunk, sixty that overlap it, and a budget that is smaller than the long one.
    let large: Vec<Note> = (0..60)
        .map(|i| Note::new(0, i * 100, vec![1; 20_000]))
        .collect();
    let small = |i: u64| -> Vec<Note> {
        (0..10)
            .map(|k| Note::new(1, i * 100 + k, vec![2; 1000]))
            .collect()
    };
    let chunks = std::iter::once(large).chain((0..60).map(small));
    let spec = Spec::new(chunks.collect()).compression(Some(Compression::Zstd));
    let bag = bag(&spec.write());
    for budget in [1 << 10, 64 << 10, 1 << 20, 4 << 20] {
        let (wake, woken) = waker();
        let mut cues = Cues::new(bag.clone(), all(&bag), budget, wake);
        let mut cue = cues.start(whole(Direction::Forward));
        let mut keys = Vec::new();
        drain(&mut cue, &woken, |item| match item {
            Cued::Message(message) => keys.push(message.key),
            other => panic!("{other:?}"),
        });
        assert_eq!(keys.len(), 660, "{budget}");
        assert!(keys.is_sorted());
    }
}

#[test]
fn a_cue_of_one_topic_opens_only_chunks_that_hold_it() {
    // Ten chunks; /t1 is in the third and in the eighth.
    let chunk = |c: u64| {
        let mut notes: Vec<Note> = (1..6).map(|i| Note::new(0, 10 * c + i, "x")).collect();
        if c == 2 || c == 7 {
            notes.insert(0, Note::new(1, 10 * c, format!("b{c}")));
        }
        notes
    };
    let local = "- durability: transient_local\n";
    let topics =
        ["/t0", "/t1"].map(|name| TopicSpec::named(name).with("offered_qos_profiles", local));
    let spec = Spec {
        topics: topics.into(),
        ..Spec::new((0..10).map(chunk).collect())
    };
    let bag = bag(&spec.write());
    let (wake, woken) = waker();
    let mut cues = Cues::new(bag.clone(), all(&bag), 1 << 20, Arc::clone(&wake));
    let only = |at| CueAt {
        only: Some(TopicId(1)),
        ..at
    };
    for direction in [Direction::Forward, Direction::Reverse] {
        let before = cues.usage().decompressions;
        let mut found = texts(&messages(&mut cues.start(only(whole(direction))), &woken));
        found.sort();
        assert_eq!(found, ["b2", "b7"]);
        assert_eq!(cues.usage().decompressions - before, 2);
    }
    // With a range behind the start there are refills and no messages. What was looked up once is kept in memory.
    for (direction, behind, due) in [(Direction::Forward, 72, 1), (Direction::Reverse, 74, 0)] {
        let before = cues.usage().decompressions;
        let mut found = Vec::new();
        let behind = at(behind);
        let mut cue = cues.start(only(CueAt {
            from: StartAt::At(at(73)),
            direction,
            range: TimeRange::between(behind, behind),
            refill: true,
            only: None,
        }));
        drain(&mut cue, &woken, |item| match item {
            Cued::Refill(message) => found.push(message),
            other => panic!("{other:?}"),
        });
        assert_eq!(texts(&found), ["b7"]);
        assert_eq!(cues.usage().decompressions - before, due);
    }
    // A topic that the cues do not have.
    let mut cues = Cues::new(
        bag.clone(),
        Selection::of([TopicId(0)], &bag),
        1 << 20,
        wake,
    );
    let start = only(CueAt {
        refill: true,
        ..whole(Direction::Forward)
    });
    assert!(messages(&mut cues.start(start), &woken).is_empty());
    assert_eq!(cues.usage().decompressions, 0);
}

#[test]
fn the_reach_is_that_of_the_leading_cue_alone() {
    let bag = bag(&long(40, 30, 100).write());
    let (wake, woken) = waker();
    let mut cues = Cues::new(bag.clone(), all(&bag), 20_000, wake);
    let reach = cues.reach();
    let ahead = CueAt {
        from: StartAt::At(at(100)),
        range: TimeRange::between(at(50), at(5000)),
        ..whole(Direction::Forward)
    };
    // A cue that does not lead, read to its end.
    let mut other = cues.start(ahead);
    assert_eq!(messages(&mut other, &woken).len(), 1100);
    assert_eq!(reach.get(), None);
    // It leads now: it has read to the end of its range, where there is no message.
    other.lead();
    assert_eq!(reach.get(), Some(at(5000)));
    let mut main = cues.start(ahead);
    main.lead();
    drop(other);
    let mut before = at(0);
    let mut count = 0;
    drain(&mut main, &woken, |item| {
        let Cued::Message(message) = item else {
            panic!("{item:?}");
        };
        count += 1;
        // A message that was taken had been queued; the budget prevents that all are read at once.
        let reached = reach.get().expect("a message was queued");
        assert!(message.key.time <= reached && before <= reached);
        assert!(count > 5 || reached < at(1000), "{reached:?}");
        before = reached;
    });
    assert_eq!(reach.get(), Some(at(5000)));
    drop(main);
    assert_eq!(reach.get(), None);
    // Backwards the reach ends at the start of the range; refills do not count.
    let mut back = cues.start(CueAt {
        direction: Direction::Reverse,
        refill: true,
        ..ahead
    });
    back.lead();
    drain(&mut back, &woken, |_| ());
    assert_eq!(reach.get(), Some(at(50)));
}

/// Each chunk is decompressed when it is opened, and once more for the temporary file.
#[test]
fn large_overlapping_chunks_stay_within_the_bound_and_two_chunks_and_are_decompressed_twice() {
    // By time. They take long to make.
    let times = (0..4).flat_map(|i| (0..3).map(move |n| 10 * n + i));
    let payloads: BTreeMap<u64, Vec<u8>> = times
        .map(|time| (time, incompressible(time, 7 << 20)))
        .collect();
    let chunk = |i: u64| {
        let note = |n: u64| Note::new(0, 10 * n + i, payloads[&(10 * n + i)].clone());
        (0..3).map(note).collect()
    };
    let spec = Spec::new((0..4).map(chunk).collect());
    for compression in [None, Some(Compression::Lz4), Some(Compression::Zstd)] {
        let spec = spec.clone().compression(compression);
        let mut bytes = spec.write();
        for is_broken in [false, true] {
            if is_broken {
                let chunk = place(&bytes, mcap::records::op::CHUNK, 2);
                bytes[chunk.at + chunk.body / 2] ^= 1;
            }
            let bag = bag(&bytes);
            for direction in [Direction::Forward, Direction::Reverse] {
                let (wake, woken) = waker();
                let bound = 8 << 20;
                let mut cues = Cues::new(bag.clone(), all(&bag), bound, wake);
                let mut cue = cues.start(whole(direction));
                let (mut times, mut damaged) = (Vec::new(), 0);
                drain(&mut cue, &woken, |item| match item {
                    Cued::Message(message) => {
                        let time = message.log_time.to_mcap();
                        assert!(message.payload == payloads[&time], "{time}");
                        times.push(time);
                    }
                    Cued::Damage(_) => damaged += 1,
                    Cued::Refill(_) => panic!("no refills were requested"),
                });
                let sound = |time: &u64| !is_broken || time % 10 != 2;
                let due = (0..30).filter(|time| time % 10 < 4).filter(sound);
                let mut due: Vec<u64> = due.collect();
                if direction == Direction::Reverse {
                    due.reverse();
                }
                assert_eq!(times, due, "{compression:?}");
                assert_eq!(damaged, usize::from(is_broken), "{compression:?}");
                let usage = cues.usage();
                let chunk = (21 << 20) + 1000;
                assert!(usage.peak_bytes <= bound + 2 * chunk, "{usage:?}");
                assert!(usage.decompressions <= 2 * 4, "{usage:?}");
            }
        }
    }
}

#[test]
fn large_overlapping_chunks_are_decompressed_twice_at_most_whatever_the_bound() {
    let chunk = |i: u64| {
        let note = |n: u64| Note::new(0, 10 * n + i, incompressible(10 * n + i, 8 << (n % 12)));
        (0..400).map(note).collect()
    };
    let spec = Spec::new((0..6).map(chunk).collect()).compression(Some(Compression::Zstd));
    let bytes = spec.write();
    let bag = bag(&bytes);
    let [file] = bag.files() else {
        panic!("{bag:?}");
    };
    for bound in [1, 1 << 10, 10 << 10, 100 << 10] {
        assert!(bound < file.uncompressed_bytes / 6);
        for (direction, from) in [
            (Direction::Forward, 0),
            (Direction::Forward, 1234),
            (Direction::Reverse, 1234),
            (Direction::Reverse, 5000),
        ] {
            let (wake, woken) = waker();
            let mut cues = Cues::new(bag.clone(), all(&bag), bound, wake);
            let mut cue = cues.start(CueAt {
                from: StartAt::At(at(from)),
                ..whole(direction)
            });
            let times: Vec<u64> = messages(&mut cue, &woken)
                .iter()
                .map(|message| {
                    let time = message.log_time.to_mcap();
                    assert!(
                        message.payload == incompressible(time, 8 << (time / 10 % 12)),
                        "{time}"
                    );
                    time
                })
                .collect();
            let is_ahead = |time: &u64| match direction {
                Direction::Forward => *time >= from,
                Direction::Reverse => *time <= from,
            };
            let due = (0..4000).filter(|time| time % 10 < 6).filter(is_ahead);
            let mut due: Vec<u64> = due.collect();
            if direction == Direction::Reverse {
                due.reverse();
            }
            assert!(times == due, "{bound} {direction:?} {from}");
            let usage = cues.usage();
            assert!(usage.decompressions <= 2 * 6, "{bound}: {usage:?}");
        }
    }
}

/// Memory of a limited size that knows where its buffers are.
struct Slab {
    size: u64,
    most: usize,
    held: Arc<AtomicUsize>,
    /// Where all buffers were that it has given, also those that are gone.
    places: Mutex<Vec<std::ops::Range<usize>>>,
}

impl Slab {
    /// It says that it has more than `most` bytes, so that all of them may be read ahead.
    fn of(most: usize) -> Arc<Self> {
        Self::sized(u64::MAX, most)
    }

    fn sized(size: u64, most: usize) -> Arc<Self> {
        Arc::new(Self {
            size,
            most,
            held: Arc::default(),
            places: Mutex::default(),
        })
    }

    fn has(&self, payload: &Bytes) -> bool {
        let at = payload.as_ptr() as usize;
        let places = self.places.lock().unwrap();
        places.iter().any(|place| place.contains(&at))
    }
}

impl ChunkMemory for Slab {
    fn size(&self) -> u64 {
        self.size
    }

    fn take(&self, length: usize) -> Option<Box<dyn ChunkBuffer>> {
        let add = |held: usize| Some(held + length).filter(|held| *held <= self.most);
        let order = Ordering::SeqCst;
        self.held.fetch_update(order, order, add).ok()?;
        // Bytes from before, as memory that is used again has them.
        let bytes = vec![0xaa; length];
        let at = bytes.as_ptr() as usize;
        self.places.lock().unwrap().push(at..at + length);
        let held = Arc::clone(&self.held);
        Some(Box::new(Piece { bytes, held }))
    }
}

struct Piece {
    bytes: Vec<u8>,
    held: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsMut<[u8]> for Piece {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes.len(), Ordering::SeqCst);
    }
}

/// All messages, and how many of them lie in the memory.
fn read_into(slab: &Arc<Slab>, bag: &Bag) -> (Vec<Bytes>, usize) {
    let (waker, woken) = waker();
    let memory = Arc::clone(slab) as Arc<dyn ChunkMemory>;
    let mut cues = Cues::new(bag.clone(), all(bag), 64 << 20, waker).with_memory(Some(memory));
    let mut cue = cues.start(whole(Direction::Forward));
    let (mut payloads, mut inside) = (Vec::new(), 0);
    drain(&mut cue, &woken, |item| {
        let Cued::Message(message) = item else {
            panic!("{item:?}");
        };
        inside += usize::from(slab.has(&message.payload));
        payloads.push(message.payload);
    });
    (payloads, inside)
}

#[test]
fn chunks_are_decompressed_into_memory_that_is_provided_while_it_has_room() {
    let payload = |n: u64| incompressible(n, 30_000);
    // The last is read in pieces: its compressed bytes are too many to be read at once.
    let chunks = || (0..6).map(|c| (0..8).map(move |n| c * 8 + n).collect());
    let chunks: Vec<Vec<u64>> = chunks().chain([(48..650).collect()]).collect();
    let notes = chunks.iter().map(|chunk| {
        let note = |n: &u64| Note::new(0, *n, payload(*n));
        chunk.iter().map(note).collect()
    });
    let spec = Spec::new(notes.collect());
    for compression in [None, Some(Compression::Lz4), Some(Compression::Zstd)] {
        let bytes = spec.clone().compression(compression).write();
        let recording = bag(&bytes);
        for (most, expected) in [(usize::MAX, 650), (1 << 20, 32), (0, 0)] {
            let slab = Slab::of(most);
            let (payloads, inside) = read_into(&slab, &recording);
            // As long as the messages are held, so is the memory: four chunks of eight messages fit into a mebibyte.
            assert_eq!(inside, expected, "{compression:?} {most}");
            for (n, found) in (0..).zip(&payloads) {
                assert_eq!(*found, payload(n), "{compression:?} {most} {n}");
            }
            assert_eq!(payloads.len(), 650);
            drop(payloads);
            assert_eq!(slab.held.load(Ordering::SeqCst), 0);
        }
    }
}

/// Memory of a chunk is used again for later ones, which may be a little smaller.
#[test]
fn chunks_in_used_memory_have_their_own_bytes_only() {
    let payload = |n: u64| incompressible(n, 60_000 - 100 * usize::try_from(n).expect("few"));
    let chunk = |c: u64| (4 * c..4 * c + 4).map(|n| Note::new(0, n, payload(n)));
    let spec = Spec::new((0..40).map(|c| chunk(c).collect()).collect());
    for compression in [None, Some(Compression::Lz4), Some(Compression::Zstd)] {
        let bag = bag(&spec.clone().compression(compression).write());
        for direction in [Direction::Forward, Direction::Reverse] {
            let (wake, woken) = waker();
            let mut cues = Cues::new(bag.clone(), all(&bag), 4 << 20, wake);
            for _ in 0..2 {
                let mut cue = cues.start(whole(direction));
                let found = messages(&mut cue, &woken);
                let times = found.iter().map(|message| message.log_time.to_mcap());
                let mut due: Vec<u64> = (0..160).collect();
                if direction == Direction::Reverse {
                    due.reverse();
                }
                assert_eq!(times.collect::<Vec<_>>(), due);
                for (message, time) in found.iter().zip(due) {
                    let is_own = message.payload == payload(time);
                    assert!(is_own, "{compression:?} {direction:?} {time}");
                }
            }
            assert!(cues.usage().peak_bytes <= (4 << 20) + 2 * 300_000);
        }
    }
}

#[test]
fn a_damaged_chunk_gives_its_memory_back_and_is_reported() {
    let chunk = |c: u64| {
        (0..4)
            .map(|n| Note::new(0, c * 4 + n, incompressible(n, 1000)))
            .collect()
    };
    for compression in [None, Some(Compression::Lz4), Some(Compression::Zstd)] {
        let spec = Spec::new(vec![chunk(0), chunk(1)]).compression(compression);
        let mut bytes = spec.write();
        let second = place(&bytes, mcap::records::op::CHUNK, 1);
        bytes[second.body + 1000] ^= 0xff;
        let recording = bag(&bytes);
        let slab = Slab::of(usize::MAX);
        let (waker, woken) = waker();
        let memory = Arc::clone(&slab) as Arc<dyn ChunkMemory>;
        let cues = Cues::new(recording.clone(), all(&recording), 1 << 20, waker);
        let mut cues = cues.with_memory(Some(memory));
        let mut cue = cues.start(whole(Direction::Forward));
        let (mut sound, mut damage) = (0, 0);
        drain(&mut cue, &woken, |item| match item {
            Cued::Damage(_) => damage += 1,
            _ => sound += 1,
        });
        assert_eq!((sound, damage), (4, 1), "{compression:?}");
        drop((cue, cues));
        assert_eq!(slab.held.load(Ordering::SeqCst), 0, "{compression:?}");
    }
}

#[test]
fn a_small_memory_does_not_limit_the_read_ahead_which_takes_half_of_it() {
    let bag = bag(&long(60, 10, 10_000).write());
    let slab = Slab::sized(1 << 20, 1 << 20);
    let (wake, woken) = waker();
    let memory = Arc::clone(&slab) as Arc<dyn ChunkMemory>;
    let mut cues = Cues::new(bag.clone(), all(&bag), 2 << 20, wake).with_memory(Some(memory));
    let mut cue = cues.start(whole(Direction::Forward));
    // What is held counts as read ahead.
    let mut held = Vec::new();
    while held.len() < 150 {
        match cue.poll() {
            CuePoll::Item(Cued::Message(message)) => held.push(message.payload),
            CuePoll::Pending => woken.recv_timeout(PATIENCE).expect("more is read ahead"),
            other => panic!("{other:?}"),
        }
    }
    assert!(held.iter().any(|payload| slab.has(payload)));
    assert!(slab.held.load(Ordering::SeqCst) <= 1 << 19);
    let first = held.len();
    drop(held);
    assert_eq!(first + messages(&mut cue, &woken).len(), 600);
    drop((cue, cues));
    assert_eq!(slab.held.load(Ordering::SeqCst), 0);
}
