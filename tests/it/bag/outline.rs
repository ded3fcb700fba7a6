//! Message densities of a recording, whole and in part, reported while they grow.

use std::ops::ControlFlow;

use bagplay::bag::{Bag, MessageOrder, Opening, Outline};
use bagplay::time::TimeRange;
use mcap::Compression;

use crate::support::mcaps::{Files, Note, Spec, at, bag, place, places};

const CHUNK: u8 = 0x06;
const MESSAGE_INDEX: u8 = 0x07;

/// All reports of the outline of a range.
fn reports(bag: &Bag, from: u64, to: u64, parts: usize) -> Vec<Outline> {
    let mut reports = Vec::new();
    let range = TimeRange::between(at(from), at(to));
    bag.outline_within(range, parts, &mut |outline| {
        reports.push(outline.clone());
        ControlFlow::Continue(())
    });
    reports
}

fn last(bag: &Bag, from: u64, to: u64, parts: usize) -> Outline {
    reports(bag, from, to, parts).pop().unwrap()
}

/// Chunks of ten messages, one per nanosecond, of which every tenth is of the second topic.
fn spec(chunks: u64) -> Spec {
    let note = |i: u64| Note::new(usize::from(i % 10 == 9), i, vec![7; 100]);
    let chunk = |c: u64| (10 * c..10 * c + 10).map(note).collect();
    Spec::new((0..chunks).map(chunk).collect()).compression(Some(Compression::Zstd))
}

#[test]
fn an_outline_of_a_part_counts_the_messages_inside() {
    let bag = bag(&spec(10).write());
    let whole = last(&bag, 0, 99, 10);
    assert_eq!(whole, bag.outline(10));
    assert_eq!(whole.topics[0].density, [9.0; 10]);
    assert_eq!(
        (whole.topics[0].bytes, whole.topics[1].bytes),
        (Some(9000), Some(1000))
    );
    // From the middle of a chunk to the middle of another.
    let part = last(&bag, 25, 44, 4);
    assert_eq!(part.topics[0].density, [4.0, 5.0, 4.0, 5.0]);
    assert_eq!(part.topics[1].density, [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(
        (part.topics[0].bytes, part.topics[1].bytes),
        (Some(1800), Some(200))
    );
    let nothing = last(&bag, 1000, 2000, 2);
    assert_eq!(nothing.topics[0].density, [0.0; 2]);
    assert_eq!(nothing.topics[0].bytes, Some(0));
}

#[test]
fn an_outline_opens_no_chunk_and_reads_no_index_outside_its_range() {
    let sound = spec(10).write();
    let mut broken = sound.clone();
    for chunk in places(&sound).iter().filter(|place| place.opcode == CHUNK) {
        // All of the compressed data, and not the header before it, which has the times.
        broken[chunk.at + 60..chunk.at + 9 + chunk.body].fill(0xaa);
    }
    let first = place(&sound, MESSAGE_INDEX, 0);
    broken[first.at] = 0xff;
    let (sound, broken) = (bag(&sound), bag(&broken));
    assert_eq!(last(&sound, 20, 99, 70), last(&broken, 20, 99, 70));
    // Of the chunk whose index is broken only the number of messages is known.
    assert_ne!(
        last(&sound, 0, 99, 70).topics,
        last(&broken, 0, 99, 70).topics
    );
}

/// Asserts how many messages an outline shows of the first two topics, within 5 %: a chunk's size includes definitions.
#[track_caller]
fn assert_counts(outline: &Outline, expected: [f64; 2]) {
    for (topic, expected) in outline.topics.iter().zip(expected) {
        let sum: f64 = topic.density.iter().sum();
        assert!(
            (sum - expected).abs() <= expected / 20.0,
            "{sum} for {expected}"
        );
    }
}

#[test]
fn without_message_indexes_counts_are_estimated_by_the_size_of_chunks() {
    // So large that not all chunks are opened to verify their times.
    let mut even = spec(10).options(|o| o.emit_message_indexes(false));
    for note in even.chunks.iter_mut().flatten() {
        note.payload = vec![7; 600_000];
    }
    let mut uneven = even.clone();
    // A chunk as large as the other nine together. It is not the last one, which is opened.
    uneven.chunks[8][0].payload = vec![7; 600_000 * 81];
    let (even, uneven) = (bag(&even.write()), bag(&uneven.write()));
    for outline in reports(&even, 0, 99, 5) {
        assert_counts(&outline, [90.0, 10.0]);
        assert!(outline.topics.iter().all(|topic| topic.bytes.is_none()));
    }
    let whole = last(&even, 0, 99, 5);
    for part in &whole.topics[0].density {
        assert!((part - 18.0).abs() < 1.0, "{part}");
    }
    assert_counts(&last(&even, 0, 49, 5), [45.0, 5.0]);
    assert_counts(&last(&even, 500, 900, 5), [0.0, 0.0]);
    let density = &last(&uneven, 0, 99, 10).topics[0].density;
    let rest: f64 = density[1..8].iter().sum();
    assert!((density[8] / rest - 9.0 / 7.0).abs() < 0.07, "{density:?}");
}

#[test]
fn with_unreadable_message_indexes_counts_are_estimated_by_the_totals_of_topics() {
    let sound = spec(10).write();
    let mut broken = sound.clone();
    for index in places(&sound)
        .iter()
        .filter(|it| it.opcode == MESSAGE_INDEX)
    {
        broken[index.at] = 0xff;
    }
    for outline in reports(&bag(&broken), 0, 99, 5) {
        assert_counts(&outline, [90.0, 10.0]);
    }
    // Only one of them cannot be read.
    let mut broken = sound.clone();
    broken[place(&sound, MESSAGE_INDEX, 3).at] = 0xff;
    let broken = bag(&broken);
    for outline in reports(&broken, 0, 99, 5) {
        assert_counts(&outline, [90.0, 10.0]);
    }
    assert_counts(&last(&broken, 20, 49, 5), [27.0, 3.0]);
    // Message indexes are not used for an order by publish time either.
    let opening = Opening {
        order: MessageOrder::Sent,
        ..Opening::default()
    };
    let files = Files::of([sound]);
    let sent = Bag::open_with(&files.paths, &opening).unwrap();
    assert_counts(&last(&sent, 0, 99, 5), [90.0, 10.0]);
}

#[test]
fn an_outline_covers_the_whole_range_from_the_start_and_ends_exact() {
    let bag = bag(&spec(1000).write());
    for (from, to) in [(0, 9_999), (2_000, 7_999)] {
        let all = reports(&bag, from, to, 20);
        assert!(all.len() > 5, "{}", all.len());
        let (end, early) = all.split_last().unwrap();
        let each = end.topics[0].density[0];
        assert!(
            end.topics[0]
                .density
                .iter()
                .all(|part| (part - each).abs() < 1e-9)
        );
        for outline in early {
            let sum: f64 = outline.topics[0].density.iter().sum();
            assert!((sum / (20.0 * each) - 1.0).abs() < 0.1, "{sum}");
            // Each report covers every part, and roughly agrees with the last one.
            for part in &outline.topics[0].density {
                assert!((0.3..2.1).contains(&(part / each)), "{part} of {each}");
            }
            let bytes = outline.topics[0].bytes.unwrap();
            assert!(bytes.abs_diff(end.topics[0].bytes.unwrap()) < bytes / 10);
        }
    }
    assert_eq!(reports(&bag, 0, 9_999, 20).last(), Some(&bag.outline(20)));
}

#[test]
fn an_outline_stops_when_its_callback_breaks() {
    let bag = bag(&spec(1000).write());
    let mut calls = 0;
    let range = TimeRange::between(at(0), at(9_999));
    bag.outline_within(range, 3, &mut |_| {
        calls += 1;
        ControlFlow::Break(())
    });
    assert_eq!(calls, 1);
}

#[test]
fn a_sample_of_a_huge_recording_estimates_its_counts() {
    // Without statistics there may be millions of messages.
    let part = |from: u64| {
        let chunk = |c: u64| vec![Note::new(0, from + c, vec![7; 100])];
        Spec::new((0..2500).map(chunk).collect())
            .options(|o| o.emit_statistics(false))
            .write()
    };
    let bag = Files::of([part(0), part(2500)]).bag();
    assert_eq!(bag.message_count(), None);
    for outline in reports(&bag, 0, 4_999, 10) {
        let topic = &outline.topics[0];
        for part in &topic.density {
            assert!((350.0..650.0).contains(part), "{part} of 500");
        }
        assert!((400_000..600_000).contains(&topic.bytes.unwrap()));
    }
    // The outline of a short range is exact.
    let part = last(&bag, 1_000, 1_099, 10);
    assert!(
        part.topics[0]
            .density
            .iter()
            .all(|part| (part - 10.0).abs() < 1e-9)
    );
    assert_eq!(part.topics[0].bytes, Some(10_000));
}
