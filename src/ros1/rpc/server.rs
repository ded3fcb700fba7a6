//! [`serve`]: answers the calls of other nodes, with the [`Methods`] of a master or of a node.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dxr::Value;

use super::client::SEVERAL;
use super::error::RpcError;
use super::http::{HttpStream, SMALL};
use super::size::size_of;
use super::xml::{answer_text, fault_text, read_call};
use crate::ros1::event::{Events, Ros1Event};
use crate::ros1::system::{Budget, Waits, accept_each, steady};

/// How many connections there are at most.
const MOST_CONNECTIONS: usize = 256;
/// How many calls may be in one.
const MOST_CALLS: usize = 5000;
/// How many bytes the answers to the calls in one may take, about.
const MOST_ANSWERED: usize = 32 << 20;
/// How many bytes requests and answers of all connections may have together, without small ones.
const MOST_BYTES: usize = 64 << 20;
/// How long a connection may be idle, or take for one request.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer: `[status, text, value]`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Answer {
    code: i32,
    text: String,
    value: Value,
}

impl Answer {
    /// Success.
    pub(crate) fn with(value: Value) -> Self {
        Self {
            code: 1,
            text: String::new(),
            value,
        }
    }

    /// Success, with a value that nobody reads.
    pub(crate) fn done() -> Self {
        Self::with(Value::Integer(0))
    }

    /// The call is wrong, or names what does not exist.
    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self {
            code: -1,
            text: text.into(),
            value: Value::Integer(0),
        }
    }

    /// The call is right but fails.
    pub(crate) fn failure(text: impl Into<String>) -> Self {
        Self {
            code: 0,
            ..Self::error(text)
        }
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Array(vec![
            Value::Integer(self.code),
            Value::String(self.text),
            self.value,
        ])
    }
}

/// The methods of a server. Called from many threads.
pub(crate) trait Methods: Send + Sync + 'static {
    /// Answers a call.
    fn call(&self, method: &str, params: &[Value]) -> Answer;
}

/// Answers calls until the node ends. `name` is that of its threads; `what` names the calls in messages.
pub(crate) fn serve(
    (name, what): (&'static str, &'static str),
    listener: TcpListener,
    (waits, events): (&Waits, &Events),
    methods: Arc<dyn Methods>,
) -> io::Result<()> {
    let events = events.clone();
    let refused = move |refusal| events.send(Ros1Event::refused(what, refusal));
    let bound = (waits.clone(), MOST_CONNECTIONS);
    let waits = waits.clone();
    let (bytes, one_at_a_time) = (Budget::new(MOST_BYTES), Mutex::new(()));
    let take = move |stream: TcpStream, peer| {
        let limits = (&bytes, &one_at_a_time);
        if let Err(error) = answer_all(&stream, (&waits, limits), methods.as_ref()) {
            tracing::debug!("{name}: {peer}: {error}");
        }
    };
    accept_each(name, listener, bound, take, refused)
}

/// Answers the calls of one connection. Calls are parsed, and answers are made, one at a time: both may take much more
/// memory than requests.
fn answer_all(
    stream: &TcpStream,
    (waits, (bytes, one_at_a_time)): (&Waits, (&Arc<Budget>, &Mutex<()>)),
    methods: &dyn Methods,
) -> Result<(), RpcError> {
    let mut http = HttpStream::within(stream, waits, bytes)?;
    loop {
        let request = match http.request(steady() + PATIENCE) {
            Ok(request) => request,
            // roscpp keeps connections that it does not use for half a minute.
            Err(RpcError::Closed | RpcError::Over | RpcError::TimedOut) => return Ok(()),
            Err(error) => {
                let status = match error {
                    RpcError::Invalid(_) | RpcError::TooLarge(_) => Some("400 Bad Request"),
                    RpcError::Busy => Some("503 Service Unavailable"),
                    _ => None,
                };
                if let Some(status) = status {
                    // The peer may be gone.
                    let _ = http.refuse(status);
                }
                return Err(error);
            }
        };
        let only = one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = match read_call(&request.body) {
            Ok((method, params)) => answer_text(answered(methods, &method, &params))?,
            Err(error) => fault_text(&error.to_string())?,
        };
        drop(only);
        let share = (text.len() > SMALL).then(|| bytes.take(text.len()));
        if matches!(share, Some(None)) {
            text = fault_text("too many large answers are being sent")?;
        }
        http.send_response(&text, request.keeps_alive)?;
        if !request.keeps_alive {
            return Ok(());
        }
    }
}

/// The answer to a call, or to several in one (`system.multicall`): rospy ends its registrations in that way.
fn answered(methods: &dyn Methods, method: &str, params: &[Value]) -> Value {
    let (SEVERAL, Some(Value::Array(calls))) = (method, params.first()) else {
        return methods.call(method, params).into_value();
    };
    if calls.len() > MOST_CALLS {
        let text = format!("more than {MOST_CALLS} calls in one");
        return Answer::error(text).into_value();
    }
    let mut size = 0;
    let answer = |call: &Value| {
        let answer = match call {
            _ if size > MOST_ANSWERED => Answer::error("the answers before are too large"),
            Value::Struct(call) => match (call.get("methodName"), call.get("params")) {
                (Some(Value::String(method)), Some(Value::Array(params))) => {
                    methods.call(method, params)
                }
                _ => Answer::error("methodName or params is missing"),
            },
            _ => Answer::error("a call is not a struct"),
        };
        let value = answer.into_value();
        size += size_of(&value);
        Value::Array(vec![value])
    };
    Value::Array(calls.iter().map(answer).collect())
}

/// A parameter that is a text.
pub(crate) fn text(params: &[Value], at: usize) -> Result<&str, Answer> {
    match params.get(at) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(Answer::error(format!("parameter {} is not a text", at + 1))),
    }
}

/// A list of texts.
pub(crate) fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Value {
    let texts = texts.into_iter();
    Value::Array(texts.map(|text| Value::String(text.to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Answers each call with a megabyte.
    struct Large;

    impl Methods for Large {
        fn call(&self, _: &str, _: &[Value]) -> Answer {
            Answer::with(Value::String("x".repeat(1 << 20)))
        }
    }

    fn calls(count: usize) -> Value {
        let call = Value::Struct(BTreeMap::from([
            ("methodName".to_owned(), Value::String("m".to_owned())),
            ("params".to_owned(), Value::Array(Vec::new())),
        ]));
        Value::Array(vec![call; count])
    }

    #[test]
    fn several_calls_in_one_and_their_answers_have_limits() {
        let Value::Array(answers) = answered(&Large, SEVERAL, &[calls(100)]) else {
            panic!("a list");
        };
        assert_eq!(answers.len(), 100);
        let all: usize = answers.iter().map(size_of).sum();
        assert!(
            all > MOST_ANSWERED && all < MOST_ANSWERED + (2 << 20),
            "{all}"
        );
        let Value::Array(refused) = answered(&Large, SEVERAL, &[calls(MOST_CALLS + 1)]) else {
            panic!("a list");
        };
        assert_eq!(refused[0], Value::Integer(-1));
    }
}
