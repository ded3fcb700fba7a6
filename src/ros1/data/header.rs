//! The header with which a connection for messages begins, on both sides: fields `key=value` with their lengths.

use std::collections::BTreeMap;

use crate::untrusted::Foreign;

/// The longest header, in bytes: subscribers may send the definition of the type.
pub(crate) const MAX_HEADER: usize = 256 << 10;
/// The most fields.
const MAX_FIELDS: usize = 64;

/// The fields of a header. Values are texts, which need not be UTF-8.
pub(crate) type Fields = BTreeMap<String, Vec<u8>>;

/// A header that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum InvalidHeader {
    /// It has more bytes or fields than are accepted.
    #[error("it is too large")]
    TooLarge,
    /// A field is longer than the header.
    #[error("a field is cut off")]
    CutOff,
    /// A field has no `=`, or its key is no text.
    #[error("`{}` is not a field", Foreign::bytes(.0).at_most(100))]
    Field(Vec<u8>),
}

/// A header with its length.
pub(crate) fn encode<'a>(fields: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    for (key, value) in fields {
        bytes.extend(length(key.len() + 1 + value.len()));
        bytes.extend(key.as_bytes());
        bytes.push(b'=');
        bytes.extend(value);
    }
    let all = length(bytes.len() - 4);
    bytes[..4].copy_from_slice(&all);
    bytes
}

/// The fields of a header, without its length. The last one of a key counts.
pub(crate) fn decode(mut bytes: &[u8]) -> Result<Fields, InvalidHeader> {
    if bytes.len() > MAX_HEADER {
        return Err(InvalidHeader::TooLarge);
    }
    let mut fields = Fields::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk().ok_or(InvalidHeader::CutOff)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (field, rest) = rest.split_at_checked(length).ok_or(InvalidHeader::CutOff)?;
        let wrong = || InvalidHeader::Field(field[..field.len().min(100)].to_vec());
        let equals = field.iter().position(|byte| *byte == b'=');
        let (key, value) = field.split_at(equals.ok_or_else(wrong)?);
        let key = str::from_utf8(key).map_err(|_| wrong())?;
        fields.insert(key.to_owned(), value[1..].to_vec());
        if fields.len() > MAX_FIELDS {
            return Err(InvalidHeader::TooLarge);
        }
        bytes = rest;
    }
    Ok(fields)
}

/// A field that is UTF-8; `None` if it is not there, too.
pub(crate) fn text<'a>(fields: &'a Fields, key: &str) -> Option<&'a str> {
    let value = fields.get(key)?;
    str::from_utf8(value).ok()
}

/// A length as it is written before headers, fields and messages.
pub(crate) fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the documentation of the protocol.
    const EXAMPLE: &[u8] = b"\xb0\0\0\0\
        \x20\0\0\0message_definition=string data\n\n\
        \x25\0\0\0callerid=/rostopic_4767_1316912741557\
        \x0a\0\0\0latching=1\
        \x27\0\0\0md5sum=992ce8a1687cec8c8bd883ec73ca41d1\
        \x0e\0\0\0topic=/chatter\
        \x14\0\0\0type=std_msgs/String";

    #[test]
    fn the_documented_header_is_read_and_written() {
        let fields = decode(&EXAMPLE[4..]).unwrap();
        assert_eq!(fields.len(), 6);
        assert_eq!(fields["latching"], b"1");
        assert_eq!(fields["message_definition"], b"string data\n\n");
        let order = [
            "message_definition",
            "callerid",
            "latching",
            "md5sum",
            "topic",
            "type",
        ];
        let written = encode(order.map(|key| (key, fields[key].as_slice())));
        assert_eq!(written, EXAMPLE);
    }

    #[test]
    fn a_value_may_have_an_equals_sign_and_any_bytes() {
        let written = encode([("error", &b"a=b \xff"[..]), ("x", &b""[..])]);
        let fields = decode(&written[4..]).unwrap();
        assert_eq!(fields["error"], b"a=b \xff");
        assert_eq!(fields["x"], b"");
        assert_eq!(decode(b"").unwrap(), Fields::new());
    }

    #[test]
    fn wrong_headers_are_refused() {
        let many = encode((0..65).map(|_| ("", &b""[..])));
        assert!(decode(&many[4..]).is_ok(), "one key");
        for wrong in [&b"\x05\0\0\0a=b"[..], b"\x01\0\0", b"\xff\xff\xff\xffa=b"] {
            assert_eq!(decode(wrong), Err(InvalidHeader::CutOff), "{wrong:?}");
        }
        assert!(matches!(
            decode(b"\x02\0\0\0ab"),
            Err(InvalidHeader::Field(_))
        ));
        assert!(matches!(
            decode(b"\x03\0\0\0\xff=b"),
            Err(InvalidHeader::Field(_))
        ));
        let large = vec![0; MAX_HEADER + 1];
        assert_eq!(decode(&large), Err(InvalidHeader::TooLarge));
    }
}
