//! The attachment of every put, request and response: 33 bytes from parts of fixed size, built and read only here.
//!
//! An attachment of another length aborts the whole remote process (an uncaught exception in its zenoh thread),
//! hence the array type. Only the form without labels, which all nodes since mid 2025 use, is written.

use super::gid::Gid;

/// The length in bytes.
pub(crate) const LENGTH: usize = 33;

/// From the sequence number (the first is 1), the time of the put in nanoseconds since the Unix epoch, and the
/// publisher's GID.
#[inline]
pub(crate) fn attachment(sequence: i64, unix_nanos: i64, gid: Gid) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..8].copy_from_slice(&sequence.to_le_bytes());
    bytes[8..16].copy_from_slice(&unix_nanos.to_le_bytes());
    bytes[16] = 16; // zenoh's serializer writes the length of fixed arrays too
    bytes[17..].copy_from_slice(&gid.0);
    bytes
}

/// What an attachment says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Attached {
    /// The sequence number.
    pub(crate) sequence: i64,
    /// When it was sent, in nanoseconds since the Unix epoch, by the clock of the sender.
    pub(crate) unix_nanos: i64,
    /// The sender: a publisher or a service client.
    pub(crate) sender: Gid,
}

/// Reads an attachment; `None` if it is none of `rmw_zenoh`.
pub(crate) fn read_attachment(bytes: &[u8]) -> Option<Attached> {
    let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
    let (sequence, rest) = bytes.split_first_chunk::<8>()?;
    let (unix_nanos, rest) = rest.split_first_chunk::<8>()?;
    let (length, gid) = rest.split_first()?;
    (*length == 16).then_some(Attached {
        sequence: i64::from_le_bytes(*sequence),
        unix_nanos: i64::from_le_bytes(*unix_nanos),
        sender: Gid(gid.try_into().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_a_recorded_attachment() {
        let gid = Gid(0x5c80_cd33_30e1_3bcd_abb0_93df_f0ce_af8b_u128.to_le_bytes());
        let hex = "01000000000000000807060504030201108bafcef0df93b0abcd3be13033cd805c";
        let expected: Vec<u8> = (0..LENGTH)
            .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        assert_eq!(attachment(1, 0x0102_0304_0506_0708, gid)[..], expected);
        let read = Attached {
            sequence: 1,
            unix_nanos: 0x0102_0304_0506_0708,
            sender: gid,
        };
        assert_eq!(read_attachment(&expected), Some(read));
        for length in (0..LENGTH).chain([LENGTH + 1, 100]) {
            assert_eq!(read_attachment(&vec![16; length]), None, "{length}");
        }
        assert_eq!(read_attachment(&[0; LENGTH]), None);
    }
}
