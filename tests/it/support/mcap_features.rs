//! MCAP files of every kind that the specification allows, written record by record, because crate mcap's writer cannot
//! leave out or move every optional part.

use std::io::Write as _;

pub(crate) const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// The optional features of a file.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a feature that a writer has or has not"
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Features {
    /// Extra bytes at the end of records, which readers ignore.
    pub(crate) padding: bool,
    pub(crate) chunked: bool,
    pub(crate) message_index: bool,
    pub(crate) chunk_index: bool,
    pub(crate) repeated_schemas: bool,
    pub(crate) repeated_channels: bool,
    pub(crate) statistics: bool,
    pub(crate) summary_offsets: bool,
    /// An attachment and its index, a metadata record and its index.
    pub(crate) attachment: bool,
    pub(crate) metadata: bool,
    /// Definitions are at the very beginning of the data, not where they are first needed.
    pub(crate) early_definitions: bool,
    pub(crate) zstd: bool,
}

impl Features {
    /// The number of combinations.
    pub(crate) const COUNT: u32 = 1 << 12;

    /// The nth combination; `None` if it is impossible, such as chunk indexes without chunks.
    pub(crate) fn nth(n: u32) -> Option<Self> {
        let bit = |i: u32| n >> i & 1 == 1;
        let features = Self {
            padding: bit(0),
            chunked: bit(1),
            message_index: bit(2),
            chunk_index: bit(3),
            repeated_schemas: bit(4),
            repeated_channels: bit(5),
            statistics: bit(6),
            summary_offsets: bit(7),
            attachment: bit(8),
            metadata: bit(9),
            early_definitions: bit(10),
            zstd: bit(11),
        };
        let of_chunks = features.message_index || features.chunk_index || features.zstd;
        (features.chunked || !of_chunks).then_some(features)
    }
}

/// A message to be written: channel, log time, publish time, payload.
pub(crate) type Note = (u16, u64, u64, &'static str);

/// Writes a file with a chunk for each list of messages.
pub(crate) fn write(features: Features, chunks: &[&[Note]]) -> Vec<u8> {
    let mut writer = Writer {
        features,
        out: MAGIC.to_vec(),
        defined: Vec::new(),
        chunks: Vec::new(),
    };
    writer.data(chunks);
    writer.summary(chunks);
    writer.out
}

/// A chunk that was written: its chunk index record.
struct Listed(Vec<u8>);

struct Writer {
    features: Features,
    out: Vec<u8>,
    /// The channels that were defined.
    defined: Vec<u16>,
    chunks: Vec<Listed>,
}

fn text(text: &str) -> Vec<u8> {
    block(text.as_bytes())
}

fn block(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap();
    [&length.to_le_bytes(), bytes].concat()
}

fn schema(id: u16) -> Vec<u8> {
    let name = format!("test_msgs/msg/Type{id}");
    [
        id.to_le_bytes().to_vec(),
        text(&name),
        text("ros2msg"),
        block(b"string data"),
    ]
    .concat()
}

fn channel(id: u16) -> Vec<u8> {
    [
        id.to_le_bytes().to_vec(),
        id.to_le_bytes().to_vec(),
        text(&format!("/t{id}")),
        text("cdr"),
        block(&[]),
    ]
    .concat()
}

fn message((channel, log_time, publish_time, payload): Note) -> Vec<u8> {
    [
        &channel.to_le_bytes()[..],
        &0_u32.to_le_bytes(),
        &log_time.to_le_bytes(),
        &publish_time.to_le_bytes(),
        payload.as_bytes(),
    ]
    .concat()
}

impl Writer {
    fn record(&self, opcode: u8, body: &[u8]) -> Vec<u8> {
        // The payload of a message and a footer extend to the end of their record.
        let is_padded = self.features.padding && !matches!(opcode, 0x02 | 0x05);
        let padding: &[u8] = if is_padded { &[1, 0xff, 0xff] } else { &[] };
        let length = (body.len() + padding.len()) as u64;
        [&[opcode], &length.to_le_bytes()[..], body, padding].concat()
    }

    fn put(&mut self, opcode: u8, body: &[u8]) -> u64 {
        let (at, record) = (self.out.len() as u64, self.record(opcode, body));
        self.out.extend(record);
        at
    }

    fn definition(&mut self, id: u16) -> Vec<u8> {
        if self.defined.contains(&id) {
            return Vec::new();
        }
        self.defined.push(id);
        let schema = self.record(0x03, &schema(id));
        [schema, self.record(0x04, &channel(id))].concat()
    }

    fn data(&mut self, chunks: &[&[Note]]) {
        self.put(0x01, &[text("ros2"), text("test")].concat());
        let all = chunks.iter().copied().flatten();
        if self.features.early_definitions {
            for (id, ..) in all {
                let definition = self.definition(*id);
                self.out.extend(definition);
            }
        }
        for (n, notes) in chunks.iter().enumerate() {
            if self.features.chunked {
                // The definitions for the next chunk are in this one, if possible.
                let needed = chunks.get(n + 1).copied().unwrap_or_default();
                self.chunk(notes, needed);
            } else {
                for note in *notes {
                    let definition = self.definition(note.0);
                    self.out.extend(definition);
                    self.put(0x05, &message(*note));
                }
            }
        }
        if self.features.attachment {
            let body = [
                [5_u64.to_le_bytes(), 6_u64.to_le_bytes()].concat(),
                text("name"),
                text("text/plain"),
                4_u64.to_le_bytes().to_vec(),
                b"data".to_vec(),
            ];
            let body = body.concat();
            let sum = crc32fast::hash(&body).to_le_bytes();
            self.put(0x09, &[&body[..], &sum].concat());
        }
        if self.features.metadata {
            let map = block(&[text("key"), text("value")].concat());
            self.put(0x0c, &[text("meta"), map].concat());
        }
        let sum = crc32fast::hash(&self.out);
        self.put(0x0f, &sum.to_le_bytes());
    }

    fn chunk(&mut self, notes: &[Note], next: &[Note]) {
        let mut records = Vec::new();
        let mut entries: Vec<(u16, Vec<u8>)> = Vec::new();
        for (id, ..) in notes.iter().chain(next) {
            records.extend(self.definition(*id));
        }
        for note in notes {
            let at = records.len() as u64;
            records.extend(self.record(0x05, &message(*note)));
            let entry = [note.1.to_le_bytes(), at.to_le_bytes()].concat();
            match entries.iter_mut().find(|(id, _)| *id == note.0) {
                Some((_, known)) => known.extend(entry),
                None => entries.push((note.0, entry)),
            }
        }
        let times = notes.iter().map(|note| note.1);
        let (first, last) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
        let name = if self.features.zstd { "zstd" } else { "" };
        let packed = if self.features.zstd {
            zstd::encode_all(&records[..], 1).unwrap()
        } else {
            records.clone()
        };
        let mut body = Vec::new();
        for field in [first, last, records.len() as u64] {
            body.write_all(&field.to_le_bytes()).unwrap();
        }
        body.extend(crc32fast::hash(&records).to_le_bytes());
        body.extend(text(name));
        body.extend((packed.len() as u64).to_le_bytes());
        body.extend(&packed);
        let at = self.put(0x06, &body);
        let end = self.out.len() as u64;
        let mut offsets = Vec::new();
        if self.features.message_index {
            for (id, entries) in entries {
                let body = [&id.to_le_bytes()[..], &block(&entries)].concat();
                let at = self.put(0x07, &body);
                offsets.extend([&id.to_le_bytes()[..], &at.to_le_bytes()].concat());
            }
        }
        let mut listed = Vec::new();
        for field in [first, last, at, end - at] {
            listed.extend(field.to_le_bytes());
        }
        listed.extend(block(&offsets));
        listed.extend((self.out.len() as u64 - end).to_le_bytes());
        listed.extend(text(name));
        listed.extend((packed.len() as u64).to_le_bytes());
        listed.extend((records.len() as u64).to_le_bytes());
        self.chunks.push(Listed(listed));
    }

    fn summary(&mut self, chunks: &[&[Note]]) {
        let start = self.out.len() as u64;
        let mut groups: Vec<(u8, u64, u64)> = Vec::new();
        let mut group = |opcode: u8, writer: &mut Self, bodies: Vec<Vec<u8>>| {
            let at = writer.out.len() as u64;
            for body in &bodies {
                writer.put(opcode, body);
            }
            if !bodies.is_empty() {
                groups.push((opcode, at, writer.out.len() as u64 - at));
            }
        };
        let features = self.features;
        let defined = self.defined.clone();
        let ids = |is_repeated: bool| defined.iter().copied().filter(move |_| is_repeated);
        let schemas = ids(features.repeated_schemas).map(schema).collect();
        group(0x03, self, schemas);
        let channels = ids(features.repeated_channels).map(channel).collect();
        group(0x04, self, channels);
        if features.statistics {
            let statistics = self.statistics(chunks);
            group(0x0b, self, vec![statistics]);
        }
        if features.chunk_index {
            let listed = std::mem::take(&mut self.chunks);
            let listed = listed.into_iter().map(|Listed(body)| body).collect();
            group(0x08, self, listed);
        }
        let offsets_at = self.out.len() as u64;
        if features.summary_offsets {
            for (opcode, at, length) in groups {
                let body = [&[opcode][..], &at.to_le_bytes(), &length.to_le_bytes()].concat();
                self.put(0x0e, &body);
            }
        }
        let end = self.out.len() as u64;
        let start = if end > start { start } else { 0 };
        let offsets_at = if end > offsets_at { offsets_at } else { 0 };
        let mut footer = [start.to_le_bytes(), offsets_at.to_le_bytes()].concat();
        let from = if start > 0 { start } else { end };
        let covered = self.out[usize::try_from(from).unwrap()..].to_vec();
        let frame = [&[0x02][..], &20_u64.to_le_bytes()].concat();
        let sum = crc32fast::hash(&[covered, frame, footer.clone()].concat());
        footer.extend(sum.to_le_bytes());
        self.put(0x02, &footer);
        self.out.extend(MAGIC);
    }

    fn statistics(&self, chunks: &[&[Note]]) -> Vec<u8> {
        let all = || chunks.iter().copied().flatten();
        let times = all().map(|note| note.1);
        let (first, last) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
        let channels = u16::try_from(self.defined.len()).unwrap();
        let counts: Vec<u8> = self
            .defined
            .iter()
            .flat_map(|id| {
                let count = all().filter(|note| note.0 == *id).count() as u64;
                [&id.to_le_bytes()[..], &count.to_le_bytes()].concat()
            })
            .collect();
        [
            &(all().count() as u64).to_le_bytes()[..],
            &channels.to_le_bytes(),
            &u32::from(channels).to_le_bytes(),
            &u32::from(self.features.attachment).to_le_bytes(),
            &u32::from(self.features.metadata).to_le_bytes(),
            &u32::try_from(self.chunks.len()).unwrap().to_le_bytes(),
            &first.to_le_bytes(),
            &last.to_le_bytes(),
            &block(&counts),
        ]
        .concat()
    }
}
