//! [`bytes_of`]: bytes that JSON has as text.

/// The bytes of a text in base64 (RFC 4648), with either alphabet, with padding or without; `None` if it is none.
pub(in crate::decode) fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let unpadded = text.trim_end_matches('=');
    if text.len() - unpadded.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(unpadded.len() / 4 * 3 + 2);
    for group in unpadded.as_bytes().chunks(4) {
        let mut bits = 0;
        for letter in group {
            bits = (bits << 6) | u32::from(six_bits(*letter)?);
        }
        let missing = 4 - group.len();
        let [_, whole @ ..] = (bits << (6 * missing)).to_be_bytes();
        // One letter alone has less than a byte.
        bytes.extend_from_slice(whole.get(..3 - missing).filter(|whole| !whole.is_empty())?);
    }
    Some(bytes)
}

fn six_bits(letter: u8) -> Option<u8> {
    Some(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_bytes() {
        // Those of RFC 4648.
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(bytes_of(text).unwrap(), bytes.as_bytes(), "{text}");
        }
        assert_eq!(bytes_of("+/-_").unwrap(), [0xfb, 0xff, 0xbf]);
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["Z", "Zm9vY", "Zm9v===", "Zm 9", "Zm=v", "Zmö="] {
            assert_eq!(bytes_of(text), None, "{text}");
        }
    }
}
