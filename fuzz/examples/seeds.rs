//! Writes the recordings of `corpus/reader`, with the writer of the tests.
//!
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds -- fuzz/corpus/reader`

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/support/mcaps.rs"]
mod mcaps;

use std::path::PathBuf;

use mcap::{Compression, WriteOptions};
use mcaps::{Note, Spec, TopicSpec, place};

type Options = fn(WriteOptions) -> WriteOptions;

/// Three chunks that overlap, a latched topic, one that is always latched. No checksums: they would hide
/// what is changed behind them.
fn base(compression: Option<Compression>, options: Options) -> Spec {
    let note = |chunk: usize, i: usize| {
        let time = (chunk * 8 + i * 3 + 10) as u64 * 1_000_000;
        Note::new(i % 3, time, vec![chunk as u8; 6 + i])
    };
    let chunks = (0..3).map(|chunk| (0..6).map(|i| note(chunk, i)).collect());
    let profile = "- durability: 1\n  depth: 2\n";
    let mut spec = Spec::new(chunks.collect()).compression(compression);
    spec.topics = vec![
        TopicSpec::named("/a"),
        TopicSpec::named("/b").with("offered_qos_profiles", profile),
        TopicSpec::named("/tf_static"),
    ];
    spec.options(|it| {
        options(
            it.calculate_chunk_crcs(false)
                .calculate_summary_section_crc(false)
                .calculate_data_section_crc(false),
        )
    })
}

fn bare(options: WriteOptions) -> WriteOptions {
    options
        .emit_statistics(false)
        .emit_chunk_indexes(false)
        .emit_summary_offsets(false)
        .repeat_channels(false)
        .repeat_schemas(false)
}

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("a folder"));
    std::fs::create_dir_all(&folder)?;
    let compressions = [None, Some(Compression::Lz4), Some(Compression::Zstd)];
    let mut seeds: Vec<(String, u8, Vec<u8>)> = Vec::new();
    for (name, compression) in ["none", "lz4", "zstd"].into_iter().zip(compressions) {
        let write = |options: Options| base(compression, options).write();
        for (order, treatment) in [("", 0), ("_sent", 1)] {
            seeds.push((format!("{name}{order}"), treatment, write(|it| it)));
        }
        seeds.push((format!("{name}_little_room"), 8, write(|it| it)));
        seeds.push((format!("{name}_no_room"), 24, write(|it| it)));
        seeds.push((format!("{name}_unfinished"), 4, write(|it| it)));
        seeds.push((format!("{name}_no_summary"), 0, write(bare)));
        let no_indexes: Options = |it| it.emit_message_indexes(false);
        seeds.push((format!("{name}_no_indexes"), 0, write(no_indexes)));
        let mut cut = write(|it| it);
        cut.truncate(place(&cut, 0x06, 2).at + 60);
        seeds.push((format!("{name}_cut_chunk"), 0, cut));
        let mut cut = write(|it| it);
        cut.truncate(place(&cut, 0x07, 4).at + 12);
        seeds.push((format!("{name}_cut_index"), 0, cut));
        let checked: Options = |it| {
            it.calculate_chunk_crcs(true)
                .calculate_data_section_crc(true)
                .calculate_summary_section_crc(true)
        };
        seeds.push((format!("{name}_checksums"), 0, write(checked)));
    }
    let unchunked = base(None, |it| it.use_chunks(false)).write();
    seeds.push(("unchunked".to_owned(), 0, unchunked.clone()));
    seeds.push(("unchunked_sent".to_owned(), 1, unchunked.clone()));
    seeds.push(("as_a_chunk".to_owned(), 2, unchunked.clone()));
    seeds.push(("as_a_chunk_sent".to_owned(), 3, unchunked));
    let twice = [base(None, |it| it).write(), base(None, |it| it).write()];
    seeds.push(("two_files".to_owned(), 0, twice.concat()));
    seeds.push(("empty".to_owned(), 0, Spec::new(vec![]).write()));
    for (name, treatment, file) in seeds {
        std::fs::write(folder.join(name), [&[treatment][..], &file].concat())?;
    }
    Ok(())
}
