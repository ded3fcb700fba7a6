//! [`call`]: one call of a method of a master or of a node, and [`call_several`].

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use dxr::Value;

use super::error::RpcError;
use super::http::HttpStream;
use super::uri::RpcUri;
use super::xml::{call_text, read_answer};
use crate::ros1::system::{Waits, steady};

/// The method that has other calls as its parameter.
pub(crate) const SEVERAL: &str = "system.multicall";

/// The shortest write timeout that is set: a timeout of zero is an error.
const LEAST_WAIT: Duration = Duration::from_millis(1);

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

/// A master or a node, and where it is.
#[derive(Debug)]
pub(crate) struct Peer<'a> {
    uri: &'a RpcUri,
    pub(crate) addresses: Vec<SocketAddr>,
}

impl<'a> Peer<'a> {
    /// Looks up its name. That may take long.
    pub(crate) fn look_up(uri: &'a RpcUri) -> io::Result<Self> {
        Ok(Self::found(uri, uri.addresses()?))
    }

    /// One whose name was looked up before.
    pub(crate) const fn found(uri: &'a RpcUri, addresses: Vec<SocketAddr>) -> Self {
        Self { uri, addresses }
    }
}

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Until there is a connection.
    pub(crate) connecting: Duration,
    /// From then on, until there is an answer.
    pub(crate) answering: Duration,
}

/// Calls a method; returns the value of the answer, if its status is 1. Takes `patience` at most.
/// [`RpcError::TimedOut`]: the peer has taken the connection, and does not answer.
pub(crate) fn call(
    peer: &Peer<'_>,
    (waits, patience): (&Waits, Duration),
    method: &str,
    params: Vec<Value>,
) -> Result<Value, RpcError> {
    let until = steady() + patience;
    unpacked(answer_of(peer, (waits, until, None), method, params)?)
}

/// The same, with a limit for the answer alone.
pub(crate) fn call_within(
    peer: &Peer<'_>,
    (waits, limits): (&Waits, Limits),
    method: &str,
    params: Vec<Value>,
) -> Result<Value, RpcError> {
    let until = steady() + limits.connecting;
    let limits = (waits, until, Some(limits.answering));
    unpacked(answer_of(peer, limits, method, params)?)
}

/// Makes several calls in one. An error if the peer does not answer each of them.
pub(crate) fn call_several(
    peer: &Peer<'_>,
    (waits, patience): (&Waits, Duration),
    calls: &[Call],
) -> Result<(), RpcError> {
    if calls.is_empty() {
        return Ok(());
    }
    let limits = (waits, steady() + patience, None);
    let several = calls.iter().cloned().map(Call::into_value).collect();
    match answer_of(peer, limits, SEVERAL, vec![Value::Array(several)])? {
        Value::Array(answers)
            if answers.len() == calls.len()
                && answers.iter().all(|it| matches!(it, Value::Array(_))) =>
        {
            Ok(())
        }
        _ => Err(RpcError::Invalid("the answers to several calls".to_owned())),
    }
}

/// The answer, which has to come by `until`, or within this time from when there is a connection.
fn answer_of(
    peer: &Peer<'_>,
    (waits, until, answering): (&Waits, Instant, Option<Duration>),
    method: &str,
    params: Vec<Value>,
) -> Result<Value, RpcError> {
    let body = call_text(method, params)?;
    let mut failure = None;
    for address in &peer.addresses {
        // Nothing is asked any more, even if the answer would not matter.
        if waits.is_over() {
            return Err(RpcError::Over);
        }
        let left = until.saturating_duration_since(steady());
        if left.is_zero() {
            failure.get_or_insert_with(|| io::ErrorKind::TimedOut.into());
            break;
        }
        match TcpStream::connect_timeout(address, left) {
            Ok(stream) => {
                let until = answering.map_or(until, |answering| steady() + answering);
                let mut http = HttpStream::new(&stream, waits)?;
                // A peer that reads nothing takes no longer than one that answers nothing.
                let left = until.saturating_duration_since(steady());
                stream.set_write_timeout(Some(left.max(LEAST_WAIT)))?;
                http.send_request((&peer.uri.authority(), peer.uri.path()), &body)?;
                return read_answer(&http.response(until)?);
            }
            Err(error) => failure = Some(more_telling(failure, error)),
        }
    }
    let failure = failure.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into());
    Err(failure.into())
}

/// Which of two errors is reported for a peer with several addresses: a refused connection comes before other errors,
/// because it shows that the machine is there.
fn more_telling(first: Option<io::Error>, next: io::Error) -> io::Error {
    let is_refusal = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    match first {
        Some(first) if is_refusal(&first) || !is_refusal(&next) => first,
        _ => next,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_refuses_at_one_of_its_addresses_refuses() {
        use io::ErrorKind::{AddrNotAvailable, ConnectionRefused, TimedOut};
        for (kinds, told) in [
            (&[AddrNotAvailable][..], AddrNotAvailable),
            (&[ConnectionRefused, AddrNotAvailable], ConnectionRefused),
            (&[AddrNotAvailable, ConnectionRefused], ConnectionRefused),
            (&[TimedOut, AddrNotAvailable], TimedOut),
        ] {
            let errors = kinds.iter().map(|kind| io::Error::from(*kind));
            let failure = errors.fold(None, |first, next| Some(more_telling(first, next)));
            assert_eq!(failure.unwrap().kind(), told);
        }
    }
}
