//! Detects files whose messages are each compressed (rosbag2's compression mode MESSAGE). Only the `metadata.yaml`
//! beside a file declares this; without it, the file looks like any other until its messages are read.

use std::sync::Arc;

use mcap::records::op;

use super::contents::{Chunk, Contents};
use crate::bag::decompress::budget::Meter;
use crate::bag::decompress::chunk::Decoder;
use crate::bag::mcap::parse;
use crate::bag::mcap::record::{MESSAGE_HEADER, Records};
use crate::bag::open::file_kind::ZSTD;
use crate::untrusted::FileName;

/// How many files are checked, and how many messages of each.
const MOST_FILES: u32 = 4;
const MOST_MESSAGES: usize = 16;

/// The first of a few files whose first CDR messages are all zstd frames. CDR never begins like a zstd frame.
pub(crate) fn by_message(contents: &Contents) -> Option<&FileName> {
    let meter = Meter::unbounded();
    let mut decoder = Decoder::default();
    let inputs = (0..MOST_FILES).zip(&contents.inputs);
    inputs
        .filter_map(|(id, input)| {
            let chunk = contents.chunks.iter().find(|chunk| chunk.input == id)?;
            Some((input, chunk))
        })
        .find(|(_, chunk)| is_by_message(contents, chunk, &mut decoder, &meter))
        .map(|(input, _)| &input.source.name)
}

fn is_by_message(
    contents: &Contents,
    chunk: &Chunk,
    decoder: &mut Decoder,
    meter: &Arc<Meter>,
) -> bool {
    let source = &contents.input(chunk.input).source;
    // Damage in the chunk is reported when it is played.
    let Ok(owned) = decoder.read(source, &chunk.place, meter) else {
        return false;
    };
    let payloads = Records::new(&owned.bytes).map_while(Result::ok);
    let payloads = payloads.filter(|record| record.opcode == op::MESSAGE);
    let mut payloads = payloads
        .filter_map(|record| {
            let header = parse::message_header(record.body).ok()?;
            let topic = contents.topic_of(chunk.input, header.channel_id)?;
            let is_cdr = contents.topics.get(topic.index())?.encoding == "cdr";
            record.body.get(MESSAGE_HEADER..).filter(|_| is_cdr)
        })
        .take(MOST_MESSAGES)
        .peekable();
    payloads.peek().is_some() && payloads.all(|payload| payload.starts_with(&ZSTD))
}
