//! [`call`]: one call of a method of a master or of a node, and [`call_several`].

use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::time::Duration;

use dxr::Value;

use super::error::RpcError;
use super::http::HttpStream;
use super::uri::RpcUri;
use super::xml::{call_text, read_answer};
use crate::ros1::system::{Waits, steady};

/// The method that has other calls as its parameter.
pub(crate) const SEVERAL: &str = "system.multicall";

/// A call that is to be made.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) params: Vec<Value>,
}

impl Call {
    /// One whose parameters are texts.
    pub(crate) fn of_texts(method: &'static str, params: &[&str]) -> Self {
        let params = params.iter().map(|text| Value::String((*text).to_owned()));
        Self {
            method,
            params: params.collect(),
        }
    }

    fn into_value(self) -> Value {
        let method = Value::String(self.method.to_owned());
        Value::Struct(BTreeMap::from([
            ("methodName".to_owned(), method),
            ("params".to_owned(), Value::Array(self.params)),
        ]))
    }
}

/// Calls a method; returns the value of the answer, if its status is 1. Takes `patience` at most, beside the look-up of
/// the name. [`RpcError::TimedOut`]: the peer has taken the connection, and does not answer.
pub(crate) fn call(
    uri: &RpcUri,
    limits: (&Waits, Duration),
    method: &str,
    params: Vec<Value>,
) -> Result<Value, RpcError> {
    unpacked(answer_of(uri, limits, method, params)?)
}

/// Makes several calls in one. An error if the peer does not answer each of them.
pub(crate) fn call_several(
    uri: &RpcUri,
    limits: (&Waits, Duration),
    calls: &[Call],
) -> Result<(), RpcError> {
    if calls.is_empty() {
        return Ok(());
    }
    let several = calls.iter().cloned().map(Call::into_value).collect();
    match answer_of(uri, limits, SEVERAL, vec![Value::Array(several)])? {
        Value::Array(answers)
            if answers.len() == calls.len()
                && answers.iter().all(|it| matches!(it, Value::Array(_))) =>
        {
            Ok(())
        }
        _ => Err(RpcError::Invalid("the answers to several calls".to_owned())),
    }
}

fn answer_of(
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
        // Nothing is asked any more, even if the answer would not matter.
        if waits.is_over() {
            return Err(RpcError::Over);
        }
        let left = until.saturating_duration_since(steady());
        if left.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => {
                let mut http = HttpStream::new(&stream, waits)?;
                // A peer that reads nothing takes no longer than one that answers nothing.
                stream.set_write_timeout(Some(left))?;
                http.send_request((&uri.authority(), uri.path()), &body)?;
                return read_answer(&http.response(until)?);
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
