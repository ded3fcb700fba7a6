//! The check of the payloads of recorded messages.

/// Why a ROS 2 node could not read a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CdrError {
    /// Shorter than the encapsulation header and one byte.
    #[error("{0} bytes are too few for a CDR message")]
    Short(usize),
    /// An encapsulation other than plain CDR in either byte order.
    #[error("encapsulation {0:02x} {1:02x} is not plain CDR")]
    Encapsulation(u8, u8),
}

/// Checks that a payload is plain CDR, as nodes on `rmw_zenoh` read it; reads only the header.
pub fn check_cdr(payload: &[u8]) -> Result<(), CdrError> {
    match payload {
        [0, 0 | 1, _, _, _, ..] => Ok(()),
        [a, b, _, _, _, ..] => Err(CdrError::Encapsulation(*a, *b)),
        _ => Err(CdrError::Short(payload.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_cdr_passes() {
        for (payload, expected) in [
            (&[0, 1, 0, 0, 0][..], Ok(())),
            (&[0, 0, 9, 9, 1, 2], Ok(())),
            (&[0, 1, 0, 0], Err(CdrError::Short(4))),
            (&[], Err(CdrError::Short(0))),
            (&[0, 3, 0, 0, 0], Err(CdrError::Encapsulation(0, 3))),
            (&[0, 7, 0, 0, 0], Err(CdrError::Encapsulation(0, 7))),
            (&[1, 1, 0, 0, 0], Err(CdrError::Encapsulation(1, 1))),
        ] {
            assert_eq!(check_cdr(payload), expected, "{payload:?}");
        }
    }
}
