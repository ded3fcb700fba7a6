//! [`call`]: one call of a method of a master or of a node.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use dxr::Value;

use super::error::RpcError;
use super::http::HttpStream;
use super::uri::RpcUri;
use super::xml::{call_text, read_answer};
use crate::ros1::system::{Waits, steady};

/// Calls a method; returns the value of the answer, if its status is 1. Takes `patience` at most, beside the look-up of
/// the name.
pub(crate) fn call(
    uri: &RpcUri,
    (waits, patience): (&Waits, Duration),
    method: &str,
    params: Vec<Value>,
) -> Result<Value, RpcError> {
    let body = call_text(method, params)?;
    let addresses = uri.addresses()?;
    let until = steady() + patience;
    let mut failure = RpcError::Io(io::ErrorKind::AddrNotAvailable.into());
    for address in addresses {
        let left = until.saturating_duration_since(steady());
        if left.is_zero() {
            return Err(RpcError::TimedOut);
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => {
                let mut http = HttpStream::new(&stream, waits)?;
                http.send_request((&uri.authority(), uri.path()), &body)?;
                return unpacked(read_answer(&http.response(until)?)?);
            }
            Err(error) => failure = error.into(),
        }
    }
    Err(failure)
}

/// The value of `[status, text, value]`.
fn unpacked(answer: Value) -> Result<Value, RpcError> {
    if let Value::Array(parts) = answer
        && let Ok([Value::Integer(code), Value::String(text), value]) =
            <[Value; 3]>::try_from(parts)
    {
        return match code {
            1 => Ok(value),
            _ => Err(RpcError::Refused { code, text }),
        };
    }
    Err(RpcError::Invalid(
        "the answer is not [status, text, value]".to_owned(),
    ))
}
