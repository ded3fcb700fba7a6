//! The CDR of clock messages.

use crate::time::{Ros, Time};

/// A `rosgraph_msgs/msg/Clock` in CDR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockBytes {
    /// Header, seconds, nanoseconds.
    pub bytes: [u8; 12],
    /// Whether the time did not fit (32-bit seconds, 1901 to 2038) and was clamped to the end of the range.
    pub is_clamped: bool,
}

/// Writes a clock message in little-endian CDR.
pub fn encode_clock(time: Time<Ros>) -> ClockBytes {
    let (sec, nanosec) = time.to_sec_nanosec();
    let fitting = i32::try_from(sec).ok();
    let (sec, nanosec) = match fitting {
        Some(sec) => (sec, nanosec),
        None if sec < 0 => (i32::MIN, 0),
        None => (i32::MAX, 999_999_999),
    };
    let mut bytes = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes[4..8].copy_from_slice(&sec.to_le_bytes());
    bytes[8..].copy_from_slice(&nanosec.to_le_bytes());
    ClockBytes {
        bytes,
        is_clamped: fitting.is_none(),
    }
}

/// Reads a clock message in either byte order; `None` if it is not valid.
pub fn decode_clock(payload: &[u8]) -> Option<Time<Ros>> {
    let bytes: &[u8; 12] = payload.get(..12)?.try_into().ok()?;
    let (sec, nanosec) = (bytes[4..8].try_into().ok()?, bytes[8..].try_into().ok()?);
    let (sec, nanosec) = match bytes[..2] {
        [0, 1] => (i32::from_le_bytes(sec), u32::from_le_bytes(nanosec)),
        [0, 0] => (i32::from_be_bytes(sec), u32::from_be_bytes(nanosec)),
        _ => return None,
    };
    let nanos = i64::from(sec) * 1_000_000_000 + i64::from(nanosec);
    (nanosec < 1_000_000_000).then(|| Time::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_twelve_bytes() {
        for (nanos, bytes, is_clamped) in [
            (0, [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], false),
            (1_000_000_002, [0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0], false),
            (
                -1,
                [0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xc9, 0x9a, 0x3b],
                false,
            ),
            (
                i64::MAX,
                [0, 1, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xc9, 0x9a, 0x3b],
                true,
            ),
            (i64::MIN, [0, 1, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0], true),
        ] {
            let clock = encode_clock(Time::from_nanos(nanos));
            assert_eq!(
                (clock.bytes, clock.is_clamped),
                (bytes, is_clamped),
                "{nanos}"
            );
        }
    }

    #[test]
    fn a_clock_is_read_as_it_was_written_and_invalid_bytes_are_refused() {
        for nanos in [0, 1_000_000_002, -1, 2_147_483_647_999_999_999] {
            let time = Time::from_nanos(nanos);
            assert_eq!(decode_clock(&encode_clock(time).bytes), Some(time));
        }
        let big = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2];
        assert_eq!(decode_clock(&big), Some(Time::from_nanos(1_000_000_002)));
        let sound = encode_clock(Time::from_nanos(5)).bytes;
        for cut in 0..sound.len() {
            assert_eq!(decode_clock(&sound[..cut]), None);
        }
        let full = [0, 1, 0, 0, 1, 0, 0, 0, 0, 0xca, 0x9a, 0x3b];
        assert_eq!(decode_clock(&full), None, "a whole second of nanoseconds");
        assert_eq!(decode_clock(&[0, 3, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
