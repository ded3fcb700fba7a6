//! Checking a whole recording: every chunk opened, every message walked, every checksum compared.

use super::contents::Contents;
use super::error::{Damage, DamageKind};
use super::source::Source;

/// How much is summed at once.
const PIECE: u64 = 1 << 20;

/// Compares the data sections with their checksums, where they have one.
pub(super) fn data_sections(contents: &Contents) -> Vec<Damage> {
    let mut damage = Vec::new();
    for input in &contents.inputs {
        let Some((end, checksum)) = input.data_end.filter(|(_, checksum)| *checksum != 0) else {
            continue;
        };
        let found = |kind, detail| Damage {
            file: input.source.path.clone(),
            offset: end,
            kind,
            detail,
        };
        match sum(&input.source, end) {
            Ok(sum) if sum == checksum => {}
            Ok(_) => damage.push(found(
                DamageKind::Checksum,
                "the data section fails its checksum".to_owned(),
            )),
            Err(error) => damage.push(found(
                DamageKind::Unreadable,
                format!("the data section cannot be read: {error}"),
            )),
        }
    }
    damage
}

fn sum(source: &Source, end: u64) -> std::io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut at = 0;
    while at < end {
        let length = PIECE.min(end - at);
        hasher.update(&source.read(at, length)?);
        at += length;
    }
    Ok(hasher.finalize())
}
