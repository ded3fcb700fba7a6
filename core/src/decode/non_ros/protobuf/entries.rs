//! [`has_too_many`]: counts what a descriptor set contains before it is decoded. Decoded, an entry of two bytes takes
//! some hundred bytes.

use super::wire::{Slice, WireReader};

/// The most entries: files, types, fields, constants, options and comments. A real descriptor set of the longest length
/// has fewer.
const MAX_ENTRIES: usize = 100_000;

/// A message of `google/protobuf/descriptor.proto`, by what it contains.
#[derive(Clone, Copy)]
enum Part {
    Set,
    File,
    Message,
    Enum,
    Service,
    /// Whose only contents that count are options, in the field with this number.
    WithOptions(u32),
    /// Options and comments: each of their fields counts, and none is looked into.
    Leaf,
}

impl Part {
    /// What the field with this number contains; `None` if it is a number or a text.
    const fn inner(self, number: u32) -> Option<Self> {
        Some(match (self, number) {
            (Self::Set, 1) => Self::File,
            (Self::File, 4) | (Self::Message, 3) => Self::Message,
            (Self::File, 5) | (Self::Message, 4) => Self::Enum,
            (Self::File, 6) => Self::Service,
            // Fields and extensions.
            (Self::File, 7) | (Self::Message, 2 | 6) => Self::WithOptions(8),
            (Self::Message, 5 | 8) | (Self::Enum, 2) => Self::WithOptions(3),
            (Self::Service, 2) => Self::WithOptions(4),
            // Options, and comments with their places.
            (Self::File, 8 | 9) | (Self::Message, 7) | (Self::Enum | Self::Service, 3) => {
                Self::Leaf
            }
            (Self::WithOptions(options), number) if options == number => Self::Leaf,
            _ => return None,
        })
    }
}

/// Whether a descriptor set has more entries than are decoded. What cannot be read is left to the decoder.
pub(super) fn has_too_many(definition: &[u8]) -> bool {
    let whole = Slice {
        bytes: definition,
        at: 0,
    };
    let mut unread = vec![(Part::Set, whole)];
    let mut entries = 0_usize;
    while let Some((part, slice)) = unread.pop() {
        for written in WireReader::new(slice).map_while(Result::ok) {
            let inner = part.inner(written.number);
            // Numbers and texts are part of their entry.
            entries += usize::from(inner.is_some() || matches!(part, Part::Leaf));
            if entries > MAX_ENTRIES {
                return true;
            }
            if let Some((inner, slice)) = inner.zip(written.message()) {
                unread.push((inner, slice));
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many empty entries: a tag and the length 0.
    fn empty(tag: u8, count: usize) -> Vec<u8> {
        [tag, 0].repeat(count)
    }

    /// As the contents of the field with this tag.
    fn within(tag: u8, contents: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        let mut length = contents.len();
        while length > 127 {
            bytes.push(u8::try_from(length % 128).unwrap_or_default() | 128);
            length /= 128;
        }
        bytes.push(u8::try_from(length).unwrap_or_default());
        [bytes, contents.to_vec()].concat()
    }

    #[test]
    fn empty_entries_count_at_every_level() {
        const FILE: u8 = 1 << 3 | 2;
        const MESSAGE: u8 = 4 << 3 | 2;
        const NESTED: u8 = 3 << 3 | 2;
        const COMMENTS: u8 = 9 << 3 | 2;
        let many = MAX_ENTRIES + 1;
        assert!(has_too_many(&empty(FILE, many)));
        assert!(!has_too_many(&empty(FILE, MAX_ENTRIES)));
        for (outer, inner) in [(MESSAGE, NESTED), (COMMENTS, FILE)] {
            let file = |count| within(FILE, &within(outer, &empty(inner, count)));
            assert!(has_too_many(&file(many)), "{outer}");
            assert!(!has_too_many(&file(MAX_ENTRIES / 2)), "{outer}");
        }
        // The name of a file is no entry, whatever is in it.
        let name = within(FILE, &within(FILE, &empty(FILE, many)));
        assert!(!has_too_many(&name));
        assert!(!has_too_many(&[0xff; 64]));
    }
}
