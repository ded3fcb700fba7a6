//! Requests and responses of services in CDR and back. The types themselves are plain serde structs, so each
//! layout is written down once for both directions.

use byteorder::{BigEndian, LittleEndian};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::dialect::check_cdr::{CdrError, check_cdr};

/// The encapsulation header of plain CDR in little-endian byte order.
const HEADER: [u8; 4] = [0, 1, 0, 0];

/// Why a payload is not a message of the expected type.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The encapsulation header.
    #[error(transparent)]
    Header(#[from] CdrError),
    /// The body.
    #[error("{0}")]
    Body(String),
    /// More bytes than the type has, and more than padding to a multiple of four.
    #[error("{0} bytes follow the message")]
    Excess(usize),
}

/// A message as a payload: header and little-endian body.
pub fn to_cdr<T: Serialize>(message: &T) -> Result<Vec<u8>, Malformed> {
    let mut payload = HEADER.to_vec();
    let body = cdr_encoding::to_vec::<T, LittleEndian>(message)
        .map_err(|error| Malformed::Body(error.to_string()))?;
    payload.extend(body);
    Ok(payload)
}

/// Reads a payload in either byte order. What it allocates is limited by the length of the payload.
pub fn from_cdr<T: DeserializeOwned>(payload: &[u8]) -> Result<T, Malformed> {
    check_cdr(payload)?;
    let (header, body) = payload.split_at(HEADER.len());
    let read = if header[1] == HEADER[1] {
        cdr_encoding::from_bytes::<T, LittleEndian>(body)
    } else {
        cdr_encoding::from_bytes::<T, BigEndian>(body)
    };
    let (message, length) = read.map_err(|error| Malformed::Body(error.to_string()))?;
    match body.len() - length {
        0..4 => Ok(message),
        excess => Err(Malformed::Excess(excess)),
    }
}
