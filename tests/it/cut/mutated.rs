//! Of any changed bytes a cut is made or refused; it has what is played of them, and can itself be read.

use std::collections::BTreeSet;

use bagplay::bag::{Bag, DamageKind, Direction, Selection, StartAt};
use bagplay::cut::{Cut, CutError, LatchedState};
use bagplay::time::Time;
use mcap::Compression;
use mcap::records::op;
use proptest::prelude::*;

use crate::bag::hostile::base;
use crate::cut::{Content, Folder, content, range};
use crate::support::mcaps::{Files, place};

/// The sound messages of a bag, and the kinds of damage.
fn read(bag: &Bag) -> (Vec<Content>, BTreeSet<DamageKind>) {
    let mut kinds: BTreeSet<_> = bag.damage().iter().map(|it| it.kind).collect();
    let start = StartAt::At(Time::MIN);
    let cursor = bag.cursor(&Selection::all(bag), start, Direction::Forward);
    let mut messages = Vec::new();
    for item in cursor {
        match item {
            Ok(message) => messages.push(content(bag, &message)),
            Err(damage) => {
                kinds.insert(damage.kind);
            }
        }
    }
    (messages, kinds)
}

/// Damage after which what is played depends on which chunks were opened before.
fn is_about_indexes(kind: DamageKind) -> bool {
    matches!(
        kind,
        DamageKind::Times
            | DamageKind::Index
            | DamageKind::UnknownChannel
            | DamageKind::ChannelConflict
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_cut_of_changed_bytes_has_what_is_played_of_them(
        compression in prop_oneof![Just(None), Just(Some(Compression::Zstd)), Just(Some(Compression::Lz4))],
        has_message_indexes in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        length in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        is_of_summary in any::<bool>(),
        start in 0..70_u64,
    ) {
        let spec = base(compression).options(|o| o.emit_message_indexes(has_message_indexes));
        let mut bytes = spec.write();
        let from = if is_of_summary { place(&bytes, op::DATA_END, 0).at } else { 0 };
        for (at, byte) in &changes {
            let at = from + at.index(bytes.len() - from);
            bytes[at] = *byte;
        }
        if let Some(length) = length {
            bytes.truncate(length.index(bytes.len()));
        }
        let files = Files::of([bytes]);
        let Ok(bag) = Bag::open(&files.paths) else { return Ok(()) };
        let part = range(start * 1_000_000, u64::MAX >> 1);
        let (played, kinds) = read(&bag);
        let due: Vec<&Content> = played
            .iter()
            .filter(|message| part.contains(Time::from_nanos(message.1)))
            .collect();
        let cut = Cut { latched: LatchedState::LeftOut, ..Cut::new(&bag, part) };
        let folder = Folder::new();
        match folder.try_cut(&bag, &cut) {
            Ok(_) => {
                let found = Bag::open(&[folder.path("cut.mcap")]).unwrap();
                let (messages, of_cut) = read(&found);
                if !kinds.iter().copied().any(is_about_indexes) {
                    prop_assert!(messages.iter().eq(due), "{:?} {:?}", kinds, of_cut);
                    prop_assert!(of_cut.is_subset(&kinds), "{:?} {:?}", kinds, of_cut);
                }
            }
            Err(CutError::Empty { .. }) => {
                prop_assert!(due.is_empty() || kinds.iter().copied().any(is_about_indexes), "{:?}", kinds);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}
